// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  which variant of a kernel computes an op on operands of certain shapes: measured once on a machine, then kept.
// Used: the kernel table; whoever measures, stores or reads choices.
// Must not know: what variants do.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/device/kernel.hpp"

namespace tessera {

/// An op on inputs of these shapes on so many threads. All dims of an input but the last count as rows: "linear f32 2
/// 1024x768 2304x768".
std::string choice_key(std::string_view op, DType dtype, int threads, std::span<const Tensor> in);

class KernelChoices {
 public:
  /// The text of a table: a head, then a key and a variant on each line, then an end; `#` begins a comment. Throws Error{data} that
  /// names `where` and the line.
  static KernelChoices parse(std::string_view text, const std::string& where);

  /// That text, sorted, without comments: also of a table that chooses nothing.
  std::string text() const;

  void choose(const std::string& key, std::string_view variant) { variants_[key] = variant; }

  /// The variant for a key; empty: the usual kernel.
  std::string_view find(const std::string& key) const;

  bool empty() const { return variants_.empty(); }

  /// Keys with their variants.
  const std::map<std::string, std::string>& all() const { return variants_; }

 private:
  std::map<std::string, std::string> variants_;
};

}  // namespace tessera
