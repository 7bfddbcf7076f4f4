// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class RowBlocks : public EveryFloat {};
INSTANTIATE_TEST_SUITE_P(Host, RowBlocks, every_float(), dtype_name);

constexpr std::int64_t k_first = 3, k_second = 2, k_rows = 4, k_width = 5;
const Shape k_blocks{k_first, k_second, k_rows, k_width};
const Values k_counts{2, 0, 4, 1, 0, 3};

/// The rows that are there, blocks in the order of `outer` and then of the other dim.
Values packed_by_hand(const Values& blocks, int outer) {
  Values packed;
  const std::int64_t slow = outer == 0 ? k_first : k_second, fast = outer == 0 ? k_second : k_first;
  for (std::int64_t o = 0; o < slow; ++o)
    for (std::int64_t i = 0; i < fast; ++i) {
      const std::int64_t block = outer == 0 ? o * k_second + i : i * k_second + o;
      const auto begin = blocks.begin() + block * k_rows * k_width;
      packed.insert(packed.end(), begin,
                    begin + static_cast<std::int64_t>(k_counts[static_cast<std::size_t>(block)]) * k_width);
    }
  return packed;
}

TEST_P(RowBlocks, OnlyRowsThatAreThereArePackedAndUnpacked) {
  const Values blocks = random(1, k_blocks.count());
  for (const int outer : {0, 1}) {
    const Attributes record = Attributes::of(attributes::RowBlocks{outer});
    const TensorValue counts(DType::i32, {k_first, k_second}, k_counts);
    const KernelRun pack{"pack_rows", DType::i64, {{dtype(), k_blocks, blocks}, counts}, {{dtype(), k_blocks}}, record};
    const Values packed = packed_by_hand(blocks, outer);
    Values result = results_of(pack)[0];
    EXPECT_TRUE(std::equal(packed.begin(), packed.end(), result.begin())) << "outer dim " << outer;
    EXPECT_TRUE(same_for_any_threads(pack));

    result.resize(packed.size());
    result.resize(static_cast<std::size_t>(k_blocks.count()), -7.0);
    const KernelRun unpack{"unpack_rows",
                           DType::i64,
                           {{dtype(), k_blocks, result}, counts},
                           {{dtype(), k_blocks, Values(result.size(), 9)}},
                           record};
    const Values back = results_of(unpack)[0];
    for (std::int64_t i = 0; i < k_blocks.count(); ++i) {
      const auto count = static_cast<std::int64_t>(k_counts[static_cast<std::size_t>(i / (k_rows * k_width))]);
      const bool used = i / k_width % k_rows < count;
      EXPECT_EQ(back[static_cast<std::size_t>(i)], used ? blocks[static_cast<std::size_t>(i)] : 9) << i;
    }
    EXPECT_TRUE(same_for_any_threads(unpack));
  }
}

}  // namespace
}  // namespace tessera::test
