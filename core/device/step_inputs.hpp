// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what changes from step to step, read by kernels from device memory so that programs never change.
// Used: kernels (read), the trainer (writes between steps).
// Must not know: ops, schedules, where the numbers came from.
#pragma once

#include <cstdint>

namespace tessera {

struct StepInputs {
  std::uint64_t seed = 0;     ///< of the run; keys dropout and the like
  std::int64_t step = 1;      ///< the update being made, from 1; skipped ones do not count
  double learning_rate = 0;   ///< of this step
  double loss_scale = 1;      ///< gradients are this much larger until the update
  std::int64_t position = 0;  ///< tokens already in the cache of keys and values (text generation)
};

}  // namespace tessera
