// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "checkpoint_fixture.hpp"
#include "core/comm/self_communicator.hpp"
#include "error_matchers.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/together.hpp"
#include "mpi/world.hpp"
#include "temporary_folder.hpp"
#include "test/support/mpi_environment.hpp"

namespace tessera::io {
namespace {

class ParallelTransportTest : public testing::TestWithParam<Transport> {
 protected:
  ParallelTransportTest() : ranks_(mpi::make_world(test::mpi_environment())) {
    if (ranks_->rank() == 0) own_.emplace();
    folder_ = from_root(*ranks_, own_ ? own_->path().native() : "");
  }
  ~ParallelTransportTest() override { ranks_->barrier(); }

  SaveOptions options(std::int64_t step) const { return {folder_, step, GetParam(), 0, {}}; }

  std::unique_ptr<Communicator> ranks_;
  std::optional<TemporaryFolder> own_;
  std::filesystem::path folder_;
};

TEST_P(ParallelTransportTest, AnySplitIsWrittenAsItIs) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::vector<LogicalTensor> tensors = all_tensors();
    std::vector<Holding> mine =
        std::move(deal(tensors, ranks_->size(), seed)[static_cast<std::size_t>(ranks_->rank())]);
    SaveOptions save_options = options(static_cast<std::int64_t>(seed));
    save_options.files = seed == 3 ? 2 : 1;
    CheckpointWriter writer(save_options, *ranks_);
    writer.declare("model.h5", model_tensors());
    writer.declare("optimizer.h5", optimizer_tensors());
    std::vector<Piece> pieces;
    for (Holding& holding : mine) {
      holding.fill();
      pieces.push_back(holding.piece());
    }
    writer.write(pieces);
    const SaveReport report = writer.commit();
    const CheckpointReader reader(report.folder, *ranks_, Verify::full);
    for (const LogicalTensor& tensor : tensors) {
      Holding all(tensor, 0, whole(tensor.shape), 0);
      const int number = reader.find(tensor.path);
      reader.read(number, all.box, all.bytes.data(), all.strides);
      EXPECT_EQ(all.wrong(), 0) << tensor.path << " seed " << seed;
    }
  }
}

TEST_P(ParallelTransportTest, ARankWithoutRowsAndAFailingRank) {
  const LogicalTensor tensor{"/model/w", {1008, 37}, DType::f32, {}};
  const std::int64_t first = ranks_->rank() == 0 ? 0 : ranks_->rank() == 1 ? 1 : 1008;
  const std::int64_t last = ranks_->rank() == 0 ? 1 : 1008;
  Holding holding(tensor, 0, {{first, 0}, {last - first, 37}}, 1);
  holding.fill();
  const Piece piece = holding.piece();
  const auto save_rows = [&](const SaveOptions& options) {
    CheckpointWriter writer(options, *ranks_);
    writer.declare("model.h5", {&tensor, 1});
    writer.write({&piece, 1});
    writer.commit();
  };
  save_rows(options(1));
  const CheckpointReader reader(folder_ / "step-00000001", *ranks_, Verify::full);
  Holding all(tensor, 0, whole(tensor.shape), 0);
  reader.read(0, all.box, all.bytes.data(), all.strides);
  EXPECT_EQ(all.wrong(), 0);
  SaveOptions failing = options(2);
  failing.observer = [&](std::string_view step) {
    if (step == "write" && ranks_->rank() == 1) throw Error(ErrorKind::io, "no luck");
  };
  expect_error(ErrorKind::io, "rank 1: no luck", [&] { save_rows(failing); });
  ranks_->barrier();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "step-00000002.tmp"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "step-00000001"));
}

// Needs 5 GiB of disk and 3 GiB of memory: run with --gtest_also_run_disabled_tests.
TEST_P(ParallelTransportTest, DISABLED_ATensorAbove2GiB) {
  const LogicalTensor tensor{"/model/w", {(std::int64_t{5} << 28) / 1000 + 1, 1000}, DType::u16, {}};
  const std::int64_t rows = tensor.shape[0];
  const std::int64_t first = ranks_->rank() == 0 ? 0 : rows - 3;
  const std::int64_t last = ranks_->rank() == 0 ? rows - 3 : ranks_->rank() == 1 ? rows : rows - 3;
  std::vector<std::uint16_t> data(static_cast<std::size_t>((last - first) * 1000));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint16_t>(mix(i) >> 5);
  CheckpointWriter writer(options(1), *ranks_);
  writer.declare("model.h5", {&tensor, 1});
  const Box box{{first, 0}, {last - first, 1000}};
  const Piece piece{0, box, data.data(), dense_strides(box.extent)};
  writer.write({&piece, 1});
  writer.commit();
  EXPECT_NO_THROW(CheckpointReader(folder_ / "step-00000001", *ranks_, Verify::full));
}

INSTANTIATE_TEST_SUITE_P(Transports, ParallelTransportTest,
                         testing::Values(Transport::direct, Transport::independent, Transport::collective),
                         [](const auto& test_case) { return std::string(name_of(test_case.param)); });

TEST(ParallelTransport, NeedsRanksOfMpi) {
  if (test::mpi_environment().rank() != 0) return;
  const TemporaryFolder folder;
  const auto self = make_self_communicator();
  expect_error(ErrorKind::unavailable, "needs ranks of MPI", [&] {
    CheckpointWriter({folder.path(), 1, Transport::collective, 0, {}}, *self);
  });
}

}  // namespace
}  // namespace tessera::io
