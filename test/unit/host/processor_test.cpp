// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/processor.hpp"

#include <gtest/gtest.h>

namespace tessera::host {
namespace {

constexpr auto k_avx = static_cast<std::uint32_t>(Instructions::avx);
constexpr auto k_fma = static_cast<std::uint32_t>(Instructions::fma);
constexpr auto k_avx512f = static_cast<std::uint32_t>(Instructions::avx512f);

TEST(Processor, RunsTheKernelsOfItsOwnBuild) {
  EXPECT_NO_THROW(check_processor());
  EXPECT_EQ(missing_instructions(k_kernel_instructions, processor_instructions()), "");
}

TEST(Processor, NamesWhatIsMissing) {
  EXPECT_EQ(missing_instructions(k_avx | k_fma | k_avx512f, k_avx), "fma, avx512f");
  EXPECT_EQ(missing_instructions(k_avx, k_avx | k_fma | k_avx512f), "");
}

}  // namespace
}  // namespace tessera::host
