// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/step_record.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/train/flops.hpp"

namespace tessera {
namespace {

/// Never with an exponent, which readers of such lines do not expect; small values get more digits.
std::string plain(double value) {
  return std::fabs(value) < 10 ? fmt::format("{:.4f}", value) : fmt::format("{:.1f}", value);
}

/// As a log parser expects it, also where it is no number.
std::string scientific(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.6E}", value);
}

std::string mfu_text(double mfu) {
  return std::isfinite(mfu) ? fmt::format("{:.2f}%", 100 * mfu) : std::string("unknown");
}

std::string experts_text(const StepRecord& record) {
  if (record.expert_layers.empty()) return {};
  std::string text = fmt::format(" expert imbalance: {:.3f} |", record.experts.imbalance);
  if (record.experts.dropped_share > 0) text += fmt::format(" dropped: {:.3f}% |", 100 * record.experts.dropped_share);
  return text;
}

}  // namespace

std::string console_line(const StepRecord& record, const ConsoleContext& context) {
  // A step is skipped exactly when something was not finite, which Megatron counts as two things.
  return fmt::format(
      " iteration {:8d}/{:8d} | consumed samples: {:12d} | elapsed time per iteration (ms): {:.1f}"
      " | throughput per GPU (TFLOP/s/GPU): {} | learning rate: {:.6E} | global batch size: {:5d} | lm loss: {}"
      " | loss scale: {:.1f} | grad norm: {:.3f} | number of skipped iterations: {:3d} | number of nan iterations: "
      "{:3d}"
      " | tokens-per-second-per-gpu: {} | MFU ({}): {} |{}",
      record.step, context.total_steps, record.consumed_samples, record.step_seconds * 1e3, plain(record.model_tflops),
      record.learning_rate, context.global_batch, scientific(record.loss), record.loss_scale,
      std::fabs(record.grad_norm), context.skipped_steps, context.skipped_steps,
      plain(record.tokens_per_second / context.devices), k_flops_convention, mfu_text(record.mfu),
      experts_text(record));
}

std::string evaluation_line(std::int64_t step, double loss) {
  constexpr double k_largest_exponent = 20;  // as in Megatron, so that an untrained model shows a number
  return fmt::format(" validation loss at iteration {} | lm loss value: {} | lm loss PPL: {} | ", step,
                     scientific(loss),
                     scientific(std::isnan(loss) ? loss : std::exp(std::min(loss, k_largest_exponent))));
}

}  // namespace tessera
