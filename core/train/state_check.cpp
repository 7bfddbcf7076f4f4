// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/state_check.hpp"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "core/train/part_reports.hpp"

namespace tessera {
namespace {

template <class T>
std::int64_t count_not_finite(const void* data, std::int64_t elements) {
  const T* values = static_cast<const T*>(data);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < elements; ++i) count += values[i] - values[i] == 0 ? 0 : 1;
  return count;
}

/// Of the types that weights and states have.
std::int64_t not_finite(const TensorPart& part) {
  const std::int64_t elements = part.data == nullptr ? 0 : part.slab.extent.count();
  if (part.dtype == DType::f64) return count_not_finite<double>(part.data, elements);
  return part.dtype == DType::f32 ? count_not_finite<float>(part.data, elements) : 0;
}

/// The first two ranks that hold the same part with other bits.
std::string differing(const PartReports& reports, std::size_t tensor) {
  std::map<std::int64_t, int> first_of;
  for (int rank = 0; rank < reports.ranks(); ++rank) {
    const PartReport report = reports.of(rank, tensor);
    if (report.elements == 0) continue;
    const int first = first_of.try_emplace(report.place, rank).first->second;
    if (reports.of(first, tensor).content != report.content) return fmt::format("ranks {} and {}", first, rank);
  }
  return {};
}

std::string title_of(const TensorPart& part) {
  return part.group + " " + part.parameter->name();
}

}  // namespace

std::vector<std::string> state_problems(std::vector<TensorPart> parts, Communicator& world, std::size_t most) {
  // Each stage of a pipeline lists its own tensors first.
  std::ranges::sort(parts, {}, title_of);
  std::vector<PartReport> mine;
  for (const TensorPart& part : parts) mine.push_back(report_of(part, static_cast<double>(not_finite(part))));
  const PartReports reports(world, mine);
  std::vector<std::string> problems;
  const auto add = [&](std::string problem) {
    if (problems.size() < most) problems.push_back(std::move(problem));
  };
  for (std::size_t tensor = 0; tensor < parts.size(); ++tensor) {
    const std::string name = title_of(parts[tensor]);
    for (int rank = 0; rank < reports.ranks(); ++rank)
      if (const double count = reports.of(rank, tensor).difference; count > 0)
        add(fmt::format("rank {} holds {:.0f} values that are not finite in {}", rank, count, name));
    if (const std::string pair = differing(reports, tensor); !pair.empty())
      add(fmt::format("{} hold other bits of the same part of {}", pair, name));
  }
  return problems;
}

}  // namespace tessera
