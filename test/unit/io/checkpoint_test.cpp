// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <mutex>
#include <set>

#include "checkpoint_fixture.hpp"
#include "core/comm/self_communicator.hpp"
#include "core/comm/thread_communicator.hpp"
#include "error_matchers.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/folders.hpp"
#include "io/hdf5/layout_file.hpp"
#include "temporary_folder.hpp"

namespace tessera::io {
namespace {

/// Reads all tensors, dealt out by `seed`, and compares every element. Collective.
void load_and_compare(const CheckpointReader& reader, Communicator& ranks, std::uint64_t seed) {
  std::vector<Holding> mine =
      std::move(deal(all_tensors(), ranks.size(), seed)[static_cast<std::size_t>(ranks.rank())]);
  std::vector<Digest> digests(reader.manifest().tensors.size());
  int wrong = 0;
  for (Holding& holding : mine) {
    const int tensor = reader.find(holding.tensor.path);
    reader.read(tensor, holding.box, holding.bytes.data(), holding.strides);
    wrong += holding.wrong();
    digests[static_cast<std::size_t>(tensor)] +=
        digest_box(holding.tensor, holding.box, holding.bytes.data(), holding.strides);
  }
  EXPECT_EQ(wrong, 0) << "rank " << ranks.rank() << ", seed " << seed;
  reader.check_digests(digests, ranks);
}

std::vector<std::string> digests_of(const Manifest& manifest) {
  std::vector<std::string> digests;
  for (const ManifestTensor& entry : manifest.tensors) digests.push_back(to_string(entry.digest));
  return digests;
}

TEST(CheckpointTest, AnySplitLoadsIntoAnyOther) {
  const std::uint64_t seed = std::random_device{}();
  std::set<std::vector<std::string>> digests;
  for (int writers = 1; writers <= 4; ++writers) {
    const TemporaryFolder folder;
    const int files = writers == 1 ? 1 : 2 * writers - 3;  // 1, 1, 3, 5
    run_ranks(writers, [&](Communicator& ranks) {
      save({folder.path(), 7, {}, 0, {}, files}, ranks, seed + static_cast<std::uint64_t>(ranks.size()));
    });
    for (int readers = 1; readers <= 4; ++readers) {
      run_ranks(readers, [&](Communicator& ranks) {
        std::vector<std::string> passed_over;
        const auto reader = CheckpointReader::newest(folder.path(), ranks, Verify::full, passed_over);
        ASSERT_TRUE(reader.has_value());
        EXPECT_THAT(passed_over, testing::IsEmpty());
        EXPECT_EQ(reader->folder(), folder / "step-00000007");
        EXPECT_EQ(reader->state(), "{\"consumed\": 7}");
        EXPECT_NO_THROW(reader->expect(all_tensors()));
        load_and_compare(*reader, ranks, seed + 10 + static_cast<std::uint64_t>(ranks.size()));
        if (ranks.rank() == 0) digests.insert(digests_of(reader->manifest()));
      });
    }
  }
  EXPECT_EQ(digests.size(), 1U) << "digests depend on the split; seed " << seed;
}

// These values are a promise: digests of old checkpoints must stay valid.
TEST(CheckpointTest, DigestsNeverChangeBetweenVersions) {
  const LogicalTensor tensor{"/model/norm", {3}, DType::f32, {}};
  const std::array<float, 3> values{1, -2, 0.5};
  EXPECT_EQ(to_string(digest_run(tensor, 0, values.data(), 3)), "163e69b1ed9f0c2644cd2a33447a4ed0");
}

TEST(CheckpointTest, DigestsSeeWhatGoesWrongWithTensors) {
  const LogicalTensor tensor{"/model/w", {4, 4}, DType::f32, {}};
  std::array<float, 16> values{};
  for (std::size_t i = 0; i < 16; ++i) values[i] = static_cast<float>(i / 4);
  const Digest digest = digest_run(tensor, 0, values.data(), 16);
  std::array<float, 16> swapped = values;
  std::swap(swapped[3], swapped[4]);
  EXPECT_NE(digest_run(tensor, 0, swapped.data(), 16), digest);
  EXPECT_NE(digest_run(tensor, 1, values.data(), 16), digest);
  LogicalTensor other = tensor;
  other.path = "/model/v";
  EXPECT_NE(digest_run(other, 0, values.data(), 16), digest);
  other = tensor;
  other.dtype = DType::i32;
  EXPECT_NE(digest_run(other, 0, values.data(), 16), digest);
  EXPECT_EQ(digest_from(to_string(digest)), digest);
  Digest parts = digest_run(tensor, 9, values.data() + 9, 7);
  parts += digest_run(tensor, 0, values.data(), 9);
  EXPECT_EQ(parts, digest);
}

TEST(CheckpointTest, FilesAreOrdinaryHdf5) {
  const TemporaryFolder folder;
  const auto self = make_self_communicator();
  save({folder.path(), 3, {}, 0, {}}, *self, 1);
  const hdf5::FileLayout layout = hdf5::describe_file(folder / "step-00000003/model.h5");
  const CheckpointReader reader(folder / "step-00000003", *self, Verify::full);
  for (const LogicalTensor& tensor : model_tensors()) {
    const hdf5::Extent* dataset = layout.find(tensor.path);
    ASSERT_NE(dataset, nullptr) << tensor.path;
    EXPECT_EQ(dataset->element, hdf5::element_of(tensor.dtype));
    EXPECT_EQ(dataset->extents, std::vector(tensor.shape.begin(), tensor.shape.end()));
    EXPECT_EQ(dataset->offset, reader.manifest().find(tensor.path)->segments.at(0).offset);
  }
  const hdf5::FileLayout optimizer = hdf5::describe_file(folder / "step-00000003/optimizer.h5");
  EXPECT_EQ(optimizer.find("/optimizer/large")->offset % (1 << 20), 0) << "large tensors are aligned";
  EXPECT_EQ(optimizer.find("/optimizer/none")->count(), 0);
  EXPECT_EQ(slurp(folder / "latest"), "step-00000003\n");
}

TEST(CheckpointTest, ReadableFromPythonAndH5dump) {
  if (std::system("/usr/bin/python3 -c 'import h5py' 2>/dev/null") != 0)
    GTEST_SKIP() << "python3 with h5py is not here";
  const TemporaryFolder folder;
  const auto self = make_self_communicator();
  const std::vector<LogicalTensor> tensors{{"/model/a", {2, 2}, DType::bf16, {"layers.0", "layers.1"}},
                                           {"/model/b", {3}, DType::f16, {}},
                                           {"/model/c", {}, DType::f64, {}}};
  CheckpointWriter writer({folder.path(), 1, {}, 0, {}}, *self);
  writer.declare("model.h5", tensors);
  const std::array<std::uint16_t, 4> a{0x3f80, 0xc000, 0x3e80, 0x4049};  // 1, -2, 0.25, 3.140625
  const std::array<std::uint16_t, 3> b{0x3c00, 0xc000, 0x3555};          // 1, -2, 0.333
  const double c = 1.5;
  const auto write = [&](int tensor, const void* data) {
    const Shape& shape = tensors[static_cast<std::size_t>(tensor)].shape;
    const Piece piece{tensor, whole(shape), data, dense_strides(shape)};
    writer.write({&piece, 1});
  };
  write(0, a.data());
  write(1, b.data());
  write(2, &c);
  writer.commit();
  spill(folder / "read.py",
        "import h5py, sys\n"
        "f = h5py.File(sys.argv[1], 'r')\n"
        "assert f['model/a'][:].tolist() == [[1, -2], [0.25, 3.140625]], f['model/a'][:]\n"
        "assert f['model/b'].dtype == 'float16' and f['model/b'][1] == -2\n"
        "assert f['model/c'][()] == 1.5\n"
        "assert list(f['model/a'].attrs['stack']) == [b'layers.0', b'layers.1']\n"
        "assert f.attrs['step'] == 1\n");
  const std::string file = (folder / "step-00000001/model.h5").native();
  EXPECT_EQ(std::system(("/usr/bin/python3 " + (folder / "read.py").native() + " " + file).c_str()), 0);
  if (std::system("command -v h5dump >/dev/null") == 0) {
    EXPECT_EQ(std::system(("h5dump " + file + " | grep -q '0.25, 3.14062'").c_str()), 0);
  }
}

TEST(CheckpointTest, SeveralFilesAreJoinedForOtherPrograms) {
  if (std::system("/usr/bin/python3 -c 'import h5py' 2>/dev/null") != 0)
    GTEST_SKIP() << "python3 with h5py is not here";
  const TemporaryFolder folder;
  const auto self = make_self_communicator();
  const std::vector<LogicalTensor> tensors{{"/model/layers/a", {5, 2}, DType::f32, {"0", "1", "2", "3", "4"}},
                                           {"/model/c", {}, DType::f64, {}},
                                           {"/model/none", {0, 3}, DType::f32, {}}};
  CheckpointWriter writer({folder.path(), 1, {}, 0, {}, 3}, *self);
  writer.declare("model.h5", tensors);
  const std::array<float, 10> a{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const double c = 1.5;
  const std::array<Piece, 2> pieces{Piece{0, whole({5, 2}), a.data(), dense_strides({5, 2})},
                                    Piece{1, whole({}), &c, dense_strides({})}};
  writer.write(pieces);
  writer.commit();
  for (const char* name : {"model.000.h5", "model.001.h5", "model.002.h5", "model.h5"})
    EXPECT_TRUE(std::filesystem::exists(folder / "step-00000001" / name)) << name;
  spill(folder / "read.py",
        "import h5py, sys\n"
        "f = h5py.File(sys.argv[1], 'r')\n"
        "assert f['model/layers/a'][:].flatten().tolist() == list(range(10)), f['model/layers/a'][:]\n"
        "assert list(f['model/layers/a'].attrs['stack']) == [b'0', b'1', b'2', b'3', b'4']\n"
        "assert f['model/c'][()] == 1.5\n"
        "assert f['model/none'].shape == (0, 3)\n");
  const std::string file = (folder / "step-00000001/model.h5").native();
  EXPECT_EQ(std::system(("cd / && /usr/bin/python3 " + (folder / "read.py").native() + " " + file).c_str()), 0);
  std::filesystem::remove(folder / "step-00000001/model.001.h5");
  expect_error(ErrorKind::not_found, "model.001.h5",
               [&] { CheckpointReader(folder / "step-00000001", *self, Verify::sizes); });
}

TEST(CheckpointTest, RowsOfSegments) {
  const auto text_of = [](const Shape& shape, int files) {
    std::string text;
    for (const Segment& segment : cut_rows(shape, segment_files("m.h5", files)))
      text += segment.file + ":" + std::to_string(segment.first_row) + "+" + std::to_string(segment.rows) + " ";
    return text;
  };
  EXPECT_EQ(text_of({7, 2}, 1), "m.h5:0+7 ");
  EXPECT_EQ(text_of({7, 2}, 3), "m.000.h5:0+3 m.001.h5:3+3 m.002.h5:6+1 ");
  EXPECT_EQ(text_of({4}, 3), "m.000.h5:0+2 m.001.h5:2+2 ");
  EXPECT_EQ(text_of({0, 5}, 3), "m.000.h5:0+0 ");
  EXPECT_EQ(text_of({}, 3), "m.000.h5:0+1 ");
}

TEST(CheckpointTest, KeepsTheNewestOnes) {
  const TemporaryFolder folder;
  run_ranks(2, [&](Communicator& ranks) {
    for (const std::int64_t step : {1, 2, 3, 30}) save({folder.path(), step, {}, 0, {}}, ranks, 1);
    const SaveReport report = save({folder.path(), 4, {}, 2, {}}, ranks, 1);
    if (ranks.rank() == 0) {
      EXPECT_EQ(report.removed,
                (std::vector<std::filesystem::path>{folder / "step-00000002", folder / "step-00000001"}));
    }
  });
  std::vector<std::int64_t> steps;
  for (const CheckpointFolder& entry : list_checkpoints(folder.path())) steps.push_back(entry.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{30, 4, 3})) << "newer ones are of another run and stay";
}

TEST(CheckpointTest, ASecondSaveOfAStepReplacesTheFirst) {
  const TemporaryFolder folder;
  const auto self = make_self_communicator();
  save({folder.path(), 5, {}, 0, {}}, *self, 1);
  spill(folder / "step-00000005/model.h5", "damaged");
  save({folder.path(), 5, {}, 0, {}}, *self, 2);
  load_and_compare(CheckpointReader(folder / "step-00000005", *self, Verify::full), *self, 3);
  EXPECT_FALSE(std::filesystem::exists(folder / "step-00000005.tmp"));
}

TEST(CheckpointTest, SaysWhatDoesNotFit) {
  const TemporaryFolder folder;
  const auto self = make_self_communicator();
  save({folder.path(), 1, {}, 0, {}}, *self, 1);
  const CheckpointReader reader(folder / "step-00000001", *self, Verify::sizes);
  std::vector<LogicalTensor> wanted = all_tensors();
  wanted[0].shape = {37, 13};
  wanted[1].stack.back() = "layers.9";
  wanted[2].dtype = DType::f32;
  wanted[3].path = "/model/new";
  try {
    reader.expect(wanted);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    using testing::HasSubstr;
    EXPECT_THAT(error.what(), HasSubstr("/model/embedding is f32 [37, 12], the model needs f32 [37, 13]"));
    EXPECT_THAT(error.what(), HasSubstr("/model/layers/attention.q stacks other layers"));
    EXPECT_THAT(error.what(), HasSubstr("/model/norm is bf16 [19], the model needs f32 [19]"));
    EXPECT_THAT(error.what(), HasSubstr("/model/new (f16 [5, 3]) is missing"));
    EXPECT_THAT(error.what(), HasSubstr("/model/half (f16 [5, 3]) is left over"));
  }
  std::vector<Digest> digests(9);
  expect_error(ErrorKind::data, "/model/embedding has digest 00000000000000000000000000000000 in memory",
               [&] { reader.check_digests(digests, *self); });
}

// Acceptance case B51: rows per rank 0, 1, 1000 and 7; none is lost, none is left as fill.
TEST(CheckpointTest, UnevenRowsIncludingNone) {
  const TemporaryFolder folder;
  const LogicalTensor tensor{"/model/w", {1008, 37}, DType::f32, {}};
  const std::array<std::int64_t, 5> starts{0, 0, 1, 1001, 1008};
  run_ranks(4, [&](Communicator& ranks) {
    const std::int64_t first = starts[static_cast<std::size_t>(ranks.rank())];
    const std::int64_t rows = starts[static_cast<std::size_t>(ranks.rank()) + 1] - first;
    CheckpointWriter writer({folder.path(), 1, {}, 0, {}}, ranks);
    writer.declare("model.h5", {&tensor, 1});
    Holding holding(tensor, 0, {{first, 0}, {rows, 37}}, 0);
    holding.fill();
    const Piece piece = holding.piece();
    writer.write({&piece, 1});
    writer.commit();
  });
  for (const int readers : {1, 2, 3, 8}) {
    run_ranks(readers, [&](Communicator& ranks) {
      const CheckpointReader reader(folder / "step-00000001", ranks, Verify::full);
      const std::int64_t first = 1008 * ranks.rank() / ranks.size();
      Holding holding(tensor, 0, {{first, 0}, {1008 * (ranks.rank() + 1) / ranks.size() - first, 37}}, 0);
      reader.read(0, holding.box, holding.bytes.data(), holding.strides);
      EXPECT_EQ(holding.wrong(), 0);
    });
  }
}

}  // namespace
}  // namespace tessera::io
