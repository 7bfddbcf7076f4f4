// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  lowering: nodes of the graph become instructions of one rank, values become places in memory.
// Used: the scheduler.
// Must not know: models, strategies, schedules; any op by name but `convert`, `receive` and `shift`.
#pragma once

#include <functional>
#include <map>
#include <optional>
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
  /// `stages`: stage of each chunk.
  Lowering(const Graph& graph, const Mesh& mesh, int rank, const std::vector<int>& stages, const Target& target,
           Plan& plan);

  /// Tells where a value lies that no node produces, or that must lie at a certain place.
  void fix(Value v, Address address);

  bool is_fixed(Value v) const { return places_.contains(v); }

  /// Bytes of this rank's part.
  std::int64_t local_bytes(Value v) const;

  /// Makes the copies of one kind.
  void add_copies(Copies kind, int count);

  /// Lays an input of micro-batches behind those before it.
  Operand place_input(Value v);

  /// Where the gradient of a parameter, or a scalar accumulator, lies.
  void fix_accumulator(std::int32_t accumulator, Address address);

  /// The programs of this rank and the `receive` nodes of other stages that read what is made here, so that it is known
  /// which values are read elsewhere than where they are made.
  void announce(const std::vector<NodeList>& programs, const std::vector<std::int32_t>& sends,
                const std::vector<Value>& outputs);

  /// Appends the program's instructions and returns its index in the plan. `leave_open` keeps events for later programs
  /// instead of waiting at the end.
  enum class Events : std::uint8_t { wait_at_end, leave_open };
  std::int32_t program(const NodeList& list, Events events = Events::wait_at_end);

  /// The same, cut into pieces where the list has bodies that are repeated.
  std::vector<std::int32_t> programs(const NodeList& list, Events events = Events::wait_at_end);

  /// The programs of one boundary between stages, made of `receive` nodes. The receives are lowered before the program
  /// that reads, the sends behind the one that makes; -1 where there is nothing to move.
  std::int32_t receive_program(const std::vector<std::int32_t>& nodes);
  struct SendPrograms {
    std::int32_t send = -1, sent = -1;
  };
  SendPrograms send_programs(const std::vector<std::int32_t>& nodes);

  /// Where a program adds to an accumulator last.
  struct Contribution {
    std::int32_t program = -1;
    std::int32_t end = 0;   ///< behind the instruction
    std::int32_t node = 0;  ///< that added
  };
  /// One per program that adds to it.
  const std::vector<Contribution>& contributions(std::int32_t accumulator) { return contributions_[accumulator]; }

  /// A program that writes zero to scalars that no program of this rank adds to.
  std::int32_t zero_program(const std::vector<std::int32_t>& accumulators);

  /// The key of calls that are lowered from here on; without one it follows from the node (Call::key).
  void set_key(std::optional<std::int64_t> key) { key_ = key; }
  static std::int64_t key_of(std::int32_t node) { return std::int64_t{node} << 8; }

  /// Scratch of the calls that programs with open events make: two slots, used in turn.
  void reserve_slots(std::int64_t bytes);

  Storage& storage() { return storage_; }
  Operand operand(Value v);
  void extend_reach(const Instruction& call);

  /// Fills the addresses of all operands. Nothing may be lowered afterwards.
  void finish();

 private:
  /// Where a value lies that is read outside its program: in copies, or once.
  struct Lasting {
    std::optional<Copies> copies;
  };

  struct Pending {
    std::vector<std::int32_t> events;   ///< of the calls that write the buffer, or must be done before it is used
    std::vector<std::int32_t> buffers;  ///< that must live until the events
  };

  // lower.cpp
  std::int32_t position() const { return static_cast<std::int32_t>(plan_.code.size()); }
  Tensor tensor(Value v) const;
  Value base_of(Value v) const;
  bool is_view(const Node& node) const;
  std::int64_t view_offset(const Node& node, std::size_t output) const;
  static Lasting lasting_for(ProgramKind made_in, ProgramKind read_in);
  void note_lasting(Value base, Lasting lasting);
  Place lasting_place(Value v, const Lasting& lasting);
  void lower_node(const Node& node);
  void zero_accumulator(std::int32_t accumulator);
  void wait_for_all();
  void enter_body(const NodeList& list, std::size_t begin);
  void leave_body(std::int32_t first);
  std::int32_t add_program(ProgramKind kind, std::int32_t first, Value repeat = {});
  std::int32_t close_program(ProgramKind kind, std::int32_t first);
  void lower_kernel(const Node& node);
  void grant_workspace(Instruction& instruction, std::int64_t bytes);
  double operand_bytes(const Instruction& instruction, std::string_view mutates = {}) const;
  Place produce(const Node& node, std::size_t output);
  bool may_take_over(const Node& node, Value in) const;
  std::int32_t name(const std::string& text);
  std::int32_t add_operand(Place place, const Tensor& tensor, Value v);
  void mark_accumulation(const Node& node, Instruction& instruction);
  void emit(Instruction instruction);

  // lower_conversion.cpp
  void lower_conversion(const Node& node);
  void all_reduce(const Node& node);
  void reduce_scatter(const Node& node, const ConversionStep& step);
  void all_gather(const Node& node, const ConversionStep& step);
  void all_to_all(const Node& node, const ConversionStep& step);
  void exchange_rows(const Node& node, const ConversionStep& step);
  struct Located {
    Place place;
    Tensor tensor;
  };
  void move_rows(const char* kernel, const Located& from, Value counts, const Located& to, int outer_dim);
  void copy_part(Place from, const Tensor& source, Place to, const Tensor& target, const attributes::CopyPart& part);
  void zero(Place to, const Tensor& target);
  std::vector<int> group_of(const Node& node, const ConversionStep& step) const;
  void post(const Node& node, CallKind kind, Place in, Place out, const Tensor& in_tensor, const Tensor& out_tensor,
            std::vector<std::int64_t> send_counts, std::vector<std::int64_t> receive_counts,
            std::optional<RowExchange> rows = {});
  Place call_workspace(std::int64_t bytes);
  void wait_for(std::int32_t buffer);
  void add_call(Instruction& instruction, Call call);

  // lower_boundary.cpp
  std::int32_t copies_of(Copies kind) const;
  void post_message(CallKind kind, std::int32_t node, Place place, std::int32_t event, Copies copies);
  void wait_for_copy(std::int32_t event, Copies copies);
  Place outgoing(const Node& receive, Copies copies);

  // lower_shift.cpp
  void lower_shift(const Node& node);
  std::int32_t post_to(const Node& node, CallKind kind, int peer, Place at);

  const Graph& graph_;
  const Mesh& mesh_;
  int rank_;
  const std::vector<int>& stages_;
  const Target& target_;
  Plan& plan_;
  Storage storage_;
  std::map<Value, Place> places_;
  std::map<std::int32_t, Place> accumulators_;
  std::map<std::int32_t, std::vector<Contribution>> contributions_;
  std::set<std::int32_t> started_;                     ///< accumulators that some instruction has written
  std::map<std::int32_t, std::int32_t> event_layers_;  ///< layer of the call whose end an event is
  std::vector<Place> operand_places_;
  std::map<std::string, std::int32_t> names_;
  std::map<Copies, std::int16_t> groups_;
  std::map<Value, Lasting> lasting_;           ///< bases that are read outside their program
  std::map<Value, std::int32_t> received_;     ///< event of copy 0 of a `receive`'s output
  std::map<Value, std::int32_t> last_reader_;  ///< node that reads a base last
  std::map<std::int32_t, Pending> pending_;    ///< by the buffer that an open event writes
  std::vector<Place> slots_;
  std::vector<std::int32_t> slot_events_;  ///< event that uses the slot; -1: free
  std::size_t next_slot_ = 0;
  bool in_slots_ = false;
  std::int32_t node_ = -1;  ///< being lowered
  int chunk_ = 0;           ///< of the program that is lowered
  std::int32_t body_ = -1;  ///< where the body begins that is lowered; -1: none
  std::optional<std::int64_t> key_;
};

}  // namespace tessera
