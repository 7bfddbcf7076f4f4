// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/machine.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/install_tree.hpp"

namespace tessera {
namespace {

constexpr const char* k_text =
    "[machine]\ntext = a test\nfp32 = 100\nhalf = 400\nefficiency = 0.5\nmemory_bandwidth = 10\n"
    "kernel_seconds = 0.25\ncapacity = 1KiB\n"
    "[node]\nranks = 4\nbandwidth = 8\nlatency = 1\n[network]\nbandwidth = 3\nlatency = 2\n";

/// A plan of one instruction whose operands have so many f32 elements.
Plan plan_of(Instruction instruction, const Call& call, std::initializer_list<std::int64_t> elements) {
  Plan plan;
  for (std::int64_t count : elements)
    plan.operands.push_back({{Tag::scratch, 0}, {nullptr, {count}, {}, DType::f32}, {}});
  instruction.inputs = 1;
  instruction.outputs = static_cast<std::uint8_t>(elements.size() - 1);
  instruction.call = 0;
  plan.calls.push_back(call);
  plan.code.push_back(instruction);
  return plan;
}

double seconds_of(CallKind kind, AxisSet axes, std::initializer_list<std::int64_t> elements, int rank = 0,
                  int peer = -1) {
  static const Mesh mesh({{"tp", "tp", 2}, {"dp", "dp", 4}});
  Call call;
  call.kind = kind;
  call.group.axes = axes;
  call.peer = peer;
  Plan plan = plan_of({}, call, elements);
  plan.rank = rank;
  return call_seconds(parse_machine(k_text, "test.ini"), mesh, plan, plan.code[0]);
}

const AxisSet k_tensor = AxisSet::of(0), k_data = AxisSet::of(1);

TEST(Machine, IsReadFromText) {
  const Machine machine = parse_machine(k_text, "test.ini");
  EXPECT_EQ(machine.text, "a test");
  EXPECT_EQ(machine.peak(DType::f64), 0);
  EXPECT_EQ(machine.peak(DType::f32), 100);
  EXPECT_EQ(machine.peak(DType::bf16), 400);
  EXPECT_EQ(machine.capacity, 1024);
  EXPECT_EQ(machine.node_ranks, 4);
  EXPECT_EQ(machine.network.bandwidth, 3);
  EXPECT_TRUE(machine.overlaps);
}

TEST(Machine, SaysAllThatIsWrongWithAFile) {
  try {
    parse_machine("[machine]\nfp23 = 3\nefficiency = 2\n[node]\nbandwidth = 1\n", "bad.ini");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    for (const char* part : {"fp23", "bad.ini:2", "efficiency", "bad.ini:3", "machine.memory_bandwidth must be given",
                             "network.bandwidth must be given"})
      EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

TEST(KernelSeconds, AreThoseOfWhatTakesLonger) {
  const Machine machine = parse_machine(k_text, "test.ini");
  Instruction instruction;
  instruction.flops = 200;
  instruction.bytes = 30;
  EXPECT_EQ(kernel_seconds(machine, plan_of(instruction, {}, {1, 1}), instruction), 0.25 + 200 / 50.0);
  instruction.bytes = 50;
  EXPECT_EQ(kernel_seconds(machine, plan_of(instruction, {}, {1, 1}), instruction), 0.25 + 5);
  Plan doubles = plan_of(instruction, {}, {1, 1});
  doubles.operands[0].tensor.dtype = DType::f64;
  EXPECT_THROW(kernel_seconds(machine, doubles, doubles.code[0]), Error);
}

TEST(CallSeconds, AreThoseOfRings) {
  // tp: two neighbours of a node. 64 elements are 256 bytes.
  EXPECT_EQ(seconds_of(CallKind::all_reduce, k_tensor, {64, 64}), 2 * (1 + 128 / 8.0));
  EXPECT_EQ(seconds_of(CallKind::reduce_scatter, k_tensor, {64, 32}), 1 + 128 / 8.0);
  EXPECT_EQ(seconds_of(CallKind::all_gather, k_tensor, {32, 64}), 1 + 128 / 8.0);
  EXPECT_EQ(seconds_of(CallKind::all_to_all, k_tensor, {64, 64}), 1 + 128 / 8.0);
}

TEST(CallSeconds, NodesAreCrossedOverTheirNetwork) {
  // dp: ranks 0, 2 on one node, 4, 6 on the other: two ports carry the ring.
  EXPECT_EQ(seconds_of(CallKind::all_gather, k_data, {16, 64}), 3 * 2 + 192 / 6.0);
  // Four members use no more than what a rank can send to its neighbours.
  EXPECT_EQ(seconds_of(CallKind::all_gather, k_tensor | k_data, {8, 64}), 7 * 2 + 224 / 8.0);
}

TEST(CallSeconds, MessagesTakeTheLinkOfTheirPair) {
  EXPECT_EQ(seconds_of(CallKind::send, k_data, {64, 0}, 0, 1), 1 + 256 / 8.0);
  EXPECT_EQ(seconds_of(CallKind::send, k_data, {64, 0}, 0, 2), 2 + 256 / 3.0);
}

TEST(Machines, OfTheInstallationCanBeRead) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(share_folder() / "machines")) {
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    const Machine machine = parse_machine(text.str(), entry.path().string());
    EXPECT_FALSE(machine.text.empty()) << entry.path();
    EXPECT_GT(machine.peak(DType::f32), 0) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 3);
}

}  // namespace
}  // namespace tessera
