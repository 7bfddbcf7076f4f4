// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/dataset_source.hpp"

#include "error_matchers.hpp"
#include "temporary_folder.hpp"

namespace tessera::io {
namespace {

using Ints = std::vector<std::int32_t>;

/// Documents of 5, 1, 7 and 3 tokens, the last one of each the end of document (9): T = 16.
class DatasetSourceTest : public testing::Test {
 protected:
  DatasetSourceTest() {
    DatasetWriter writer(folder_ / "data.h5", {"test", "", 30, 9});
    writer.append(Ints{10, 11, 12, 13, 9});
    writer.append(Ints{9});
    writer.append(Ints{20, 21, 22, 23, 24, 25, 9});
    writer.append(Ints{26, 27, 9});
    writer.finish();
    dataset_ = std::make_unique<Dataset>(folder_ / "data.h5");
  }

  /// The arrays of a part of a micro-batch.
  struct Arrays {
    explicit Arrays(const Slab& slab)
        : part(slab),
          ids(static_cast<std::size_t>(slab.extent.count())),
          target(ids),
          position(ids),
          index(ids),
          document(ids),
          mask(ids.size()),
          sample(static_cast<std::size_t>(slab.extent[1])) {}
    BatchView view() {
      return {part,         ids.data(),      target.data(), mask.data(), DType::f64, position.data(),
              index.data(), document.data(), sample.data()};
    }
    Slab part;
    Ints ids, target, position, index, document;
    std::vector<double> mask;
    std::vector<std::int64_t> sample;
  };

  static Slab slab(std::int64_t place, std::int64_t places, std::int64_t column, std::int64_t columns) {
    return {{place, column}, {places, columns}};
  }

  DatasetSource source(DocumentMode mode) const {
    return {*dataset_, Sampler({0, samples_in(dataset_->tokens(), 4)}, 1, SampleOrder::sequential), 4, mode, 30};
  }

  Arrays fill(std::int64_t first, std::int64_t samples, const Slab& part, DocumentMode mode) const {
    Arrays arrays(part);
    source(mode).fill(first, samples, arrays.view());
    return arrays;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Dataset> dataset_;
};

// Acceptance case B50: three samples of 4 per epoch, targets shifted by one, the tail (26, 27 as input) unused.
TEST_F(DatasetSourceTest, SamplesAndTargets) {
  EXPECT_EQ(samples_in(dataset_->tokens(), 4), 3);
  const Arrays epoch = fill(0, 3, slab(0, 4, 0, 3), DocumentMode::joined);
  EXPECT_EQ(epoch.ids, (Ints{10, 9, 22, 11, 9, 23, 12, 20, 24, 13, 21, 25}));
  EXPECT_EQ(epoch.target, (Ints{11, 9, 23, 12, 20, 24, 13, 21, 25, 9, 22, 9}));
  EXPECT_EQ(epoch.position, (Ints{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(epoch.index, epoch.position);
  EXPECT_THAT(epoch.document, testing::Each(0));
  EXPECT_THAT(epoch.mask, testing::Each(1.0));
  EXPECT_EQ(epoch.sample, (std::vector<std::int64_t>{0, 1, 2}));
  const Arrays second = fill(3, 3, slab(0, 4, 0, 3), DocumentMode::joined);
  EXPECT_EQ(second.ids, epoch.ids);
  EXPECT_EQ(second.sample, (std::vector<std::int64_t>{3, 4, 5}));
}

TEST_F(DatasetSourceTest, PositionsRestartWithEachDocument) {
  const Arrays arrays = fill(0, 3, slab(0, 4, 0, 3), DocumentMode::isolated);
  // Sample 0 lies in document 0; sample 1 has the end of it, all of document 1, two tokens of document 2.
  EXPECT_EQ(arrays.position, (Ints{0, 0, 0, 1, 0, 1, 2, 0, 2, 3, 1, 3}));
  EXPECT_EQ(arrays.document, (Ints{0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 2, 0}));
  EXPECT_EQ(arrays.index, (Ints{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}));
}

/// The elements of `array`, which has `columns` columns, that lie in a part.
template <class T>
std::vector<T> cut(const std::vector<T>& array, std::int64_t columns, const Slab& part) {
  std::vector<T> out;
  for (std::int64_t place = part.start[0]; place < part.start[0] + part.extent[0]; ++place)
    for (std::int64_t c = part.start[1]; c < part.start[1] + part.extent[1]; ++c)
      out.push_back(array[static_cast<std::size_t>(place * columns + c)]);
  return out;
}

// Every part of a micro-batch of four columns, the last of them padding: what the ranks of any layout read.
TEST_F(DatasetSourceTest, APartIsThatPartOfTheWhole) {
  for (const DocumentMode mode : {DocumentMode::joined, DocumentMode::isolated}) {
    const Arrays whole = fill(1, 3, slab(0, 4, 0, 4), mode);
    for (int place = 0; place <= 4; ++place) {
      for (int places = 0; places <= 4 - place; ++places) {
        for (int column = 0; column <= 4; ++column) {
          for (int columns = 0; columns <= 4 - column; ++columns) {
            const Arrays part = fill(1, 3, slab(place, places, column, columns), mode);
            EXPECT_EQ(part.ids, cut(whole.ids, 4, part.part));
            EXPECT_EQ(part.target, cut(whole.target, 4, part.part));
            EXPECT_EQ(part.position, cut(whole.position, 4, part.part));
            EXPECT_EQ(part.index, cut(whole.index, 4, part.part));
            EXPECT_EQ(part.document, cut(whole.document, 4, part.part));
            EXPECT_EQ(part.mask, cut(whole.mask, 4, part.part));
            EXPECT_EQ(part.sample, cut(whole.sample, 4, {{0, column}, {1, columns}}));
          }
        }
      }
    }
  }
}

TEST_F(DatasetSourceTest, ColumnsBeyondTheSamplesAreMasked) {
  const Arrays arrays = fill(2, 1, slab(0, 4, 0, 2), DocumentMode::isolated);
  EXPECT_EQ(arrays.mask, (std::vector<double>{1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(arrays.sample, (std::vector<std::int64_t>{2, k_padding}));
  EXPECT_EQ(arrays.ids, (Ints{22, 0, 23, 0, 24, 0, 25, 0}));
  EXPECT_EQ(arrays.position, (Ints{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_THAT(fill(2, 1, slab(0, 4, 1, 3), DocumentMode::joined).mask, testing::Each(0.0));
}

TEST_F(DatasetSourceTest, LeavesOutWhatIsNotWanted) {
  DatasetSource source = this->source(DocumentMode::isolated);
  std::vector<float> mask(4, -1);
  BatchView view;
  view.tokens = slab(0, 4, 0, 1);
  view.mask = mask.data();
  source.fill(0, 1, view);
  EXPECT_THAT(mask, testing::Each(1.0F));
}

TEST_F(DatasetSourceTest, DigestIsThatOfTheSamplesInTheDataset) {
  const DatasetSource source = this->source(DocumentMode::joined);
  EXPECT_EQ(source.digest(0, 2), source.digest(3, 2));  // an epoch later in the same order
  EXPECT_NE(source.digest(0, 2), source.digest(1, 2));
}

TEST_F(DatasetSourceTest, RefusesAModelWithFewerIds) {
  const Sampler sampler({0, 3}, 1, SampleOrder::sequential);
  expect_error(ErrorKind::data, "ids up to 27, the model's vocabulary has 27",
               [&] { DatasetSource(*dataset_, sampler, 4, DocumentMode::joined, 27); });
}

}  // namespace
}  // namespace tessera::io
