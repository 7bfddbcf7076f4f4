// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/series_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "core/comm/exchange.hpp"

namespace tessera {
namespace {

constexpr std::size_t k_text_bytes = 1000;

/// A digest as numbers of a message, and back.
constexpr std::size_t k_words = 7;

void append(std::vector<std::int64_t>& words, const SeriesDigest& d) {
  for (const std::uint64_t word :
       {d.axes, d.home, static_cast<std::uint64_t>(d.first), static_cast<std::uint64_t>(d.from),
        static_cast<std::uint64_t>(d.to), static_cast<std::uint64_t>(d.members), d.digest})
    words.push_back(static_cast<std::int64_t>(word));
}

SeriesDigest read(const std::int64_t* words) {
  return {static_cast<std::uint64_t>(words[0]), static_cast<std::uint64_t>(words[1]),
          static_cast<std::int32_t>(words[2]),  static_cast<std::int32_t>(words[3]),
          static_cast<std::int32_t>(words[4]),  static_cast<std::int32_t>(words[5]),
          static_cast<std::uint64_t>(words[6])};
}

auto name_of(const SeriesDigest& d) {
  return std::tuple(d.axes, d.home, d.first, d.from, d.to);
}

}  // namespace

std::int64_t SeriesExchange::largest(std::int64_t mine) {
  const std::vector<std::int64_t> all = gather_words(world_, {&mine, 1});
  return *std::max_element(all.begin(), all.end());
}

std::optional<std::string> SeriesExchange::first_text(const std::optional<std::string>& mine) {
  const std::int64_t is_there = mine.has_value() ? 1 : 0;
  const std::vector<std::int64_t> has = gather_words(world_, {&is_there, 1});
  const auto first = std::find(has.begin(), has.end(), 1);
  if (first == has.end()) return std::nullopt;
  std::string text = mine.value_or("");
  text.resize(k_text_bytes);
  broadcast_from(world_, static_cast<int>(first - has.begin()), {text.data(), k_text_bytes, DType::u8});
  return std::string(text.c_str());
}

std::optional<SeriesDigest> SeriesExchange::first_mismatch(const std::vector<SeriesDigest>& mine) {
  const auto most = static_cast<std::size_t>(largest(static_cast<std::int64_t>(mine.size())));
  if (most == 0) return std::nullopt;
  std::vector<std::int64_t> words;
  for (const SeriesDigest& digest : mine) append(words, digest);
  for (std::size_t i = mine.size(); i < most; ++i) append(words, {});  // no members: nobody's
  const std::vector<std::int64_t> all = gather_words(world_, words);

  std::map<decltype(name_of(SeriesDigest{})), std::vector<SeriesDigest>> listed;
  for (std::size_t at = 0; at < all.size(); at += k_words)
    if (const SeriesDigest digest = read(&all[at]); digest.members > 0) listed[name_of(digest)].push_back(digest);
  for (const auto& [name, digests] : listed) {
    const bool complete = static_cast<int>(digests.size()) == digests[0].members;
    const bool equal = std::all_of(digests.begin(), digests.end(),
                                   [&](const SeriesDigest& d) { return d.digest == digests[0].digest; });
    if (!complete || !equal) return digests[0];
  }
  return std::nullopt;
}

std::vector<CallSignature> SeriesExchange::calls_of(int source, const std::vector<CallSignature>& mine) {
  const std::int64_t size = std::ssize(mine);
  const std::int64_t count = gather_words(world_, {&size, 1})[static_cast<std::size_t>(source)];
  std::vector<CallSignature> calls = mine;
  calls.resize(static_cast<std::size_t>(count));
  broadcast_from(world_, source, {calls.data(), count * static_cast<std::int64_t>(sizeof(CallSignature)), DType::u8});
  return calls;
}

std::vector<AxisGroup> SeriesExchange::union_of(std::vector<AxisGroup> mine) {
  const auto most = static_cast<std::size_t>(largest(static_cast<std::int64_t>(mine.size())));
  std::vector<std::int64_t> words;
  for (const AxisGroup& group : mine) {
    words.push_back(group.axes.bits());
    words.push_back(static_cast<std::int64_t>(group.home.bits()));
  }
  words.resize(2 * most);
  const std::vector<std::int64_t> all = most == 0 ? words : gather_words(world_, words);
  std::vector<AxisGroup> groups;
  for (std::size_t at = 0; at < all.size(); at += 2)
    if (all[at] != 0)
      groups.push_back(
          {AxisSet(static_cast<std::uint16_t>(all[at])), Home::of_bits(static_cast<std::uint64_t>(all[at + 1]))});
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

}  // namespace tessera
