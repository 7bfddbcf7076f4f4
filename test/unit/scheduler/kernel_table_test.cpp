// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Choices among the variants of kernels: their text, and which kernel a plan gets.
#include "core/scheduler/kernel_table.hpp"

#include <gtest/gtest.h>

#include <array>

#include "core/base/error.hpp"

namespace tessera::test {
namespace {

constexpr std::string_view k_text =
    "tessera kernels 1\n"
    "linear f32 2 8x16 4x16 narrow\n"
    "linear_dw f32 1 6x4 6x16 other\n"
    "end\n";

void usual(const KernelCall&) {}
void narrow(const KernelCall&) {}
constexpr std::array k_entries{KernelEntry{"linear", DType::f32, usual},
                               KernelEntry{"linear", DType::f32, narrow, nullptr, 0, "narrow"},
                               KernelEntry{"linear", DType::f64, usual}};

std::array<Tensor, 2> inputs(Shape x) {
  return {Tensor{nullptr, x, {}, DType::f32}, Tensor{nullptr, {4, 16}, {}, DType::f32}};
}

std::string problem_of(std::string_view text) {
  try {
    KernelChoices::parse(text, "table.txt");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return {};
}

TEST(KernelChoices, TextGoesThereAndBack) {
  const KernelChoices choices = KernelChoices::parse(k_text, "table.txt");
  EXPECT_EQ(choices.find("linear f32 2 8x16 4x16"), "narrow");
  EXPECT_EQ(choices.find("linear f32 1 8x16 4x16"), "");
  EXPECT_EQ(choices.text(), k_text);
  EXPECT_TRUE(KernelChoices::parse(KernelChoices().text(), "none").empty());
}

TEST(KernelChoices, CommentsBlanksAndOtherLineEndsAreNothing) {
  const KernelChoices choices = KernelChoices::parse(
      "# made here\r\n\ntessera kernels 1\r\nlinear f32 1 2x3 4x3 narrow  # why\r\nend\r\n", "table.txt");
  EXPECT_EQ(choices.text(), "tessera kernels 1\nlinear f32 1 2x3 4x3 narrow\nend\n");
}

TEST(KernelChoices, ProblemsNameTheLine) {
  EXPECT_EQ(problem_of(""), "table.txt: line 1: it does not begin with 'tessera kernels 1'");
  EXPECT_EQ(problem_of("\ntessera kernels 2\n"), "table.txt: line 2: it does not begin with 'tessera kernels 1'");
  EXPECT_NE(problem_of("tessera kernels 1\nlinear f32 2 narrow").find("line 2: expected:"), std::string::npos);
  EXPECT_NE(problem_of("tessera kernels 1\nlinear f32  2 1x1 narrow").find("line 2: expected:"), std::string::npos);
  const std::string rows(k_text.substr(0, k_text.rfind("end")));
  EXPECT_EQ(problem_of(rows + "linear f32 2 8x16 4x16 other\nend\n"),
            "table.txt: line 4: a second choice for 'linear f32 2 8x16 4x16'");
  EXPECT_EQ(problem_of(rows), "table.txt: line 4: it is cut: it does not end with 'end'");
  EXPECT_EQ(problem_of(std::string(k_text) + "linear f32 1 1x1 1x1 other\n"),
            "table.txt: line 5: there is more behind 'end'");
}

TEST(KernelChoices, RowsAreAllDimsButTheLast) {
  EXPECT_EQ(choice_key("linear", DType::f32, 2, inputs({2, 4, 16})), "linear f32 2 8x16 4x16");
  EXPECT_EQ(choice_key("linear", DType::f32, 2, inputs({8, 16})), "linear f32 2 8x16 4x16");
  EXPECT_EQ(choice_key("linear", DType::f32, 2, inputs({0, 16})), "linear f32 2 0x16 4x16");
  EXPECT_EQ(choice_key("linear", DType::f32, 2, inputs({7, 0})), "linear f32 2 0x0 4x16");
  EXPECT_EQ(choice_key("linear", DType::f32, 2, inputs({})), "linear f32 2 1x1 4x16");
}

TEST(KernelTable, TakesTheChosenVariantForItsShapesAndThreadsOnly) {
  KernelTable table;
  table.add(k_entries);
  EXPECT_EQ(table.find("linear", DType::f32, 2, inputs({8, 16})).launch, usual);
  table.choose(KernelChoices::parse("tessera kernels 1\nlinear f32 2 8x16 4x16 narrow\nend\n", "table.txt"));
  EXPECT_EQ(table.find("linear", DType::f32, 2, inputs({8, 16})).launch, narrow);
  EXPECT_EQ(table.find("linear", DType::f32, 2, inputs({2, 4, 16})).launch, narrow);
  EXPECT_EQ(table.find("linear", DType::f32, 1, inputs({8, 16})).launch, usual);
  EXPECT_EQ(table.find("linear", DType::f32, 2, inputs({9, 16})).launch, usual);
  EXPECT_EQ(table.find("linear", DType::f32).launch, usual);
  ASSERT_EQ(table.variants("linear", DType::f32).size(), 2U);
  EXPECT_EQ(table.variants("linear", DType::f32).front()->launch, usual);
}

TEST(KernelTable, RefusesWhatIsNotThereOrThereTwice) {
  KernelTable table;
  table.add(k_entries);
  EXPECT_THROW(table.add(std::span(k_entries).subspan(1, 1)), Error);
  for (const char* line :
       {"linear f64 2 8x16 4x16 narrow", "linear f32 2 8x16 4x16 fast", "linea f32 2 8x16 4x16 narrow"})
    try {
      table.choose(KernelChoices::parse(std::string("tessera kernels 1\n") + line + "\nend\n", "table.txt"));
      ADD_FAILURE() << line << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::configuration);
      EXPECT_NE(std::string(error.what()).find(line), std::string::npos) << error.what();
    }
  EXPECT_THROW(table.find("linear_dx", DType::f32), Error);
}

}  // namespace
}  // namespace tessera::test
