// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the resolved run: every option with its value and origin. What is read is marked, so what nobody reads is known.
// Used: everything that is configured, modules included.
// Must not know: files, flags, MPI.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/option.hpp"
#include "core/config/origin.hpp"

namespace tessera {

class Settings {
 public:
  struct Entry {
    OptionValue value;
    Origin origin;
    OptionRanks ranks = OptionRanks::equal;
    mutable bool used = false;
  };

  /// The value of "section.key", which is marked as used. T: bool (boolean), std::int64_t or int (integer, bytes),
  /// double (real, duration in seconds), std::string (text, choice, path), std::vector<std::string> (list).
  /// A name that is in no table, or another type, is a defect: Error{internal}.
  template <class T>
  T get(std::string_view name) const;

  bool has(std::string_view name) const { return entries_.contains(name); }

  /// Whether somebody wrote it (it is not a default).
  bool is_set(std::string_view name) const { return origin(name).from != Origin::From::fallback; }
  const Origin& origin(std::string_view name) const { return entry(name).origin; }

  /// The value in its shortest exact form ("on", "0.001", "67108864"), whatever its type. Does not mark it.
  std::string text(std::string_view name) const;

  /// Marks options as used that are consumed without being read (a verb that ignores them on purpose).
  void mark_used(std::string_view name) const;

  /// What was set by somebody and read by nobody. Asked when everything has been built.
  std::vector<Problem> unused() const;

  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  void set(std::string name, Entry entry) { entries_.insert_or_assign(std::move(name), std::move(entry)); }

 private:
  const Entry& entry(std::string_view name) const;

  std::map<std::string, Entry, std::less<>> entries_;
};

template <>
bool Settings::get<bool>(std::string_view name) const;
template <>
int Settings::get<int>(std::string_view name) const;
template <>
std::int64_t Settings::get<std::int64_t>(std::string_view name) const;
template <>
double Settings::get<double>(std::string_view name) const;
template <>
std::string Settings::get<std::string>(std::string_view name) const;
template <>
std::vector<std::string> Settings::get<std::vector<std::string>>(std::string_view name) const;

}  // namespace tessera
