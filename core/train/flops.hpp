// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the FLOPs that training needs per token, by one stated convention, and utilisation from them.
// Used: the trainer's metrics, `tessera plan`, benchmarks.
// Must not know: plans, kernels, what was really executed.
#pragma once

#include <cstdint>
#include <string>

#include "core/model/model.hpp"

namespace tessera {

/// The convention in a few words, for each line that shows a number made by it.
inline constexpr const char* k_flops_convention = "6N + causal attention";

/// FLOPs per token, forward and backward (which is twice forward). A multiplication with its addition counts 2.
struct TokenFlops {
  double matrices = 0;   ///< 6 · elements of all matrices, the head included; embedding lookup, norms, biases are not
  double attention = 0;  ///< 6 · layers · heads · head dim · sequence: scores and sums of values, their causal half

  double model() const { return matrices + attention; }
};

TokenFlops token_flops(const ModelConfig& config);

/// What is run a second time in backward: `train.recompute`.
enum class Recompute : std::uint8_t {
  none,
  selective,  ///< the attention core
  full,       ///< the forward pass
  block,      ///< the forward pass of a share of the layers
};

/// FLOPs per token with those of recomputation. By convention full costs a whole second forward pass, the head
/// included, so 4/3 of the model's FLOPs; `share` is the part of all layers that block runs again.
double hardware_flops(const TokenFlops& flops, Recompute recompute, double share = 1);

/// What a step of `tokens` tokens achieved in `seconds` on `devices` devices.
struct Throughput {
  double tokens_per_second = 0;  ///< of all devices together
  double model_tflops = 0;       ///< 10¹² model FLOPs per second, per device
  double mfu = 0;                ///< model FLOPs per second ÷ peak, a share of 1; NaN when the peak is unknown
  double hfu = 0;                ///< the same with recomputation, at least mfu
};

struct StepWork {
  std::int64_t tokens = 0;  ///< all of the global batch, masked ones too
  double seconds = 0;
  int devices = 1;
  double peak_flops = 0;  ///< dense FLOP/s of one device in the run's precision; 0: unknown
};

/// `hardware` is hardware_flops().
Throughput throughput(const TokenFlops& flops, double hardware, const StepWork& work);

/// The convention in full, with the numbers of this model: what the MFU of a run means. Two lines.
std::string describe_flops(const TokenFlops& flops, double peak_flops);

}  // namespace tessera
