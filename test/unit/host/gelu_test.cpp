// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

using attributes::GeluForm;

class Gelu : public EveryFloat {
 protected:
  static Values expected(GeluForm form, const Values& x) {
    return form == GeluForm::erf ? reference::gelu_erf(x) : reference::gelu_tanh(x);
  }
  Values wide(std::int64_t count) const {
    Values values = random_values(5, count);
    for (double& v : values) v *= 6;
    return rounded(dtype(), values);
  }
};
INSTANTIATE_TEST_SUITE_P(Host, Gelu, every_float(), dtype_name);

TEST_P(Gelu, IsTheFunctionInBothForms) {
  for (const GeluForm form : {GeluForm::erf, GeluForm::tanh})
    for (const std::int64_t count : {0, 1, 19, 66000}) {
      const Values x = wide(count);
      const KernelRun run{
          "gelu", dtype(), {{dtype(), {count}, x}}, {{dtype(), {count}}}, Attributes::of(attributes::Gelu{form})};
      EXPECT_TRUE(close(results_of(run)[0], expected(form, x), tolerance())) << count;
      EXPECT_TRUE(same_for_any_threads(run)) << count;
    }
}

TEST_P(Gelu, GradientIsTheDerivative) {
  for (const GeluForm form : {GeluForm::erf, GeluForm::tanh}) {
    const Values x = wide(83), dy = random(6, 83);
    const KernelRun run{"gelu_grad",
                        dtype(),
                        {{dtype(), {83}, dy}, {dtype(), {83}, x}},
                        {{dtype(), {83}}},
                        Attributes::of(attributes::Gelu{form})};
    const Values gradient = numeric_gradient([&](const Values& v) { return expected(form, v); }, x, dy);
    EXPECT_TRUE(close(results_of(run)[0], gradient, std::max(tolerance(), 1e-9)));
  }
}

}  // namespace
}  // namespace tessera::test
