// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a machine as a simulated step sees it: peaks, bandwidths, latencies; and how long work takes on it.
// Used: the simulator's callers, `tessera plan`.
// Must not know: where its files lie, what runs when.
#pragma once

#include <string>
#include <string_view>

#include "core/scheduler/plan.hpp"

namespace tessera {

/// How one rank reaches others.
struct Link {
  double bandwidth = 0;  ///< bytes per second that a rank sends, while it receives as many
  double latency = 0;    ///< seconds of a message without bytes
};

/// One rank's share of the machine: a device, or the cores of a rank.
struct Machine {
  std::string text;                                     ///< what it is, in a line
  double flops_f64 = 0, flops_f32 = 0, flops_half = 0;  ///< dense peaks in FLOP/s; 0: cannot
  double efficiency = 1;                                ///< share of the peak that matrix products reach
  double memory_bandwidth = 0;                          ///< bytes per second, read and written ones both counted
  double kernel_seconds = 0;                            ///< of a kernel without work
  std::int64_t capacity = 0;                            ///< bytes of memory; 0: unknown
  bool overlaps = true;  ///< calls run beside kernels; else they keep the rank busy as kernels do
  int node_ranks = 1;    ///< consecutive ranks that are one node
  Link node, network;    ///< within a node, between nodes

  double peak(DType dtype) const;
};

/// Reads an INI text (share/machines). `path` names it in messages. Throws Error{configuration} with all problems.
Machine parse_machine(std::string_view text, std::string_view path);

/// Seconds of a kernel: FLOPs at the peak's reachable share or bytes at the memory's bandwidth, whichever takes longer.
double kernel_seconds(const Machine& machine, const Plan& plan, const Instruction& instruction);

/// Seconds of a call: of collectives by ring algorithms (Thakur et al. 2005; n - 1 messages of 1/n of the bytes, twice
/// for an all-reduce), over the network as soon as the group is on several nodes. There the members on one node use
/// their links together.
double call_seconds(const Machine& machine, const Mesh& mesh, const Plan& plan, const Instruction& instruction);

}  // namespace tessera
