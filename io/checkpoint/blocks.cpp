// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/blocks.hpp"

#include <algorithm>
#include <optional>

#include "io/checkpoint/together.hpp"
#include "io/file.hpp"
#include "io/hash.hpp"

namespace tessera::io {
namespace {

// An element may begin in one block and end in the next.
constexpr std::int64_t k_overhang = 8;

std::int64_t blocks_of(const ManifestFile& file) {
  return file.bytes / k_hash_block + (file.bytes % k_hash_block != 0 ? 1 : 0);
}

/// The elements of a segment that begin in bytes [low, high) of its file, whose content from `low` on is at `data`.
Digest digest_between(const LogicalTensor& tensor, const Segment& segment, std::int64_t low, std::int64_t high,
                      const std::byte* data) {
  const std::int64_t element = size_of(tensor.dtype);
  const std::int64_t count = with_rows(tensor.shape, segment.rows).count();
  const auto first_from = [&](std::int64_t byte) {
    return byte <= segment.offset ? 0 : std::min(count, (byte - segment.offset + element - 1) / element);
  };
  const std::int64_t first = first_from(low);
  const std::int64_t last = first_from(high);
  if (count == 0 || first >= last) return {};
  const std::int64_t index = with_rows(tensor.shape, segment.first_row).count() * (tensor.shape.rank() > 0 ? 1 : 0);
  return digest_run(tensor, index + first, data + (segment.offset + first * element - low), last - first);
}

/// One rank's share of all blocks, in the order of files.
class Share {
 public:
  Share(std::filesystem::path folder, std::span<const ManifestFile> files, std::span<const ManifestTensor> tensors)
      : folder_(std::move(folder)), files_(files), tensors_(tensors), digests_(tensors.size()) {}

  void read(std::int64_t begin, std::int64_t end) {
    std::int64_t largest = 0;
    for (const ManifestFile& file : files_) largest = std::max(largest, file.bytes);
    buffer_.resize(static_cast<std::size_t>(std::min(k_hash_block + k_overhang, largest)));
    std::int64_t first = 0;
    for (const ManifestFile& file : files_) {
      const std::int64_t from = std::clamp<std::int64_t>(begin - first, 0, blocks_of(file));
      const std::int64_t to = std::clamp<std::int64_t>(end - first, 0, blocks_of(file));
      if (from < to) read_file(file, from, to);
      first += blocks_of(file);
    }
  }

  const std::vector<std::int64_t>& hashes() const { return hashes_; }
  const std::vector<Digest>& digests() const { return digests_; }

 private:
  void read_file(const ManifestFile& entry, std::int64_t from, std::int64_t to) {
    const File file(folder_ / entry.name, Access::read);
    for (std::int64_t block = from; block < to; ++block) {
      const std::int64_t low = block * k_hash_block;
      const std::int64_t high = std::min(low + k_hash_block, entry.bytes);
      file.read(low, buffer_.data(), std::min(high + k_overhang, entry.bytes) - low);
      hashes_.push_back(static_cast<std::int64_t>(hash_bytes(buffer_.data(), high - low)));
      for (std::size_t i = 0; i < tensors_.size(); ++i)
        for (const Segment& segment : tensors_[i].segments)
          if (segment.file == entry.name)
            digests_[i] += digest_between(tensors_[i].tensor, segment, low, high, buffer_.data());
    }
  }

  std::filesystem::path folder_;
  std::span<const ManifestFile> files_;
  std::span<const ManifestTensor> tensors_;
  std::vector<std::byte> buffer_;
  std::vector<std::int64_t> hashes_;
  std::vector<Digest> digests_;
};

}  // namespace

FileContents read_contents(const std::filesystem::path& folder, std::span<const ManifestFile> files,
                           std::span<const ManifestTensor> tensors, Communicator& ranks) {
  std::int64_t total = 0;
  for (const ManifestFile& file : files) total += blocks_of(file);
  std::optional<Share> share;
  together(ranks, [&] {
    share.emplace(folder, files, tensors);
    share->read(total * ranks.rank() / ranks.size(), total * (ranks.rank() + 1) / ranks.size());
  });
  const std::vector<std::int64_t> hashes = gather(ranks, share->hashes());
  FileContents contents;
  auto at = hashes.begin();
  for (const ManifestFile& file : files) {
    contents.blocks.emplace_back(at, at + blocks_of(file));
    at += blocks_of(file);
  }
  contents.digests = sum_digests(share->digests(), ranks);
  return contents;
}

std::vector<Digest> sum_digests(std::span<const Digest> mine, Communicator& ranks) {
  std::vector<std::int64_t> words;
  for (const Digest& digest : mine) {
    words.push_back(static_cast<std::int64_t>(digest.low));
    words.push_back(static_cast<std::int64_t>(digest.high));
  }
  const std::vector<std::int64_t> all = gather(ranks, words);
  std::vector<Digest> sums(mine.size());
  for (std::size_t i = 0; i < all.size(); i += 2)
    sums[i / 2 % sums.size()] += {static_cast<std::uint64_t>(all[i]), static_cast<std::uint64_t>(all[i + 1])};
  return sums;
}

}  // namespace tessera::io
