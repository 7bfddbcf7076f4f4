// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error_matchers.hpp"
#include "io/path_lock.hpp"
#include "temporary_folder.hpp"

namespace tessera::io {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class Output : public testing::Test {
 protected:
  std::filesystem::path file(const char* name) {
    File(folder_.path() / name, Access::create).append(name);
    return folder_.path() / name;
  }

  TemporaryFolder folder_;
};

TEST_F(Output, NewAndOldFilesAreGood) {
  const std::filesystem::path inputs[] = {file("input"), "", folder_.path() / "missing"};
  check_output(folder_.path() / "new", inputs);
  check_output(file("old"), inputs);
}

TEST_F(Output, AnInputIsRefusedUnderEachOfItsNames) {
  const std::filesystem::path inputs[] = {file("input")};
  std::filesystem::create_symlink("input", folder_.path() / "link");
  std::filesystem::create_hard_link(inputs[0], folder_.path() / "twin");
  for (const char* name : {"input", "link", "twin", "./input"})
    expect_error(ErrorKind::cannot_create, "is an input", [&] { check_output(folder_.path() / name, inputs); });
}

TEST_F(Output, FoldersDevicesAndPipesAreRefused) {
  ASSERT_EQ(::mkfifo((folder_.path() / "pipe").c_str(), 0600), 0);
  for (const std::filesystem::path& path :
       {folder_.path(), folder_.path() / "pipe", std::filesystem::path("/dev/null")})
    expect_error(ErrorKind::cannot_create, path.native(), [&] { check_output(path); });
}

TEST_F(Output, FoldersAreMadeOrRefused) {
  make_folder(folder_.path() / "a/b");
  make_folder(folder_.path() / "a/b");
  EXPECT_TRUE(std::filesystem::is_directory(folder_.path() / "a/b"));
  for (const std::filesystem::path& path : {file("file"), folder_.path() / "file/inside"})
    expect_error(ErrorKind::cannot_create, path.native(), [&] { make_folder(path); });
}

TEST_F(Output, FilesThatCannotHaveBytesAreRefused) {
  ASSERT_EQ(::mkfifo((folder_.path() / "pipe").c_str(), 0600), 0);
  expect_error(ErrorKind::not_found, "pipe is no regular file", [&] { File(folder_.path() / "pipe", Access::read); });
  expect_error(ErrorKind::not_found, "cannot open", [&] { File(folder_.path(), Access::read); });
  expect_error(ErrorKind::cannot_create, "missing/x", [&] { File(folder_.path() / "missing/x", Access::create); });
}

TEST_F(Output, AFileWithoutANameIsKnown) {
  const File opened(file("x"), Access::read);
  EXPECT_TRUE(opened.exists());
  std::filesystem::remove(opened.path());
  EXPECT_FALSE(opened.exists());
}

TEST_F(Output, ALockKeepsASecondOneAwayAndNamesTheFirst) {
  const std::filesystem::path path = folder_.path() / "lock";
  {
    const PathLock first(path, folder_.path(), milliseconds(0));
    expect_error(ErrorKind::cannot_create, " is in use by process " + std::to_string(::getpid()) + " on ",
                 [&] { PathLock(path, folder_.path(), milliseconds(60)); });
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  const PathLock again(path, folder_.path(), milliseconds(0));
}

TEST_F(Output, AFileThatWasLeftOverLocksNobodyOut) {
  File(folder_.path() / "lock", Access::create).append("process 1 on another\n");
  const PathLock lock(folder_.path() / "lock", folder_.path(), milliseconds(0));
  EXPECT_THAT(read_text(folder_.path() / "lock", 1000), HasSubstr("process " + std::to_string(::getpid())));
}

TEST_F(Output, AFileThatIsNoLockIsLeftAlone) {
  const std::filesystem::path foreign = file("notes"), link = folder_.path() / "lock";
  const auto lock = [&](const std::filesystem::path& path) {
    expect_error(ErrorKind::cannot_create, "is no lock", [&] { PathLock(path, folder_.path(), milliseconds(0)); });
  };
  lock(foreign);
  std::filesystem::create_symlink(foreign, link);
  lock(link);
  std::filesystem::remove(link);
  std::filesystem::create_symlink(folder_.path() / "nowhere", link);
  lock(link);
  ASSERT_EQ(::mkfifo((folder_.path() / "pipe").c_str(), 0600), 0);
  lock(folder_.path() / "pipe");
  EXPECT_EQ(read_text(foreign, 1000), "notes");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "nowhere"));
}

TEST_F(Output, APlaceWhereNoLockCanBe) {
  expect_error(ErrorKind::cannot_create, "missing",
               [&] { PathLock(folder_.path() / "missing/lock", folder_.path(), milliseconds(0)); });
}

}  // namespace
}  // namespace tessera::io
