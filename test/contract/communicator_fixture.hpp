// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what the contract tests of communicators share: how ranks are started, inputs, and sums by definition.
// Used: communicator_contract.hpp and tests of single implementations.
// Must not know: any implementation.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/half.hpp"
#include "core/comm/communicator.hpp"
#include "core/device/host_memory.hpp"
#include "core/device/immediate_stream.hpp"

namespace tessera::test {

/// One implementation with a number of ranks; `run` calls the function once for each rank, all at the same time.
struct RankRunner {
  std::string name;
  int ranks = 1;
  std::function<void(const std::function<void(Communicator&)>&)> run;
};

inline void PrintTo(const RankRunner& runner, std::ostream* out) {
  *out << runner.name;
}

/// Where buffers are taken from while it is set: memory with properties that an implementation looks for.
inline HostMemory*& buffer_memory() {
  static HostMemory* memory = nullptr;
  return memory;
}

template <class T>
struct BufferAllocator {
  using value_type = T;
  BufferAllocator() = default;
  template <class U>
  BufferAllocator(const BufferAllocator<U>&) {}
  T* allocate(std::size_t count) {
    HostMemory* memory = buffer_memory();
    const std::size_t bytes = count * sizeof(T);
    return static_cast<T*>(memory == nullptr ? ::operator new(bytes)
                                             : memory->allocate(static_cast<std::int64_t>(bytes)));
  }
  void deallocate(T* data, std::size_t) {
    buffer_memory() == nullptr ? ::operator delete(data) : buffer_memory()->release(data);
  }
  friend bool operator==(const BufferAllocator&, const BufferAllocator&) { return true; }
};

/// What calls read and write.
template <class T>
using Values = std::vector<T, BufferAllocator<T>>;

/// What a rank needs to make calls: a stream, and workspaces that live until their calls are done.
class Calls {
 public:
  explicit Calls(Communicator& communicator) : communicator_(communicator) {}

  CallContext context(CallKind kind, std::int64_t count = 0, DType dtype = DType::f32) {
    const std::int64_t bytes = communicator_.workspace_bytes(kind, count, dtype);
    // 64 bytes more, for the alignment that is promised.
    workspaces_.emplace_back(static_cast<std::size_t>(bytes) + 64);
    const auto address = reinterpret_cast<std::uintptr_t>(workspaces_.back().data());
    return {stream_, std::span(workspaces_.back()).subspan(-address % 64, static_cast<std::size_t>(bytes))};
  }

 private:
  Communicator& communicator_;
  ImmediateStream stream_;
  std::vector<std::vector<std::byte>> workspaces_;
};

template <class T>
View view(Values<T>& values) {
  return {values.data(), std::ssize(values), dtype_of<T>};
}
template <class T>
View part(Values<T>& values, std::int64_t first, std::int64_t count) {
  return {values.data() + first, count, dtype_of<T>};
}

/// Scrambled bits of (rank, element): the finaliser of MurmurHash3.
inline std::uint64_t scramble(int rank, std::int64_t element) {
  std::uint64_t x = static_cast<std::uint64_t>(rank + 1) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(element);
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdU;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33);
}

/// An element whose sums depend on their order: magnitudes from 1/16 to 16, both signs; integers of any value.
template <class T>
T element_of(int rank, std::int64_t element) {
  const std::uint64_t bits = scramble(rank, element);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else {
    const double fraction = 1.0 + static_cast<double>(bits >> 12) * 0x1p-52;
    const double value = std::ldexp(fraction, static_cast<int>(bits % 8) - 4) * ((bits & 8) != 0 ? -1 : 1);
    if constexpr (std::is_same_v<T, double>) {
      return value;
    } else {
      return T(static_cast<float>(value));
    }
  }
}

template <class T>
Values<T> elements(int rank, std::int64_t count, std::int64_t first = 0) {
  Values<T> values;
  for (std::int64_t e = 0; e < count; ++e) {
    values.push_back(element_of<T>(rank, first + e));
  }
  return values;
}

/// The serial sum (max) over ranks 0 .. ranks-1, by definition: in order, in fp32 for 16-bit floats, rounded once.
template <class T>
Values<T> reduced(int ranks, std::int64_t count, ReduceOp op, std::int64_t first = 0) {
  using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, std::conditional_t<sizeof(T) == 2, float, T>>;
  Values<T> result;
  for (std::int64_t e = 0; e < count; ++e) {
    if (op == ReduceOp::max) {
      T largest = element_of<T>(0, first + e);
      for (int rank = 1; rank < ranks; ++rank) {
        const T other = element_of<T>(rank, first + e);
        if constexpr (std::is_integral_v<T>) {
          largest = std::max(largest, other);
        } else {
          largest = static_cast<double>(static_cast<Wide>(other)) > static_cast<double>(static_cast<Wide>(largest))
                        ? other
                        : largest;
        }
      }
      result.push_back(largest);
      continue;
    }
    Wide sum = static_cast<Wide>(element_of<T>(0, first + e));
    for (int rank = 1; rank < ranks; ++rank) {
      sum += static_cast<Wide>(element_of<T>(rank, first + e));
    }
    result.push_back(static_cast<T>(sum));
  }
  return result;
}

/// Equal bit by bit; false also when the sizes differ.
template <class T>
bool same_bits(const Values<T>& a, const Values<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Calls `check` with a value of each C++ element type.
template <class Check>
void for_each_element_type(const Check& check) {
  check(double{});
  check(float{});
  check(BFloat16{});
  check(Float16{});
  check(std::int64_t{});
  check(std::int32_t{});
  check(std::uint16_t{});
  check(std::uint8_t{});
}

}  // namespace tessera::test
