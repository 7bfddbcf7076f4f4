// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

class Swiglu : public EveryFloat {
 protected:
  /// Wide enough to reach the tails of the sigmoid.
  Values wide(std::uint64_t seed, std::int64_t count) const {
    Values values = random_values(seed, count);
    for (double& v : values) v *= 12;
    return rounded(dtype(), values);
  }

  KernelRun gradient(const Values& dy, const Values& gate, const Values& up) const {
    const Shape shape{static_cast<std::int64_t>(dy.size())};
    return {"swiglu_grad",
            dtype(),
            {{dtype(), shape, dy}, {dtype(), shape, gate}, {dtype(), shape, up}},
            {{dtype(), shape}, {dtype(), shape}}};
  }
};
INSTANTIATE_TEST_SUITE_P(Host, Swiglu, every_float(), dtype_name);

TEST_P(Swiglu, IsSiluOfTheGateTimesUp) {
  for (const std::int64_t count : {0, 1, 17, 2000, 70001}) {
    const Values gate = wide(1, count), up = random(2, count);
    const KernelRun run{"swiglu", dtype(), {{dtype(), {count}, gate}, {dtype(), {count}, up}}, {{dtype(), {count}}}};
    EXPECT_TRUE(close(results_of(run)[0], reference::swiglu(gate, up), tolerance())) << count;
    EXPECT_TRUE(same_for_any_threads(run)) << count;
  }
}

TEST_P(Swiglu, GradientIsTheDerivative) {
  const Values gate = wide(1, 97), up = random(2, 97), dy = random(3, 97);
  const auto results = results_of(gradient(dy, gate, up));
  const double accepted = std::max(tolerance(), 1e-9);
  EXPECT_TRUE(close(results[0], numeric_gradient([&](const Values& x) { return reference::swiglu(x, up); }, gate, dy),
                    accepted));
  EXPECT_TRUE(close(results[1], numeric_gradient([&](const Values& x) { return reference::swiglu(gate, x); }, up, dy),
                    accepted));
}

TEST_P(Swiglu, WritesOnlyOutputsThatAreRead) {
  const Values gate = wide(1, 1030), up = random(2, 1030), dy = random(3, 1030);
  KernelRun run = gradient(dy, gate, up);
  const auto both = results_of(run);
  EXPECT_TRUE(same_for_any_threads(run));
  run.out = {TensorValue::absent(dtype(), {1030}), {dtype(), {1030}}};
  EXPECT_EQ(results_of(run)[1], both[1]);
  run.out = {{dtype(), {1030}}, TensorValue::absent(dtype(), {1030})};
  EXPECT_EQ(results_of(run)[0], both[0]);
}

}  // namespace
}  // namespace tessera::test
