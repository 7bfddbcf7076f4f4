// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/settings.hpp"

#include <fmt/core.h>

#include <atomic>
#include <limits>

#include "core/config/value.hpp"

namespace tessera {

namespace {

template <class T>
const T& value_as(std::string_view name, const Settings::Entry& entry) {
  const T* value = std::get_if<T>(&entry.value);
  TESSERA_CHECK(value != nullptr, fmt::format("option '{}' is read as another type than it has", name));
  // Thread ranks share one object; all of them write the same value.
  std::atomic_ref(entry.used).store(true, std::memory_order_relaxed);
  return *value;
}

}  // namespace

const Settings::Entry& Settings::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  TESSERA_CHECK(found != entries_.end(), fmt::format("option '{}' is in no table", name));
  return found->second;
}

template <>
bool Settings::get<bool>(std::string_view name) const {
  return value_as<bool>(name, entry(name));
}

template <>
std::int64_t Settings::get<std::int64_t>(std::string_view name) const {
  return value_as<std::int64_t>(name, entry(name));
}

template <>
int Settings::get<int>(std::string_view name) const {
  const std::int64_t value = get<std::int64_t>(name);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    throw run_error({{fmt::format("{} = {} is too large", name, value), to_string(origin(name)), {}}});
  return static_cast<int>(value);
}

template <>
double Settings::get<double>(std::string_view name) const {
  return value_as<double>(name, entry(name));
}

template <>
std::string Settings::get<std::string>(std::string_view name) const {
  return value_as<std::string>(name, entry(name));
}

template <>
std::vector<std::string> Settings::get<std::vector<std::string>>(std::string_view name) const {
  return value_as<std::vector<std::string>>(name, entry(name));
}

std::string Settings::text(std::string_view name) const {
  return to_text(entry(name).value);
}

void Settings::mark_used(std::string_view name) const {
  std::atomic_ref(entry(name).used).store(true, std::memory_order_relaxed);
}

std::vector<Problem> Settings::unused() const {
  std::vector<Problem> problems;
  for (const auto& [name, entry] : entries_)
    if (entry.origin.from > Origin::From::preset && !entry.used)
      problems.push_back({fmt::format("{} = {} is not used by this run", name, to_text(entry.value)),
                          to_string(entry.origin), "Remove it: it would change nothing."});
  return problems;
}

}  // namespace tessera
