// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what is known about a finished step, and the line that shows it to a person.
// Used: the trainer (fills it), writers of metrics, the console.
// Must not know: files, where lines go, how numbers were measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/train/expert_outcome.hpp"

namespace tessera {

/// One line of metrics.jsonl. Equal on all ranks but for the times and memory, which are the largest of all ranks.
struct StepRecord {
  std::int64_t step = 0;              ///< the update, from 1
  double loss = 0;                    ///< Σ token loss ÷ valid_tokens over the global batch, before the update
  std::int64_t valid_tokens = 0;      ///< targets that count
  double grad_norm = 0;               ///< before clipping; not finite when skipped
  double learning_rate = 0;           ///< of this update
  double loss_scale = 1;              ///< in this step
  bool skipped = false;               ///< gradients were not finite, so nothing was updated
  std::int64_t consumed_samples = 0;  ///< of the run, this step included
  std::int64_t consumed_tokens = 0;
  std::uint64_t sample_digest = 0;  ///< of the samples of this step, in their order
  double step_seconds = 0;
  double tokens_per_second = 0;  ///< of all devices together
  double model_tflops = 0;       ///< per device, by k_flops_convention
  double mfu = 0;                ///< a share of 1; NaN when the peak of the device is unknown
  double hfu = 0;
  std::int64_t peak_bytes = 0;  ///< of the rank that needs most
  ExpertOutcome experts;
  std::vector<ExpertLayerOutcome> expert_layers;  ///< empty: the model has no experts
};

/// Calls visit(name, value) for each field but `step`, which writers put first in their own way, in the order and with
/// the names of metrics.jsonl. Types: std::int64_t, double, bool, std::uint64_t (sample_digest), and the outcomes of
/// layers. What is told of experts is there only where the model has some.
template <class Visit>
void for_each_metric(const StepRecord& record, Visit&& visit) {
  visit("loss", record.loss);
  visit("valid_tokens", record.valid_tokens);
  visit("grad_norm", record.grad_norm);
  visit("lr", record.learning_rate);
  visit("loss_scale", record.loss_scale);
  visit("skipped", record.skipped);
  visit("consumed_samples", record.consumed_samples);
  visit("consumed_tokens", record.consumed_tokens);
  visit("sample_digest", record.sample_digest);
  visit("step_seconds", record.step_seconds);
  visit("tokens_per_second", record.tokens_per_second);
  visit("model_tflops", record.model_tflops);
  visit("mfu", record.mfu);
  visit("hfu", record.hfu);
  visit("peak_bytes", record.peak_bytes);
  if (record.expert_layers.empty()) return;
  visit("aux_loss", record.experts.auxiliary_loss);
  visit("z_loss", record.experts.z_loss);
  visit("imbalance", record.experts.imbalance);
  visit("dropped_share", record.experts.dropped_share);
  visit("experts", record.expert_layers);
}

/// What a console line says beyond the record.
struct ConsoleContext {
  std::int64_t total_steps = 0;
  std::int64_t global_batch = 0;
  int devices = 1;
  std::int64_t skipped_steps = 0;  ///< since the last line
};

/// One line without a line end, in the form of Megatron-LM's log, so that programs that read that also read this:
/// " iteration        1/     100 | consumed samples: … | elapsed time per iteration (ms): … | …". `learning rate` and
/// `loss scale` are those of the step that is reported. Megatron's names come first, then tokens-per-second-per-gpu
/// (per device, whatever it is) and MFU; and where the model has experts, how unevenly the worst layer loads them, and
/// what share of choices was dropped, if any was.
std::string console_line(const StepRecord& record, const ConsoleContext& context);

/// " validation loss at iteration 100 | lm loss value: … | lm loss PPL: … | ", after an evaluation. `loss` in nats.
std::string evaluation_line(std::int64_t step, double loss);

}  // namespace tessera
