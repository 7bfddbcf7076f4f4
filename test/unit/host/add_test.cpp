// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class Add : public EveryFloat {};
INSTANTIATE_TEST_SUITE_P(Host, Add, every_float(), dtype_name);

TEST_P(Add, IsTheSum) {
  for (const std::int64_t count : {0, 1, 5, 513, 100003}) {
    const Values x = random(1, count), y = random(2, count);
    const KernelRun run{"add", dtype(), {{dtype(), {count}, x}, {dtype(), {count}, y}}, {{dtype(), {count}}}};
    EXPECT_TRUE(close(results_of(run)[0], reference::add(x, y), tolerance())) << count;
    EXPECT_TRUE(same_for_any_threads(run)) << count;
  }
}

TEST_P(Add, MayOverwriteItsFirstOperand) {
  const Values x = random(1, 700), y = random(2, 700);
  TensorValue target(dtype(), {700}, x);
  const TensorValue other(dtype(), {700}, y);
  const std::vector<Tensor> in{target.tensor(), other.tensor()}, out{target.tensor()};
  launch_kernel("add", dtype(), in, out);
  EXPECT_TRUE(close(target.values(), reference::add(x, y), tolerance()));
}

}  // namespace
}  // namespace tessera::test
