// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.hpp"

#include <gmock/gmock.h>

#include <regex>
#include <sstream>
#include <thread>

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// What is written to stderr while the action runs.
template <class Action>
std::string shown(Action action) {
  testing::internal::CaptureStderr();
  action();
  return testing::internal::GetCapturedStderr();
}

class Log : public testing::Test {
 protected:
  void TearDown() override {
    set_log_rank(0, 1);
    set_log_level(Severity::info);
  }
};

TEST_F(Log, ALineHasTimeSeverityTopicAndText) {
  const std::string line = shown([] { log_info("config", "12 options set"); });
  EXPECT_TRUE(
      std::regex_match(line, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info config: 12 options set\n)")))
      << line;
}

TEST_F(Log, InfoComesFromRankZeroAndWarningsFromAll) {
  set_log_rank(3, 8);
  EXPECT_THAT(shown([] { log_info("a", "quiet"); }), IsEmpty());
  EXPECT_THAT(shown([] { log_warning("a", "loud"); }), HasSubstr("Z warning rank 3/8 a: loud\n"));
  EXPECT_FALSE(log_enabled(Severity::info));
  set_log_rank(0, 8);
  EXPECT_THAT(shown([] { log_info("a", "heard"); }), HasSubstr("Z info rank 0/8 a: heard\n"));
}

TEST_F(Log, LevelHidesWhatIsLessSevere) {
  EXPECT_THAT(shown([] { log_debug("a", "hidden"); }), IsEmpty());
  set_log_level(Severity::debug);
  EXPECT_THAT(shown([] { log_debug("a", "shown"); }), HasSubstr("debug a: shown"));
  set_log_level(Severity::error);
  EXPECT_THAT(shown([] { log_warning("a", "hidden"); }), IsEmpty());
}

TEST_F(Log, RanksThatAreThreadsHaveTheirOwnNumbers) {
  const std::string text = shown([] {
    std::thread other([] {
      const LogRankScope scope(1, 2);
      log_info("a", "from one");
      log_error("a", "trouble");
    });
    other.join();
    log_info("a", "from main");
  });
  EXPECT_THAT(text, Not(HasSubstr("from one")));
  EXPECT_THAT(text, HasSubstr("error rank 1/2 a: trouble"));
  EXPECT_THAT(text, HasSubstr("info a: from main"));
}

TEST_F(Log, LinesOfManyThreadsDoNotMix) {
  const std::string text = shown([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([i] {
        for (int j = 0; j < 100; ++j) log_info("thread", std::string(40, static_cast<char>('a' + i)));
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::string word = line.substr(line.find(": ") + 2);
    EXPECT_EQ(word, std::string(40, word[0]));
  }
  EXPECT_EQ(count, 400);
}

TEST_F(Log, NoColourWhenItIsNotATerminal) {
  EXPECT_THAT(shown([] { log_error("a", "plain"); }), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace tessera
