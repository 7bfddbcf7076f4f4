// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/series_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "core/device/immediate_stream.hpp"

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

std::vector<std::int64_t> SeriesExchange::gather(const std::vector<std::int64_t>& mine) {
  const auto count = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(world_.size()));
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(world_.size()), count);
  ImmediateStream stream;
  world_
      .all_gather({mine.data(), count, DType::i64}, {all.data(), count * world_.size(), DType::i64}, counts,
                  {stream, {}})
      .wait();
  return all;
}

std::int64_t SeriesExchange::largest(std::int64_t mine) {
  const std::vector<std::int64_t> all = gather({mine});
  return *std::max_element(all.begin(), all.end());
}

void SeriesExchange::broadcast(void* data, std::int64_t bytes, int root) {
  if (bytes == 0) return;
  ImmediateStream stream;
  world_.broadcast({data, bytes, DType::u8}, root, {stream, {}}).wait();
}

std::optional<std::string> SeriesExchange::first_text(const std::optional<std::string>& mine) {
  const std::vector<std::int64_t> has = gather({mine.has_value() ? 1 : 0});
  const auto first = std::find(has.begin(), has.end(), 1);
  if (first == has.end()) return std::nullopt;
  std::string text = mine.value_or("");
  text.resize(k_text_bytes);
  broadcast(text.data(), k_text_bytes, static_cast<int>(first - has.begin()));
  return std::string(text.c_str());
}

std::optional<SeriesDigest> SeriesExchange::first_mismatch(const std::vector<SeriesDigest>& mine) {
  const auto most = static_cast<std::size_t>(largest(static_cast<std::int64_t>(mine.size())));
  if (most == 0) return std::nullopt;
  std::vector<std::int64_t> words;
  for (const SeriesDigest& digest : mine) append(words, digest);
  for (std::size_t i = mine.size(); i < most; ++i) append(words, {});  // no members: nobody's
  const std::vector<std::int64_t> all = gather(words);

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
  const auto count =
      static_cast<std::size_t>(gather({static_cast<std::int64_t>(mine.size())})[static_cast<std::size_t>(source)]);
  std::vector<CallSignature> calls = mine;
  calls.resize(count);
  broadcast(calls.data(), static_cast<std::int64_t>(count * sizeof(CallSignature)), source);
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
  const std::vector<std::int64_t> all = most == 0 ? words : gather(words);
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
