// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a small set of tensors with known contents, cut into boxes in random ways.
// Used: tests of checkpoints.
// Must not know: how they are stored.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "core/base/counter_rng.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "io/checkpoint/digest.hpp"

namespace tessera::io {

inline std::vector<LogicalTensor> model_tensors() {
  return {{"/model/embedding", {37, 12}, DType::f32, {}},
          {"/model/layers/attention.q", {3, 16, 11}, DType::f32, {"layers.0", "layers.1", "layers.2"}},
          {"/model/norm", {19}, DType::bf16, {}},
          {"/model/half", {5, 3}, DType::f16, {}}};
}

inline std::vector<LogicalTensor> optimizer_tensors() {
  return {{"/optimizer/moment/embedding", {37, 12}, DType::f64, {}},
          {"/optimizer/none", {0, 4}, DType::f32, {}},
          {"/optimizer/large", {300, 1000}, DType::f32, {}},
          {"/optimizer/bytes", {7}, DType::u8, {}},
          {"/optimizer/steps", {}, DType::i64, {}}};
}

/// The bytes of element `index`: pseudo-random, different for every tensor.
inline void put_element(const LogicalTensor& tensor, std::int64_t index, std::byte* to) {
  const std::uint64_t bits = CounterRng(1, hash_name(tensor.path)).at(static_cast<std::uint64_t>(index));
  std::memcpy(to, &bits, static_cast<std::size_t>(size_of(tensor.dtype)));
}

/// A box of a tensor in memory of its own, with gaps between rows where `gap` > 0.
struct Holding {
  Holding(const LogicalTensor& of, int number, Box part, std::int64_t gap) : tensor(of), box(part), index(number) {
    std::int64_t stride = 1;
    for (int dim = box.extent.rank() - 1; dim >= 0; --dim) {
      strides[static_cast<std::size_t>(dim)] = stride;
      stride *= box.extent[dim] + (dim > 0 ? gap : 0);
    }
    bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(stride, 1) * size_of(tensor.dtype)), std::byte{0x5a});
  }

  template <class Action>
  void each(Action&& action) const {
    const std::int64_t element = size_of(tensor.dtype);
    for_each_run(tensor.shape, box, strides, [&](std::int64_t at, std::int64_t offset, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) action(at + i, (offset + i) * element);
    });
  }

  void fill() {
    each([&](std::int64_t at, std::int64_t offset) { put_element(tensor, at, bytes.data() + offset); });
  }

  /// Elements that are not what they should be.
  int wrong() const {
    int count = 0;
    each([&](std::int64_t at, std::int64_t offset) {
      std::array<std::byte, 8> expected{};
      put_element(tensor, at, expected.data());
      count +=
          std::memcmp(expected.data(), bytes.data() + offset, static_cast<std::size_t>(size_of(tensor.dtype))) != 0;
    });
    return count;
  }

  Piece piece() const { return {index, box, bytes.data(), strides}; }

  LogicalTensor tensor;
  Box box;
  int index = 0;
  Strides strides{};
  std::vector<std::byte> bytes;
};

/// Cuts a box in two at a random place of a random dim, again and again.
inline void cut_randomly(const Box& box, int depth, std::mt19937_64& random, std::vector<Box>& parts) {
  const int rank = box.extent.rank();
  if (depth == 0 || rank == 0 || random() % 8 == 0) {
    parts.push_back(box);
    return;
  }
  const int dim = static_cast<int>(random() % static_cast<unsigned>(rank));
  const auto at = static_cast<std::int64_t>(random() % static_cast<unsigned long>(box.extent[dim] + 1));
  Box first = box;
  Box second = box;
  first.extent[dim] = at;
  second.start[dim] += at;
  second.extent[dim] -= at;
  cut_randomly(first, depth - 1, random, parts);
  cut_randomly(second, depth - 1, random, parts);
}

/// What each rank holds when the tensors are dealt out at random: every element once. The same on all ranks for a seed.
inline std::vector<std::vector<Holding>> deal(const std::vector<LogicalTensor>& tensors, int ranks,
                                              std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<Holding>> result(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<Box> parts;
    cut_randomly(whole(tensors[i].shape), static_cast<int>(random() % 5), random, parts);
    for (const Box& part : parts)
      result[random() % result.size()].emplace_back(tensors[i], static_cast<int>(i), part,
                                                    static_cast<std::int64_t>(random() % 3));
  }
  return result;
}

inline std::vector<LogicalTensor> all_tensors() {
  std::vector<LogicalTensor> all = model_tensors();
  for (LogicalTensor& tensor : optimizer_tensors()) all.push_back(std::move(tensor));
  return all;
}

/// Saves all tensors, dealt out by `seed`. Collective.
inline SaveReport save(const SaveOptions& options, Communicator& ranks, std::uint64_t seed) {
  CheckpointWriter writer(options, ranks);
  writer.declare("model.h5", model_tensors());
  writer.declare("optimizer.h5", optimizer_tensors());
  std::vector<Holding> mine =
      std::move(deal(all_tensors(), ranks.size(), seed)[static_cast<std::size_t>(ranks.rank())]);
  for (Holding& holding : mine) {
    holding.fill();
    const Piece piece = holding.piece();
    writer.write({&piece, 1});
  }
  writer.set_state("{\"consumed\": " + std::to_string(options.step) + "}");
  return writer.commit();
}

}  // namespace tessera::io
