// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the records that ops and their kernels agree on.
// Used: rules of ops, model code through the builder, kernels.
// Must not know: what an op does with them.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/dtype.hpp"

namespace tessera::attributes {

/// embed_grad, take_grad: extent of the dim that appears in no input (vocabulary, experts). sequence_mean, z_loss and
/// their gradients: length of the whole sequence, of which a rank may see a part.
struct Extent {
  std::int64_t extent = 0;
};

struct Norm {
  double epsilon = 1e-5;
};

struct Rope {
  double theta = 1e4;
  double sign = 1;  ///< +1 rotates, -1 rotates back
};

struct Heads {
  std::int64_t head_dim = 0;
};

struct Attention {
  double scale = 1;
  std::int64_t group = 1;   ///< query heads per key/value head
  std::int64_t blocks = 0;  ///< bits of an AxisSet: a query sees keys of its own block only, see ops/attention.hpp
};

/// shift: block i of dim 0 moves to place i + by, cyclically.
struct Shift {
  std::int64_t axes = 0;  ///< bits of the AxisSet whose parts are the blocks
  std::int64_t by = 0;
};

enum class GeluForm : std::int64_t { erf, tanh };

struct Gelu {
  GeluForm form = GeluForm::erf;
};

struct Dropout {
  std::uint64_t site = 0;  ///< hash of the place's name
  double probability = 0;  ///< of dropping
  std::int64_t width = 0;  ///< global extent of the feature dim
};

struct Jitter {
  std::uint64_t site = 0;  ///< hash of the place's name
  double spread = 0;       ///< of the factors, on both sides of 1
  std::int64_t width = 0;  ///< global extent of the feature dim
};

/// cast: the dtype of the result.
struct Cast {
  DType to = DType::f32;
};

struct Pieces {
  std::int64_t pieces = 1;
};

/// top_k: the `k` largest; where there are `groups`, only among the experts of the `group_k` groups whose two best
/// scores have the largest sum.
struct TopK {
  std::int64_t k = 1;
  std::int64_t groups = 1, group_k = 1;
};

/// normalise: the factor behind the division by the sum.
struct Factor {
  double factor = 1;
};

/// expert_share: what is counted per sequence of so many tokens.
struct ExpertShare {
  std::int64_t experts = 1, k = 1;
  std::int64_t sequence = 1;
};

/// expert_load: number of experts, and the dtype of what is counted.
struct ExpertLoad {
  std::int64_t experts = 1;
  DType to = DType::f64;
  std::array<std::uint8_t, 7> zero = {};  ///< records have no undefined bytes
};

/// Rows of experts: how many experts there are, how many a token visits, and how many of its own rows a rank has for an
/// expert in one round, relative to an even spread (0: all that can come).
struct ExpertRows {
  std::int64_t experts = 1, k = 1;
  double capacity = 0;
};

/// balance_bias: runs of `experts` biases, each `stride` behind the one before, and how far a step moves one.
struct BalanceBias {
  double rate = 0;
  std::int64_t experts = 1, stride = 1;
};

/// Products of experts' rows: the share of the rows that an even spread of the tokens leaves empty. Costs only.
struct GroupedRows {
  double empty = 0;
};

/// step_decision: the largest norm that is not clipped; 0: never clips.
struct Clip {
  double norm = 0;
};

/// pack_rows, unpack_rows: the dim of blocks, 0 or 1, along which they change slowest.
struct RowBlocks {
  std::int64_t outer_dim = 0;
};

/// copy_part: `length` indices of `dim`, from index `from` of the input to index `to` of the output.
struct CopyPart {
  std::int64_t dim = 0;
  std::int64_t from = 0, to = 0, length = 0;
};

}  // namespace tessera::attributes
