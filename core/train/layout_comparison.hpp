// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what training in a layout and on one rank have in common and what not, and how much they may differ.
// Used: compare_layout (makes it), the verb `verify` and tests (show it).
// Must not know: ranks, how either was trained.
#pragma once

#include <string>
#include <vector>

#include "core/base/dtype.hpp"
#include "core/train/engine.hpp"

namespace tessera {

/// How far two runs of the same function may be apart by the order of their sums alone. Relative, but for the floor.
struct ParityTolerance {
  double loss = 0;
  double first_norm = 0;        ///< of the gradient before clipping, in the first step
  double later_norm = 0;        ///< and in later ones
  double gradient = 0;          ///< of a tensor's largest element
  double gradient_of_norm = 0;  ///< and of the norm of the whole gradient
  double gradient_floor = 0;    ///< absolute

  /// The largest difference that an element of a gradient tensor may have.
  double allowed(double largest_element, double norm) const {
    return gradient * largest_element + gradient_of_norm * norm + gradient_floor;
  }
};

/// f64 or f32.
ParityTolerance parity_tolerance(DType dtype);

/// |actual - expected| ÷ |expected|; 0 when they are equal, infinite when either is not finite.
double relative_difference(double actual, double expected);

struct StepComparison {
  StepOutcome actual, expected;  ///< of experts only the auxiliary losses are expected
  bool agrees = false;
};

/// One tensor of the first step's gradient.
struct TensorComparison {
  std::string name;             ///< "layers.3.attention.q"
  std::string field;            ///< "attention.q"
  double difference = 0;        ///< the largest of an element; infinite where one is not finite
  double largest = 0;           ///< magnitude of an element on one rank
  double allowed = 0;           ///< difference
  int worst_rank = 0;           ///< where the largest difference is
  bool complete = false;        ///< each element is on some rank, and both runs have the tensor
  bool replicas_equal = false;  ///< ranks that hold the same part hold the same bits

  /// difference ÷ largest
  double relative() const { return difference == 0 ? 0 : difference / largest; }
  bool agrees() const { return complete && replicas_equal && difference <= allowed; }
};

struct LayoutComparison {
  ParityTolerance tolerance;
  std::vector<StepComparison> steps;
  std::vector<TensorComparison> gradients;  ///< by name
  std::vector<std::string> drifted;         ///< weights and states whose replicas were not the same bits at the end

  bool agrees() const;
};

}  // namespace tessera
