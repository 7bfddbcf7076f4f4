// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/host_device.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <tuple>

#include "core/base/error.hpp"

namespace tessera {
namespace {

TEST(HostDevice, MemoryIsAlignedAndRefusedByAnErrorThatSaysHowMuch) {
  HostDevice device(2);
  for (const std::int64_t bytes : {0, 1, 63, 65, 100000, (2 << 20) - 1, 2 << 20, (5 << 20) + 7}) {
    void* memory = device.allocate(bytes, Reach::rank);
    const std::uintptr_t unit = bytes < 2 << 20 ? 64 : 2 << 20;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % unit, 0U) << bytes;
    std::memset(memory, 1, static_cast<std::size_t>(bytes));
    device.release(memory);
  }
  try {
    device.allocate(std::numeric_limits<std::int64_t>::max() / 2, Reach::rank);
    FAIL() << "memory that no machine has was given";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::resources);
    EXPECT_NE(std::string(error.what()).find("4611686018427387903"), std::string::npos);
  }
}

TEST(HostDevice, TakesMemoryThatOthersReadFromWhereItIsTold) {
  class Counted final : public HostMemory {
   public:
    void* allocate(std::int64_t bytes) override {
      asked += bytes;
      return &place;
    }
    void release(void* memory) noexcept override { released = memory; }
    std::int64_t asked = 0;
    void* released = nullptr;
    alignas(64) std::byte place{};
  } memory;
  HostDevice device(1, &memory);
  EXPECT_EQ(device.allocate(100, Reach::node), &memory.place);
  void* const own = device.allocate(100, Reach::rank);
  EXPECT_NE(own, &memory.place);
  EXPECT_EQ(memory.asked, 100);
  device.release(own);
  EXPECT_EQ(memory.released, nullptr);
  device.release(&memory.place);
  EXPECT_EQ(memory.released, &memory.place);
}

TEST(HostDevice, StreamsKnowTheirRoleAndThreads) {
  HostDevice device(3);
  EXPECT_EQ(device.stream(StreamRole::offload_out).role(), StreamRole::offload_out);
  EXPECT_EQ(threads_of(device.stream(StreamRole::compute)), 3);
}

TEST(HostDevice, HasOneKernelPerOpDtypeAndVariant) {
  HostDevice device(1);
  std::set<std::tuple<std::string_view, DType, std::string_view>> seen;
  for (const KernelEntry& entry : device.kernels()) {
    EXPECT_TRUE(seen.emplace(entry.op, entry.dtype, entry.variant).second) << entry.op << " " << entry.variant;
    EXPECT_EQ(device.find(entry.op, entry.dtype, entry.variant), &entry);
    const KernelEntry* usual = device.find(entry.op, entry.dtype);
    ASSERT_NE(usual, nullptr) << entry.op << " has a variant only";
    EXPECT_EQ(usual->accumulates, entry.accumulates) << entry.op << " " << entry.variant;
  }
  EXPECT_EQ(device.find("add", DType::i32), nullptr);
  EXPECT_EQ(device.find("no such op", DType::f32), nullptr);
  EXPECT_EQ(device.find("linear", DType::f32, "no such variant"), nullptr);
}

}  // namespace
}  // namespace tessera
