// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what ranks tell each other of their parts of tensors: enough to see whether replicas are the same bits and parts
//       make a whole.
// Used: the comparison of layouts.
// Must not know: what tensors are, what is done about a difference.
#pragma once

#include <cstdint>
#include <vector>

#include "core/comm/communicator.hpp"
#include "core/train/tensor_part.hpp"

namespace tessera {

/// What a rank says of its part of a tensor.
struct PartReport {
  std::int64_t place = 0;     ///< hash of where the part lies
  std::int64_t content = 0;   ///< hash of its bits
  std::int64_t elements = 0;  ///< 0: holds none of it
  double difference = 0;      ///< from something that all ranks know
};

PartReport report_of(const TensorPart& part, double difference = 0);

/// The reports of all ranks on the same tensors in the same order.
class PartReports {
 public:
  /// Collective.
  PartReports(Communicator& world, const std::vector<PartReport>& mine);

  int ranks() const { return ranks_; }
  PartReport of(int rank, std::size_t tensor) const;

  /// Whether ranks that hold the same part hold the same bits.
  bool replicas_equal(std::size_t tensor) const;

  /// Elements in all parts, each part once.
  std::int64_t elements(std::size_t tensor) const;

 private:
  std::size_t tensors_;
  int ranks_;
  std::vector<std::int64_t> words_;
};

}  // namespace tessera
