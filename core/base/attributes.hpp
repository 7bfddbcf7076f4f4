// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the constants of one op instance (an epsilon, a number of heads) as a small record of bytes.
// Used: nodes of the graph, kernels; compared bytewise when equal work is shared.
// Must not know: which op it belongs to.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace tessera {

class Attributes {
 public:
  static constexpr std::size_t k_bytes = 64;

  Attributes() = default;

  /// Stores a record. Records must be trivially copyable, at most 64 bytes, and without padding that is left undefined.
  template <class Record>
  static Attributes of(const Record& record) {
    static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) <= k_bytes);
    Attributes attributes;
    std::memcpy(attributes.bytes_.data(), &record, sizeof record);
    return attributes;
  }

  template <class Record>
  Record as() const {
    static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) <= k_bytes);
    Record record;
    std::memcpy(&record, bytes_.data(), sizeof record);
    return record;
  }

  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  alignas(8) std::array<std::byte, k_bytes> bytes_{};
};

}  // namespace tessera
