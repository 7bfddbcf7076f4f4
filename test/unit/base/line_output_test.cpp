// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/line_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include <fmt/core.h>

namespace tessera {
namespace {

/// What has been written to the other end by now.
std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  for (ssize_t n = 0; (n = ::read(descriptor, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(n));
  return text;
}

std::string line(int number, int dots) {
  return fmt::format("line {:04} {}\n", number, std::string(static_cast<std::size_t>(dots), '.'));
}

/// Writes more lines than the system and the output keep, then reads: whole lines in order, and how many are missing.
void expect_no_wait(int reading, LineOutput& output, int dots = 400) {
  constexpr int lines = 2000;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < lines; ++i) output.write(line(i, dots));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  std::string text = read_all(reading);
  for (int round = 0; round < 20; ++round) {
    output.write("");
    text += read_all(reading);
  }
  output.write("last\n");
  text += read_all(reading);
  int number = 0;
  while (text.starts_with(line(number, dots))) text.erase(0, line(number++, dots).size());
  EXPECT_GT(number, 0);
  EXPECT_LT(number, lines);
  EXPECT_EQ(text, fmt::format("tessera: {} lines are left out here: nobody took them\nlast\n", lines - number));
  EXPECT_FALSE(output.failed());
}

void expect_no_wait(int reading, int writing) {
  LineOutput output(writing);
  expect_no_wait(reading, output);
}

/// As where standard output is a pipe of another user, which cannot be opened once more.
TEST(LineOutput, DoesNotWaitForAPipeThatCannotBeOpenedAgain) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{3, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  LineOutput output(ends[1]);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  expect_no_wait(ends[0], output, 5000);  // a line is more than the last free page of a pipe takes
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(LineOutput, DoesNotWaitForThePipeThatNobodyReads) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  expect_no_wait(ends[0], ends[1]);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(LineOutput, DoesNotWaitForTheSocketThatNobodyReads) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  expect_no_wait(ends[0], ends[1]);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(LineOutput, SaysThatItsReaderHasEnded) {
  ::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  LineOutput output(ends[1]);
  output.write("a\n");
  EXPECT_FALSE(output.failed());
  ::close(ends[0]);
  output.write("b\n");
  EXPECT_TRUE(output.failed());
  ::close(ends[1]);
}

}  // namespace
}  // namespace tessera
