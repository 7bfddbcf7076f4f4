// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/expert_layers.hpp"

#include <fmt/core.h>

#include <optional>

#include "core/config/value.hpp"

namespace tessera {
namespace {

constexpr std::string_view k_pattern = "pattern";
constexpr int k_most_groups = 64;  // in each other

ExpertLayers refused(std::string problem) {
  return {{}, std::move(problem)};
}

/// A sum of repeated lists of 0 and 1, one digit per layer: "[0]*3 + [0,1]*2", in brackets or not.
class Pattern {
 public:
  using Digits = std::vector<bool>;

  Pattern(std::string_view text, std::int64_t most) : text_(text), most_(static_cast<std::size_t>(most)) {}

  /// Nothing when the text is no pattern, or one of more digits than `most`.
  std::optional<Digits> read() {
    const auto digits = sum();
    return text_.empty() ? digits : std::nullopt;
  }

 private:
  bool take(char c) {
    text_ = trimmed(text_);
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    text_ = trimmed(text_);
    return true;
  }

  std::optional<Digits> sum() {
    auto total = term();
    while (total && take('+')) {
      const auto next = term();
      if (!next || total->size() + next->size() > most_) return std::nullopt;
      total->insert(total->end(), next->begin(), next->end());
    }
    return total;
  }

  std::optional<Digits> term() {
    const bool grouped = take('(');
    if (grouped && ++groups_ > k_most_groups) return std::nullopt;
    auto digits = grouped ? sum() : list();
    if (!digits || (grouped && !take(')'))) return std::nullopt;
    groups_ -= grouped ? 1 : 0;
    return take('*') ? repeated(*digits) : digits;
  }

  std::optional<Digits> list() {
    if (!take('[')) return std::nullopt;
    Digits digits;
    do {
      const bool one = text_.starts_with('1');
      if (!take(one ? '1' : '0') || digits.size() == most_) return std::nullopt;
      digits.push_back(one);
    } while (take(','));
    return take(']') ? std::optional(digits) : std::nullopt;
  }

  std::optional<Digits> repeated(const Digits& digits) {
    const std::size_t length = std::min(text_.find_first_not_of("0123456789"), text_.size());
    const auto times = parse_integer(text_.substr(0, length));
    if (!times || *times < 1 || static_cast<std::size_t>(*times) > most_ / digits.size()) return std::nullopt;
    text_.remove_prefix(length);
    Digits result;
    for (std::int64_t i = 0; i < *times; ++i) result.insert(result.end(), digits.begin(), digits.end());
    return result;
  }

  std::string_view text_;
  std::size_t most_;
  int groups_ = 0;  // that are open
};

ExpertLayers from_pattern(std::string_view text, std::int64_t layers) {
  ExpertLayers result;
  if (const auto interval = parse_integer(text)) {
    if (*interval < 1) return refused(fmt::format("'{}' is not an interval of layers", text));
    for (std::int64_t layer = 0; layer < layers; layer += *interval) result.layers.push_back(static_cast<int>(layer));
    return result;
  }
  const auto digits = Pattern(text, layers).read();
  if (!digits || std::ssize(*digits) != layers)
    return refused(fmt::format("'{}' is not a pattern of {} layers", text, layers));
  for (std::size_t layer = 0; layer < digits->size(); ++layer)
    if ((*digits)[layer]) result.layers.push_back(static_cast<int>(layer));
  return result.layers.empty() ? refused(fmt::format("'{}' has no layer with experts", text)) : result;
}

}  // namespace

ExpertLayers parse_expert_layers(std::span<const std::string> words, std::int64_t layers) {
  if (!words.empty() && words[0].starts_with(k_pattern)) {
    std::string text = words[0].substr(k_pattern.size());
    for (const std::string& word : words.subspan(1)) text += "," + word;
    return from_pattern(trimmed(text), layers);
  }
  ExpertLayers result;
  for (const std::string& word : words) {
    const std::size_t dash = word.find('-', 1);
    const auto first = parse_integer(trimmed(std::string_view(word).substr(0, dash)));
    const auto last =
        dash == std::string::npos ? first : parse_integer(trimmed(std::string_view(word).substr(dash + 1)));
    if (!first || !last || *first > *last) return refused(fmt::format("'{}' is neither a layer nor a range", word));
    if (*first < 0 || *last >= layers)
      return refused(fmt::format("'{}' is not among the layers 0 to {}", word, layers - 1));
    if (!result.layers.empty() && *first <= result.layers.back())
      return refused(fmt::format("'{}' comes after layer {}", word, result.layers.back()));
    for (std::int64_t layer = *first; layer <= *last; ++layer) result.layers.push_back(static_cast<int>(layer));
  }
  return result;
}

ExpertLayers parse_expert_layers(std::string_view text, std::int64_t layers) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    words.emplace_back(trimmed(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parse_expert_layers(words, layers);
}

std::string expert_layers_text(std::span<const int> layers) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < layers.size(); begin = end) {
    end = begin + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += end == begin + 1 ? std::to_string(layers[begin]) : fmt::format("{}-{}", layers[begin], layers[end - 1]);
  }
  return text;
}

}  // namespace tessera
