// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  one call of a communicator and the same by MPI itself, on the same buffers, ready to be repeated.
// Used: `bench collectives`.
// Must not know: how often they run, what is done with the times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/comm/communicator.hpp"
#include "core/device/host_memory.hpp"
#include "core/device/immediate_stream.hpp"

namespace tessera::apps {

/// A message goes once round the ring of ranks.
constexpr CallKind k_benched_calls[] = {CallKind::all_reduce, CallKind::reduce_scatter, CallKind::all_gather,
                                        CallKind::all_to_all, CallKind::broadcast,      CallKind::send};

/// Who makes a call. The copy is the limit: every rank copies as many bytes from one buffer to another.
enum class Maker : std::uint8_t { ours, mpi, copy };

/// Two buffers of fp32 of this rank, and calls on them.
class CollectiveCalls {
 public:
  /// `bytes`: of the largest call; a buffer. `memory`: where ranks of a node find each other's buffers; null: the
  /// process's own.
  CollectiveCalls(Communicator& ranks, HostMemory* memory, std::int64_t bytes);
  ~CollectiveCalls();
  CollectiveCalls(const CollectiveCalls&) = delete;
  CollectiveCalls& operator=(const CollectiveCalls&) = delete;

  /// Fixes what the next calls do. `bytes`: of the longer one of what goes in and what comes out.
  void choose(CallKind kind, std::int64_t bytes);

  /// Bytes of a chosen call: a multiple of 4 and of the ranks.
  std::int64_t bytes() const { return 4 * count_; }

  /// Writes the whole input, as a producer would; the value changes from time to time.
  void write();
  void call(Maker maker);
  /// Reads the whole result, as a consumer would. `maker`: of the last call.
  void read(Maker maker);
  /// Throws Error{internal} when the result of the last call is not what was asked for.
  void check(Maker maker) const;

 private:
  float value(int rank) const { return static_cast<float>(1 + rank + round_ % 7); }
  float* input() const { return buffers_[0]; }
  float* output(Maker maker) const;
  std::int64_t output_count(Maker maker) const;
  float expected(std::int64_t element) const;
  void call_ours();
  void call_mpi();
  int ring(int step) const { return (ranks_.rank() + step + ranks_.size()) % ranks_.size(); }

  Communicator& ranks_;
  HostMemory* memory_;
  std::vector<float> own_;  // where there is no shared memory
  float* buffers_[2] = {};
  std::vector<std::byte> workspace_;
  ImmediateStream stream_;
  CallKind kind_ = CallKind::all_reduce;
  std::int64_t count_ = 0;  // elements of the whole
  std::vector<std::int64_t> parts_;
  std::vector<int> mpi_parts_, mpi_firsts_;
  int round_ = 0;
  volatile std::uint32_t seen_ = 0;
};

}  // namespace tessera::apps
