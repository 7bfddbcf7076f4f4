// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a tensor that owns its memory and converts from and to double, so that a test can speak in doubles.
// Used: tests of kernels and of whatever holds tensors.
// Must not know: which op is tested.
#pragma once

#include <cstddef>
#include <vector>

#include "core/device/kernel.hpp"

namespace tessera::test {

using Values = std::vector<double>;

class TensorValue {
 public:
  /// Filled with NaN (integers: -1), to catch what is not written.
  TensorValue(DType dtype, const Shape& shape);
  /// Rounded to the dtype.
  TensorValue(DType dtype, const Shape& shape, const Values& values);

  /// An operand that is absent (an input) or that nobody reads (an output).
  static TensorValue absent(DType dtype, const Shape& shape);

  /// Where the local part starts in the global index space.
  TensorValue&& starting_at(int dim, std::int64_t index) &&;

  /// What the memory holds, exactly.
  Values values() const;

  const Tensor& tensor() const { return tensor_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

  TensorValue(const TensorValue& other) { *this = other; }
  TensorValue& operator=(const TensorValue& other);
  ~TensorValue() = default;

 private:
  std::vector<std::byte> bytes_;
  Tensor tensor_;
};

/// `count` numbers, uniform in [-1, 1), a function of the seed.
Values random_values(std::uint64_t seed, std::int64_t count);

/// Whole numbers in [low, high).
Values random_integers(std::uint64_t seed, std::int64_t count, std::int64_t low, std::int64_t high);

/// The values as the dtype holds them.
Values rounded(DType dtype, const Values& values);

}  // namespace tessera::test
