// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/kernel_table.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"

namespace tessera {

void KernelTable::add(std::span<const KernelEntry> entries) {
  for (const KernelEntry& entry : entries)
    if (!entries_.emplace(Key(entry.op, entry.dtype, entry.variant), entry).second)
      throw Error(ErrorKind::configuration,
                  fmt::format("two kernels for op '{}' in {}{}", entry.op, name_of(entry.dtype),
                              entry.variant.empty() ? "" : fmt::format(", variant '{}'", entry.variant)),
                  "leave out one of the modules that bring it");
}

void KernelTable::choose(KernelChoices choices) {
  for (const auto& [key, variant] : choices.all()) {
    const std::size_t op = key.find(' '), dtype = key.find(' ', op + 1);
    bool there = false;
    for (const auto& [name, entry] : entries_)
      there |= entry.op == std::string_view(key).substr(0, op) && entry.variant == variant &&
               name_of(entry.dtype) == std::string_view(key).substr(op + 1, dtype - op - 1);
    if (!there)
      throw Error(ErrorKind::configuration,
                  fmt::format("the table of kernels asks for '{} {}', which is not there", key, variant),
                  "make a table with this build (`tessera bench kernels --table FILE`), or set train.kernels = none");
  }
  choices_ = std::move(choices);
}

const KernelEntry& KernelTable::find(std::string_view op, DType dtype, int threads, std::span<const Tensor> in) const {
  return find_variant(op, dtype, choices_.empty() ? "" : choices_.find(choice_key(op, dtype, threads, in)));
}

const KernelEntry& KernelTable::find_variant(std::string_view op, DType dtype, std::string_view variant) const {
  const auto found = entries_.find({op, dtype, variant});
  if (found == entries_.end())
    throw Error(ErrorKind::configuration,
                fmt::format("this device has no kernel for op '{}' in {}", op, name_of(dtype)),
                "choose another train.precision, or a module that brings the kernel");
  return found->second;
}

std::vector<const KernelEntry*> KernelTable::variants(std::string_view op, DType dtype) const {
  std::vector<const KernelEntry*> found;  // the usual one's name is empty, so it sorts first
  for (const auto& [name, entry] : entries_)
    if (entry.op == op && entry.dtype == dtype) found.push_back(&entry);
  return found;
}

}  // namespace tessera
