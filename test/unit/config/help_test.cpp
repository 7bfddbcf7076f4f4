// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/help.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "core/config/core_options.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Help, ShowsWhatIsNeededToSetAnOption) {
  const std::string text = help_text(core_options(), {.width = 1000});
  EXPECT_THAT(text, HasSubstr("\n[model]\n  --model.architecture  llama|gpt\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  --model.layers  integer 1..10000\n      Transformer layers. (default: 12) Also --num-layers.\n"));
  EXPECT_THAT(text, HasSubstr("(default: that of model.heads)"));
  EXPECT_THAT(text, HasSubstr("(default: on if model.architecture=gpt, else off)"));
  EXPECT_THAT(text, HasSubstr("--zero.stage  integer 0..3"));
  EXPECT_THAT(text, HasSubstr("Used when strategy.data=zero."));
  EXPECT_THAT(text, HasSubstr("0 nothing. [not in this version] (default: 1)"));
  EXPECT_THAT(text, HasSubstr("[this version: fp32, fp64 only]"));
}

TEST(Help, LevelsSectionsAndWidth) {
  EXPECT_THAT(help_text(core_options()), Not(HasSubstr("bucket_bytes")));
  EXPECT_THAT(help_text(core_options(), {.level = OptionLevel::tuning}), HasSubstr("bucket_bytes"));
  const std::string lr = help_text(core_options(), {.section = "lr", .width = 60});
  EXPECT_THAT(lr, Not(HasSubstr("[model]")));
  EXPECT_THAT(lr, HasSubstr("[lr]"));
  std::istringstream lines(lr);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("      ")) {
      EXPECT_LE(line.size(), 60U) << line;
    }
  }
}

}  // namespace
}  // namespace tessera
