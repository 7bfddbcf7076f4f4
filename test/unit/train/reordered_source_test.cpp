// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/reordered_source.hpp"

namespace tessera {
namespace {

/// Element (place, column) of array a of sample g is 10000 a + 100 place + g.
class NumberedSource final : public BatchSource {
 public:
  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override {
    std::int32_t* const arrays[] = {view.ids, view.target, view.position, view.index, view.document};
    for (std::int64_t c = 0; c < view.tokens.extent[1]; ++c) {
      const std::int64_t g = first_sample + view.tokens.start[1] + c;
      view.sample[c] = g;
      for (std::int64_t r = 0; r < view.tokens.extent[0]; ++r) {
        const std::int64_t at = r * view.tokens.extent[1] + c, place = view.tokens.start[0] + r;
        for (std::size_t a = 0; a < std::size(arrays); ++a)
          if (arrays[a] != nullptr)
            arrays[a][at] = static_cast<std::int32_t>(10000 * static_cast<std::int64_t>(a) + 100 * place + g);
        const double mask = g < first_sample + samples ? static_cast<double>(place) : -1;
        if (view.mask_dtype == DType::f64)
          static_cast<double*>(view.mask)[at] = mask;
        else
          static_cast<float*>(view.mask)[at] = static_cast<float>(mask);
      }
    }
  }
  std::uint64_t digest(std::int64_t first_sample, std::int64_t samples) const override {
    return static_cast<std::uint64_t>(1000 * first_sample + samples);
  }
};

/// The memory behind a view of [rows, columns].
struct Batch {
  std::vector<std::int32_t> arrays[5];
  std::vector<double> mask;
  std::vector<std::int64_t> sample;
  BatchView view;

  explicit Batch(const Slab& tokens) : mask(static_cast<std::size_t>(tokens.extent.count()), -7) {
    for (auto& array : arrays) array.assign(mask.size(), -7);
    sample.assign(static_cast<std::size_t>(tokens.extent[1]), -7);
    view = {tokens,           arrays[0].data(), arrays[1].data(), mask.data(),  DType::f64,
            arrays[2].data(), arrays[3].data(), arrays[4].data(), sample.data()};
  }
};

const std::vector<Range> k_order{{0, 3}, {9, 12}, {3, 4}, {4, 9}};
const std::int64_t k_places[] = {0, 1, 2, 9, 10, 11, 3, 4, 5, 6, 7, 8};

TEST(ReorderedSourceTest, RowsAreThePlacesOfTheOrder) {
  NumberedSource source;
  ReorderedSource reordered(source, k_order);
  for (std::int64_t begin = 0; begin < 12; ++begin)
    for (std::int64_t end = begin; end <= 12; ++end) {
      Batch batch({{begin, 2}, {end - begin, 3}});
      reordered.fill(5, 4, batch.view);
      EXPECT_EQ(batch.sample, (std::vector<std::int64_t>{7, 8, 9}));
      for (std::int64_t r = 0; r < end - begin; ++r)
        for (std::int64_t c = 0; c < 3; ++c) {
          const auto at = static_cast<std::size_t>(3 * r + c);
          const std::int64_t place = k_places[begin + r];
          for (std::size_t a = 0; a < 5; ++a)
            EXPECT_EQ(batch.arrays[a][at], 10000 * static_cast<std::int64_t>(a) + 100 * place + 7 + c);
          EXPECT_EQ(batch.mask[at], c < 2 ? static_cast<double>(place) : -1);
        }
    }
}

TEST(ReorderedSourceTest, ArraysThatAreNotAskedForStayAway) {
  NumberedSource source;
  Batch batch({{2, 0}, {4, 1}});
  batch.view.ids = nullptr;
  batch.view.document = nullptr;
  ReorderedSource(source, k_order).fill(0, 1, batch.view);
  EXPECT_EQ(batch.arrays[0], std::vector<std::int32_t>(4, -7));
  EXPECT_EQ(batch.arrays[1], (std::vector<std::int32_t>{10200, 10900, 11000, 11100}));
}

TEST(ReorderedSourceTest, WithoutAnOrderItIsTheSource) {
  NumberedSource source;
  Batch batch({{2, 0}, {2, 1}});
  ReorderedSource reordered(source, {});
  reordered.fill(0, 1, batch.view);
  EXPECT_EQ(batch.arrays[1], (std::vector<std::int32_t>{10200, 10300}));
  EXPECT_EQ(reordered.digest(3, 4), 3004U);
}

/// Asks for an order, whatever the mesh.
class OrderingStrategy final : public Strategy {
 public:
  explicit OrderingStrategy(std::vector<Range> order) : order_(std::move(order)) {}
  std::vector<Range> sequence_order(std::int64_t, const Mesh&) const override { return order_; }

 private:
  std::vector<Range> order_;
};

TEST(SequenceOrderTest, OneStrategyMayAskForAnOrder) {
  const Mesh mesh({{"cp", "cp", 2}});
  const OrderingStrategy none({}), one(k_order), other({{6, 12}, {0, 6}});
  const Strategy* strategies[] = {&none, &one, &other};
  EXPECT_TRUE(sequence_order(std::span(strategies).first(1), 12, mesh).empty());
  EXPECT_EQ(sequence_order(std::span(strategies).first(2), 12, mesh), k_order);
  EXPECT_THROW(sequence_order(strategies, 12, mesh), Error);
}

}  // namespace
}  // namespace tessera
