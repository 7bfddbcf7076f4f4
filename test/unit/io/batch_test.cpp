// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/batch.hpp"

#include "error_matchers.hpp"
#include "temporary_folder.hpp"

namespace tessera::io {
namespace {

using Ints = std::vector<std::int32_t>;

/// Documents of 5, 1, 7 and 3 tokens, the last one of each the end of document (9): T = 16.
class BatchTest : public testing::Test {
 protected:
  BatchTest() {
    DatasetWriter writer(folder_ / "data.h5", {"test", "", 30, 9});
    writer.append(Ints{10, 11, 12, 13, 9});
    writer.append(Ints{9});
    writer.append(Ints{20, 21, 22, 23, 24, 25, 9});
    writer.append(Ints{26, 27, 9});
    writer.finish();
    dataset_ = std::make_unique<Dataset>(folder_ / "data.h5");
  }

  struct Arrays {
    Arrays(std::int64_t places, std::size_t columns)
        : ids(static_cast<std::size_t>(places) * columns),
          targets(ids),
          position(ids),
          index(ids),
          document(ids),
          mask(ids.size()),
          sample(columns) {}
    BatchView view() {
      return {ids.data(),      targets.data(), mask.data(),     DType::f64,
              position.data(), index.data(),   document.data(), sample.data()};
    }
    Ints ids, targets, position, index, document;
    std::vector<double> mask;
    std::vector<std::int64_t> sample;
  };

  Arrays fill(const std::vector<std::int64_t>& consumed, SequencePart part, DocumentMode mode) {
    const Sampler sampler({0, samples_in(dataset_->tokens(), 4)}, 1, SampleOrder::sequential);
    BatchReader reader(*dataset_, sampler, 4, mode, 30);
    Arrays arrays(part.end - part.begin, consumed.size());
    reader.fill(consumed, part, arrays.view());
    return arrays;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Dataset> dataset_;
};

// Acceptance case B50: three samples of 4 per epoch, targets shifted by one, the tail (26, 27 as input) unused.
TEST_F(BatchTest, SamplesAndTargets) {
  EXPECT_EQ(samples_in(dataset_->tokens(), 4), 3);
  const Arrays epoch = fill({0, 1, 2}, {0, 4}, DocumentMode::joined);
  EXPECT_EQ(epoch.ids, (Ints{10, 9, 22, 11, 9, 23, 12, 20, 24, 13, 21, 25}));
  EXPECT_EQ(epoch.targets, (Ints{11, 9, 23, 12, 20, 24, 13, 21, 25, 9, 22, 9}));
  EXPECT_EQ(epoch.position, (Ints{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(epoch.index, epoch.position);
  EXPECT_THAT(epoch.document, testing::Each(0));
  EXPECT_THAT(epoch.mask, testing::Each(1.0));
  EXPECT_EQ(epoch.sample, (std::vector<std::int64_t>{0, 1, 2}));
  const Arrays second = fill({3, 4, 5}, {0, 4}, DocumentMode::joined);
  EXPECT_EQ(second.ids, epoch.ids);
  EXPECT_EQ(second.sample, (std::vector<std::int64_t>{3, 4, 5}));
}

TEST_F(BatchTest, PositionsRestartWithEachDocument) {
  const Arrays arrays = fill({0, 1, 2}, {0, 4}, DocumentMode::isolated);
  // Sample 0 lies in document 0; sample 1 has the end of it, all of document 1, two tokens of document 2.
  EXPECT_EQ(arrays.position, (Ints{0, 0, 0, 1, 0, 1, 2, 0, 2, 3, 1, 3}));
  EXPECT_EQ(arrays.document, (Ints{0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 2, 0}));
  EXPECT_EQ(arrays.index, (Ints{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}));
}

TEST_F(BatchTest, APartOfTheSequenceIsThatPartOfTheWhole) {
  const std::vector<std::int64_t> consumed{1, 2, k_padding, 0};
  for (const DocumentMode mode : {DocumentMode::joined, DocumentMode::isolated}) {
    const Arrays whole = fill(consumed, {0, 4}, mode);
    for (std::int64_t begin = 0; begin <= 4; ++begin) {
      for (std::int64_t end = begin; end <= 4; ++end) {
        const Arrays part = fill(consumed, {begin, end}, mode);
        const auto cut = [&](const auto& array) {
          return std::vector(array.begin() + begin * 4, array.begin() + end * 4);
        };
        EXPECT_EQ(part.ids, cut(whole.ids));
        EXPECT_EQ(part.targets, cut(whole.targets));
        EXPECT_EQ(part.position, cut(whole.position));
        EXPECT_EQ(part.index, cut(whole.index));
        EXPECT_EQ(part.document, cut(whole.document));
        EXPECT_EQ(part.mask, cut(whole.mask));
      }
    }
  }
}

TEST_F(BatchTest, PaddingRowsAreMasked) {
  const Arrays arrays = fill({2, k_padding}, {0, 4}, DocumentMode::isolated);
  EXPECT_EQ(arrays.mask, (std::vector<double>{1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(arrays.sample, (std::vector<std::int64_t>{2, k_padding}));
  EXPECT_EQ(arrays.ids, (Ints{22, 0, 23, 0, 24, 0, 25, 0}));
  EXPECT_EQ(arrays.position, (Ints{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST_F(BatchTest, LeavesOutWhatIsNotWanted) {
  const Sampler sampler({0, 3}, 1, SampleOrder::sequential);
  BatchReader reader(*dataset_, sampler, 4, DocumentMode::isolated, 30);
  std::vector<float> mask(4, -1);
  BatchView view;
  view.mask = mask.data();
  reader.fill(std::vector<std::int64_t>{0}, {0, 4}, view);
  EXPECT_THAT(mask, testing::Each(1.0F));
}

TEST_F(BatchTest, RefusesAModelWithFewerIds) {
  const Sampler sampler({0, 3}, 1, SampleOrder::sequential);
  expect_error(ErrorKind::data, "ids up to 27, the model's vocabulary has 27",
               [&] { BatchReader(*dataset_, sampler, 4, DocumentMode::joined, 27); });
}

}  // namespace
}  // namespace tessera::io
