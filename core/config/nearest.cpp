// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/nearest.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace tessera {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// The most edits of a slip. A section that both names have does not make their keys alike.
int most_edits(std::string_view name, std::string_view candidate) {
  const std::size_t section = name.find('.') + 1;
  const bool same_section = candidate.substr(0, section) == name.substr(0, section);
  return std::max(1, static_cast<int>(same_section ? name.size() - section : name.size()) / 3);
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  // Rows i-2, i-1 and i of the table of distances between prefixes.
  std::vector<int> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::vector<std::string> nearest(std::string_view name, std::span<const std::string> known) {
  std::vector<std::pair<int, std::string>> found;
  for (const std::string& candidate : known) {
    const int limit = most_edits(name, candidate);
    const bool same_key = std::string_view(candidate).substr(candidate.find('.') + 1) == name;
    // No table where the lengths alone are too far apart: names may come from a file that is no run file at all.
    const bool may_be = std::abs(std::ssize(name) - std::ssize(candidate)) <= limit;
    const int distance = same_key ? 0 : may_be ? edit_distance(name, candidate) : limit + 1;
    if (distance <= limit) found.emplace_back(distance, candidate);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& [distance, candidate] : found) {
    // A clear winner stands alone: what is much farther only distracts.
    const int best = found.front().first;
    if (names.size() == 3 || distance > best + best / 2) break;
    names.push_back(candidate);
  }
  return names;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
  const std::vector<std::string> names = nearest(name, known);
  if (names.empty()) return {};
  std::string text = "did you mean " + names.front();
  for (std::size_t i = 1; i < names.size(); ++i) text += (i + 1 == names.size() ? " or " : ", ") + names[i];
  return text + "?";
}

}  // namespace tessera
