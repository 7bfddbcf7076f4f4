// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>

#include "checkpoint_fixture.hpp"
#include "core/comm/self_communicator.hpp"
#include "core/comm/thread_communicator.hpp"
#include "error_matchers.hpp"
#include "io/checkpoint/together.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/folders.hpp"
#include "temporary_folder.hpp"

namespace tessera::io {
namespace {

constexpr std::string_view k_steps[] = {"open",   "declare",  "write",  "agree",  "sync",
                                        "verify", "manifest", "rename", "latest", "prune"};

/// From this step on the new checkpoint counts.
bool counts_after(std::string_view step) {
  return step == "latest" || step == "prune";
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

/// The newest whole checkpoint's step; every byte of it is checked.
std::int64_t newest_step(const std::filesystem::path& folder, std::vector<std::string>* passed_over = nullptr) {
  const auto self = make_self_communicator();
  std::vector<std::string> sentences;
  const auto reader = CheckpointReader::newest(folder, *self, Verify::full, sentences);
  if (passed_over != nullptr) *passed_over = sentences;
  return reader ? reader->manifest().step : -1;
}

// One rank fails at a step: all ranks throw the same error, nothing is left, the older checkpoint is whole.
TEST(CheckpointFailureTest, ARankFailsAtEachStep) {
  for (const std::string_view step : k_steps) {
    for (const int failing : {0, 2}) {
      const TemporaryFolder folder;
      std::mutex mutex;
      std::vector<std::string> messages;
      run_ranks(3, [&](Communicator& ranks) {
        save({folder.path(), 1, {}, 0, {}}, ranks, 1);
        SaveOptions options{folder.path(), 2, {}, 0, {}};
        options.observer = [&](std::string_view at) {
          if (at == step && ranks.rank() == failing) throw Error(ErrorKind::io, "the disk is on fire");
        };
        try {
          save(options, ranks, 1);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::io);
          const std::lock_guard lock(mutex);
          messages.push_back(error.what());
        }
      });
      const bool only_root = step == "open" || step == "declare" || step == "verify" || step == "manifest" ||
                             step == "rename" || counts_after(step);
      if (only_root && failing != 0) {
        EXPECT_EQ(messages.size(), 0U) << step;
        continue;
      }
      const std::string expected = "rank " + std::to_string(failing) + ": the disk is on fire";
      EXPECT_EQ(messages, std::vector<std::string>(3, expected)) << step;
      std::vector<std::string> left{"latest", "step-00000001"};
      if (counts_after(step)) left.push_back("step-00000002");
      EXPECT_EQ(names_in(folder.path()), left) << step;
      EXPECT_EQ(newest_step(folder.path()), counts_after(step) ? 2 : 1) << step;
    }
  }
}

// The process is gone at a step, without any cleaning up: the older checkpoint is found, the next save cleans.
TEST(CheckpointFailureTest, KilledAtEachStep) {
  for (const std::string_view step : k_steps) {
    const TemporaryFolder folder;
    const pid_t child = fork();
    if (child == 0) {
      const auto self = make_self_communicator();
      save({folder.path(), 1, {}, 0, {}}, *self, 1);
      SaveOptions options{folder.path(), 2, {}, 1, {}};
      options.observer = [&](std::string_view at) {
        if (at == step) _exit(42);
      };
      save(options, *self, 1);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(WEXITSTATUS(status), 42) << step;
    std::vector<std::string> passed_over;
    EXPECT_EQ(newest_step(folder.path(), &passed_over), counts_after(step) ? 2 : 1) << step;
    EXPECT_THAT(passed_over, testing::IsEmpty());
    const auto self = make_self_communicator();
    save({folder.path(), 3, {}, 1, {}}, *self, 1);
    EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"latest", "step-00000003"})) << step;
  }
}

TEST(CheckpointFailureTest, ASaveThatIsGivenUpLeavesNothing) {
  const TemporaryFolder folder;
  run_ranks(2, [&](Communicator& ranks) {
    CheckpointWriter writer({folder.path(), 1, {}, 0, {}}, ranks);
    writer.declare("model.h5", model_tensors());
  });
  EXPECT_THAT(names_in(folder.path()), testing::IsEmpty());
}

TEST(CheckpointFailureTest, EveryElementMustBeWrittenOnce) {
  const TemporaryFolder folder;
  const auto self = make_self_communicator();
  const LogicalTensor tensor{"/model/w", {4}, DType::f32, {}};
  const std::array<float, 4> values{1, 2, 3, 4};
  const auto attempt = [&](std::vector<Box> boxes) {
    CheckpointWriter writer({folder.path(), 1, {}, 0, {}}, *self);
    writer.declare("model.h5", {&tensor, 1});
    for (const Box& box : boxes) {
      const Piece piece{0, box, values.data(), dense_strides(box.extent)};
      writer.write({&piece, 1});
    }
    writer.commit();
  };
  expect_error(ErrorKind::internal, "/model/w [4] has 4 elements, the ranks wrote 3", [&] { attempt({{{0}, {3}}}); });
  expect_error(ErrorKind::io, "/model/w was read back", [&] { attempt({{{0}, {2}}, {{1}, {2}}}); });
  expect_error(ErrorKind::internal, "[2:5] of /model/w [4]", [&] { attempt({{{2}, {3}}}); });
  EXPECT_NO_THROW(attempt({{{0}, {4}}}));
}

TEST(CheckpointFailureTest, RanksMustDeclareTheSame) {
  const TemporaryFolder folder;
  std::atomic<int> errors = 0;
  run_ranks(3, [&](Communicator& ranks) {
    CheckpointWriter writer({folder.path(), 1, {}, 0, {}}, ranks);
    const LogicalTensor tensor{"/model/w", {ranks.rank() == 2 ? 5 : 4}, DType::f32, {}};
    expect_error(ErrorKind::disagreement, "ranks 0 and 2", [&] { writer.declare("model.h5", {&tensor, 1}); });
    ++errors;
  });
  EXPECT_EQ(errors, 3);
}

TEST(CheckpointFailureTest, DamagedOnesArePassedOver) {
  const TemporaryFolder folder;
  const auto self = make_self_communicator();
  for (const std::int64_t step : {1, 2, 3, 4, 5, 6}) save({folder.path(), step, {}, 0, {}}, *self, 1);
  std::filesystem::resize_file(folder / "step-00000006/model.h5", 1000);
  std::filesystem::remove(folder / "step-00000005/optimizer.h5");
  std::filesystem::remove(folder / "step-00000004/manifest.json");
  std::string bytes = slurp(folder / "step-00000003/optimizer.h5");
  bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 4);
  spill(folder / "step-00000003/optimizer.h5", bytes);
  std::filesystem::remove_all(folder / "step-00000002");
  std::filesystem::copy(folder / "step-00000001", folder / "step-00000002");
  spill(folder / "latest", "../../etc/passwd");
  std::vector<std::string> passed_over;
  EXPECT_EQ(newest_step(folder.path(), &passed_over), 1);
  using testing::HasSubstr;
  EXPECT_THAT(passed_over,
              testing::ElementsAre(HasSubstr("model.h5 has 1000 of "), HasSubstr("optimizer.h5: No such file"),
                                   HasSubstr("it was never completed"), HasSubstr("the checksum differs"),
                                   HasSubstr("it holds step 1")));
  run_ranks(3, [&](Communicator& ranks) {
    std::vector<std::string> sentences;
    const auto reader = CheckpointReader::newest(folder.path(), ranks, Verify::full, sentences);
    EXPECT_EQ(reader->manifest().step, 1);
    EXPECT_EQ(sentences.size(), 5U);
  });
  expect_error(ErrorKind::not_found, "No such file",
               [&] { CheckpointReader(folder / "nowhere", *self, Verify::sizes); });
  std::vector<std::string> none;
  EXPECT_FALSE(CheckpointReader::newest(folder / "nowhere", *self, Verify::sizes, none).has_value());
}

TEST(CheckpointFailureTest, EveryFlippedBitOfEveryFileIsAnError) {
  const TemporaryFolder folder;
  const auto self = make_self_communicator();
  const LogicalTensor tensor{"/model/w", {4}, DType::f32, {}};
  const std::array<float, 4> values{1, 2, 3, 4};
  {
    CheckpointWriter writer({folder.path(), 1, {}, 0, {}}, *self);
    writer.declare("model.h5", {&tensor, 1});
    const Piece piece{0, whole(tensor.shape), values.data(), dense_strides(tensor.shape)};
    writer.write({&piece, 1});
    writer.commit();
  }
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (const std::string name : {"manifest.json", "model.h5", "state.json"}) {
    const std::filesystem::path path = folder / "step-00000001" / name;
    const std::string bytes = slurp(path);
    for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
      std::string damaged = bytes;
      damaged[byte] = static_cast<char>(damaged[byte] ^ 1 << random() % 8);
      spill(path, damaged);
      expect_error(ErrorKind::data, name, [&] { CheckpointReader(folder / "step-00000001", *self, Verify::full); });
      if (testing::Test::HasFailure()) FAIL() << name << " byte " << byte << ", seed " << seed;
    }
    for (std::size_t length = random() % 7; length < bytes.size(); length += 7) {
      spill(path, bytes.substr(0, length));
      expect_error(ErrorKind::data, name, [&] { CheckpointReader(folder / "step-00000001", *self, Verify::sizes); });
    }
    spill(path, bytes);
  }
  EXPECT_NO_THROW(CheckpointReader(folder / "step-00000001", *self, Verify::full));
}

/// A file system of 16 MiB, as root only.
class SmallDisk {
 public:
  SmallDisk() : mounted_(::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=16m") == 0) {}
  ~SmallDisk() {
    if (mounted_) ::umount(folder_.path().c_str());
  }
  bool mounted() const { return mounted_; }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  bool mounted_;
};

TEST(CheckpointFailureTest, AFullDiskIsToldBeforehandAndLeavesTheOlderOne) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "only root may mount a small disk";
  run_ranks(2, [&](Communicator& ranks) {
    save({disk.path(), 1, {}, 0, {}}, ranks, 1);
    const LogicalTensor tensor{"/model/w", {32 << 20}, DType::u8, {}};
    CheckpointWriter writer({disk.path(), 2, {}, 0, {}}, ranks);
    expect_error(ErrorKind::io, "are free", [&] { writer.declare("model.h5", {&tensor, 1}); });
  });
  EXPECT_EQ(names_in(disk.path()), (std::vector<std::string>{"latest", "step-00000001"}));
  EXPECT_EQ(newest_step(disk.path()), 1);
}

// The disk fills up after the space was set aside: what else is written fails, on one rank.
TEST(CheckpointFailureTest, ADiskThatFillsUpMeanwhile) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "only root may mount a small disk";
  run_ranks(2, [&](Communicator& ranks) {
    save({disk.path(), 1, {}, 0, {}}, ranks, 1);
    SaveOptions options{disk.path(), 2, {}, 0, {}};
    options.observer = [&](std::string_view step) {
      if (step == "sync" && ranks.rank() == 0) spill(disk.path() / "hog", std::string(15 << 20, 'x'));
    };
    expect_error(ErrorKind::io, "No space left on device", [&] { save(options, ranks, 1); });
  });
  EXPECT_EQ(names_in(disk.path()), (std::vector<std::string>{"hog", "latest", "step-00000001"}));
  EXPECT_EQ(newest_step(disk.path()), 1);
}

// What cannot be removed, or is told to people only, ends no run whose checkpoint is there.
TEST(CheckpointFailureTest, WhatASaveDoesNotNeedIsAWarning) {
  const TemporaryFolder folder;
  const auto self = make_self_communicator();
  save({folder.path(), 1, {}, 1, {}}, *self, 1);
  std::filesystem::remove(folder / "latest");
  std::filesystem::create_directories(folder / "latest/of/another");
  SaveOptions options{folder.path(), 2, {}, 1, {}};
  options.observer = [&](std::string_view step) {
    if (step == "prune") std::filesystem::create_directories(folder / "step-00000001.tmp/of/another");
  };
  save(options, *self, 1);
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"latest", "step-00000001", "step-00000001.tmp", "step-00000002"}));
  EXPECT_EQ(newest_step(folder.path()), 2);
  save({folder.path(), 3, {}, 1, {}}, *self, 1);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"latest", "step-00000003"}));
}

TEST(CheckpointFailureTest, FailuresOfFileSystemsHaveTheirKinds) {
  const auto self = make_self_communicator();
  const auto fail = [&](std::errc code) {
    together(*self, [&] { throw std::filesystem::filesystem_error("status", "there", std::make_error_code(code)); });
  };
  expect_error(ErrorKind::permission, "there", [&] { fail(std::errc::permission_denied); });
  expect_error(ErrorKind::io, "there", [&] { fail(std::errc::io_error); });
}

TEST(CheckpointFailureTest, AFolderThatCannotBeMade) {
  const TemporaryFolder folder;
  spill(folder / "file", "");
  run_ranks(2, [&](Communicator& ranks) {
    try {
      CheckpointWriter writer({folder / "file", 1, {}, 0, {}}, ranks);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr((folder / "file").native()));
    }
  });
}

}  // namespace
}  // namespace tessera::io
