// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  lowering: nodes of the graph become instructions of one rank, values become places in memory.
// Used: the scheduler.
// Must not know: models, strategies, schedules; any op by name but `convert`.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/base/op_attributes.hpp"
#include "core/mesh/conversion.hpp"
#include "core/scheduler/kernel_table.hpp"
#include "core/scheduler/order.hpp"
#include "core/scheduler/storage.hpp"

namespace tessera {

/// Scratch that a collective among `members` ranks needs (Communicator::workspace_bytes), known before any is made.
using CollectiveWorkspace = std::function<std::int64_t(CallKind, std::int64_t count, DType, int members)>;

/// What lowering needs to know of the machine.
struct Target {
  const KernelTable& kernels;
  int threads = 1;
  CollectiveWorkspace collective_workspace;
};

class Lowering {
 public:
  Lowering(const Graph& graph, const Mesh& mesh, int rank, const Target& target, Plan& plan);

  /// Tells where a value lies that no node produces, or that must lie at a certain place.
  void fix(Value v, Address address);

  bool is_fixed(Value v) const { return places_.contains(v); }

  /// Bytes of this rank's part.
  std::int64_t local_bytes(Value v) const;

  /// Lays an input of micro-batches at `offset` of their inputs.
  Operand place_input(Value v, std::int64_t offset);

  /// Where the gradient of a parameter, or a scalar accumulator, lies.
  void fix_accumulator(std::int32_t accumulator, Address address);

  /// All programs, so that it is known which values are read elsewhere than where they are made.
  void announce(const std::vector<NodeList>& programs, const std::vector<Value>& outputs);

  /// Appends the program's instructions and returns its index in the plan. `leave_open` keeps events for later programs
  /// instead of waiting at the end.
  enum class Events : std::uint8_t { wait_at_end, leave_open };
  std::int32_t program(const NodeList& list, Events events = Events::wait_at_end);

  /// Instruction behind the last contribution to an accumulator so far; -1: none yet.
  std::int32_t completed(std::int32_t accumulator) const;

  /// Scratch of the calls that programs with open events make: two slots, used in turn.
  void reserve_slots(std::int64_t bytes);

  Storage& storage() { return storage_; }
  Operand operand(Value v);

  /// Fills the addresses of all operands. Nothing may be lowered afterwards.
  void finish();

 private:
  enum class Home : std::uint8_t { scratch, frame, state };

  struct Pending {
    std::int32_t event = -1;
    std::vector<std::int32_t> buffers;  ///< that must live until the event
  };

  // lower.cpp
  std::int32_t position() const { return static_cast<std::int32_t>(plan_.code.size()); }
  Tensor tensor(Value v) const;
  Value base_of(Value v) const;
  bool is_view(const Node& node) const;
  std::int64_t view_offset(const Node& node, std::size_t output) const;
  void lower_kernel(const Node& node);
  Place produce(const Node& node, std::size_t output);
  bool may_take_over(const Node& node, Value in) const;
  std::int32_t name(const std::string& text);
  std::int32_t add_operand(Place place, const Tensor& tensor, Value v);
  void mark_accumulation(const Node& node, Instruction& instruction);
  void read(Place place);
  void emit(Instruction instruction);

  // lower_conversion.cpp
  void lower_conversion(const Node& node);
  void all_reduce(const Node& node, const ConversionStep& step);
  void reduce_scatter(const Node& node, const ConversionStep& step);
  void all_gather(const Node& node, const ConversionStep& step);
  void all_to_all(const Node& node, const ConversionStep& step);
  void copy_part(Place from, const Tensor& source, Place to, const Tensor& target, const attributes::CopyPart& part);
  void zero(Place to, const Tensor& target);
  void post(CallKind kind, const ConversionStep& step, Place in, Place out, const Tensor& in_tensor,
            const Tensor& out_tensor, std::vector<std::int64_t> send_counts, std::vector<std::int64_t> receive_counts);
  void wait_for(std::int32_t buffer);

  const Graph& graph_;
  const Mesh& mesh_;
  int rank_;
  const Target& target_;
  Plan& plan_;
  Storage storage_;
  std::map<Value, Place> places_;
  std::map<std::int32_t, Place> accumulators_;
  std::map<std::int32_t, std::int32_t> completed_;
  std::set<std::int32_t> started_;  ///< accumulators that some instruction has written
  std::vector<Place> operand_places_;
  std::map<std::string, std::int32_t> names_;
  std::map<Value, Home> homes_;                ///< of bases that are read outside their program
  std::map<Value, std::int32_t> last_reader_;  ///< node that reads a base last
  std::map<std::int32_t, Pending> pending_;    ///< by the buffer that an open event writes
  std::vector<Place> slots_;
  std::vector<std::int32_t> slot_events_;  ///< event that uses the slot; -1: free
  std::size_t next_slot_ = 0;
  bool in_slots_ = false;
  std::int32_t node_ = -1;  ///< being lowered
};

}  // namespace tessera
