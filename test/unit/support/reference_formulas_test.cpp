// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The formulas here and those of test/data/reference_formulas.py give the same numbers.
#include "test/support/reference_formulas.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace tessera::reference {
namespace {

using nlohmann::json;

json read_reference() {
  std::ifstream file(TESSERA_TEST_DATA "/reference_steps.json");
  return json::parse(file);
}

TEST(ReferenceFormulas, InitialValuesEqualThoseOfTheScript) {
  const json golden = read_reference().at("golden").at("initial");
  ASSERT_GE(golden.size(), 10U);
  for (const json& entry : golden) {
    const auto field = entry.at("field").get<std::string>();
    EXPECT_DOUBLE_EQ(initial_value(field, entry.at("layer"), entry.at("element")), entry.at("value").get<double>())
        << entry;
  }
}

TEST(ReferenceFormulas, TokensEqualThoseOfTheScript) {
  const json golden = read_reference().at("golden").at("token");
  ASSERT_GE(golden.size(), 5U);
  for (const json& entry : golden) {
    EXPECT_EQ(token(entry.at("step"), entry.at("column"), entry.at("position")), entry.at("value").get<int>()) << entry;
  }
}

TEST(ReferenceFormulas, MasksEqualThoseOfTheScript) {
  const json reference = read_reference();
  ASSERT_GE(reference.at("golden").at("mask").size(), 5U);
  for (const json& entry : reference.at("golden").at("mask")) {
    const bool expected = entry.at("value");
    EXPECT_EQ(target_counts(entry.at("step"), entry.at("column"), entry.at("position")), expected) << entry;
  }
}

TEST(ReferenceFormulas, NumberOfCountedTargetsOfEachStepEqualsThatOfTheScript) {
  const json valid_tokens = read_reference().at("valid_tokens");
  ASSERT_EQ(valid_tokens.size(), 10U);
  for (int step = 1; step <= 10; ++step) {
    int count = 0;
    for (std::int64_t column = 0; column < k_global_batch; ++column) {
      for (std::int64_t position = 0; position < k_sequence; ++position) {
        count += target_counts(step, column, position) ? 1 : 0;
      }
    }
    EXPECT_EQ(count, valid_tokens.at(static_cast<std::size_t>(step - 1)).get<int>()) << "step " << step;
  }
}

TEST(ReferenceFormulas, ProjectionWeightsEqualThoseOfTheScript) {
  const json golden = read_reference().at("golden").at("projection");
  ASSERT_GE(golden.size(), 2U);
  for (const json& entry : golden) {
    const auto field = entry.at("field").get<std::string>();
    EXPECT_DOUBLE_EQ(projection_weight(field, entry.at("layer"), entry.at("element")), entry.at("value").get<double>())
        << entry;
  }
}

}  // namespace
}  // namespace tessera::reference
