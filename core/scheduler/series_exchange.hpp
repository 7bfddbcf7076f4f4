// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what ranks tell each other before the first step, in messages whose size all know: digests of what they will
//       call, and the calls themselves where digests differ.
// Used: the verifier.
// Must not know: plans, what a difference means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/scheduler/verifier.hpp"

namespace tessera {

/// A series of calls and its digest; all but the digest names the series.
struct SeriesDigest {
  std::uint64_t axes = 0, home = 0;
  std::int32_t first = 0;  ///< lowest rank that takes part
  std::int32_t from = -1, to = -1;
  std::int32_t members = 0;  ///< how many take part
  std::uint64_t digest = 0;
};

/// All calls are collective over the world.
class SeriesExchange {
 public:
  explicit SeriesExchange(Communicator& world) : world_(world) {}

  /// The text of the lowest rank that has one, cut to 1000 bytes.
  std::optional<std::string> first_text(const std::optional<std::string>& mine);

  /// A series that not all of its members list with the same digest: the same one on all ranks.
  std::optional<SeriesDigest> first_mismatch(const std::vector<SeriesDigest>& mine);

  /// What rank `source` passes, on all ranks.
  std::vector<CallSignature> calls_of(int source, const std::vector<CallSignature>& mine);

  std::vector<AxisGroup> union_of(std::vector<AxisGroup> mine);

 private:
  std::int64_t largest(std::int64_t mine);

  Communicator& world_;
};

}  // namespace tessera
