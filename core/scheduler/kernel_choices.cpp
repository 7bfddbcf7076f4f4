// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/kernel_choices.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"

namespace tessera {
namespace {

constexpr std::string_view k_head = "tessera kernels 1";
constexpr std::string_view k_end = "end";  // a table that was cut has none
constexpr int k_least_words = 5;           // op, dtype, threads, an input, the variant

std::string_view without_comment(std::string_view line) {
  line = line.substr(0, line.find('#'));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

int words_of(std::string_view line) {
  int words = 1;
  for (const char c : line) words += c == ' ' ? 1 : 0;
  return words;
}

Error table_error(const std::string& where, int line, const std::string& problem) {
  return {ErrorKind::data, fmt::format("{}: line {}: {}", where, line, problem),
          "make the table with `tessera bench kernels --table FILE`"};
}

}  // namespace

std::string choice_key(std::string_view op, DType dtype, int threads, std::span<const Tensor> in) {
  std::string key = fmt::format("{} {} {}", op, name_of(dtype), threads);
  for (const Tensor& tensor : in) {
    const std::int64_t width = tensor.shape.rank() == 0 ? 1 : tensor.shape[tensor.shape.rank() - 1];
    key += fmt::format(" {}x{}", width == 0 ? 0 : tensor.count() / width, width);
  }
  return key;
}

KernelChoices KernelChoices::parse(std::string_view text, const std::string& where) {
  KernelChoices choices;
  bool head = false, ended = false;
  int number = 1;
  for (; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_comment(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (!head) {
      if (line != k_head) throw table_error(where, number, fmt::format("it does not begin with '{}'", k_head));
      head = true;
      continue;
    }
    if (ended) throw table_error(where, number, fmt::format("there is more behind '{}'", k_end));
    ended = line == k_end;
    if (ended) continue;
    if (words_of(line) < k_least_words || line.find("  ") != std::string_view::npos)
      throw table_error(where, number, "expected: op dtype threads shapes variant, with one space between them");
    const std::size_t last = line.rfind(' ');
    if (!choices.variants_.emplace(line.substr(0, last), line.substr(last + 1)).second)
      throw table_error(where, number, fmt::format("a second choice for '{}'", line.substr(0, last)));
  }
  if (!head) throw table_error(where, 1, fmt::format("it does not begin with '{}'", k_head));
  if (!ended) throw table_error(where, number, fmt::format("it is cut: it does not end with '{}'", k_end));
  return choices;
}

std::string KernelChoices::text() const {
  std::string text = fmt::format("{}\n", k_head);
  for (const auto& [key, variant] : variants_) text += fmt::format("{} {}\n", key, variant);
  return text + fmt::format("{}\n", k_end);
}

std::string_view KernelChoices::find(const std::string& key) const {
  const auto found = variants_.find(key);
  return found == variants_.end() ? std::string_view() : found->second;
}

}  // namespace tessera
