// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/tensor_value.hpp"

#include <cmath>
#include <cstring>

#include "core/base/counter_rng.hpp"
#include "core/base/half.hpp"

namespace tessera::test {
namespace {

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <class T>
T get(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void write(DType dtype, std::byte* at, double value) {
  switch (dtype) {
    case DType::f64:
      return put(at, value);
    case DType::f32:
      return put(at, static_cast<float>(value));
    case DType::bf16:
      return put(at, BFloat16(static_cast<float>(value)));
    case DType::f16:
      return put(at, Float16(static_cast<float>(value)));
    case DType::i64:
      return put(at, static_cast<std::int64_t>(value));
    case DType::i32:
      return put(at, static_cast<std::int32_t>(value));
    case DType::u16:
      return put(at, static_cast<std::uint16_t>(value));
    case DType::u8:
      return put(at, static_cast<std::uint8_t>(value));
  }
}

double read(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::f64:
      return get<double>(at);
    case DType::f32:
      return get<float>(at);
    case DType::bf16:
      return static_cast<float>(get<BFloat16>(at));
    case DType::f16:
      return static_cast<float>(get<Float16>(at));
    case DType::i64:
      return static_cast<double>(get<std::int64_t>(at));
    case DType::i32:
      return get<std::int32_t>(at);
    case DType::u16:
      return get<std::uint16_t>(at);
    case DType::u8:
      return get<std::uint8_t>(at);
  }
  return std::nan("");
}

}  // namespace

TensorValue::TensorValue(DType dtype, const Shape& shape)
    : TensorValue(dtype, shape,
                  Values(static_cast<std::size_t>(shape.count()), is_floating(dtype) ? std::nan("") : 0.0)) {}

TensorValue::TensorValue(DType dtype, const Shape& shape, const Values& values)
    : bytes_(static_cast<std::size_t>(std::max<std::int64_t>(1, shape.count() * size_of(dtype)))),
      tensor_{bytes_.data(), shape, {}, dtype} {
  TESSERA_CHECK(static_cast<std::int64_t>(values.size()) == shape.count(), to_string(shape));
  for (std::size_t i = 0; i < values.size(); ++i)
    write(dtype, bytes_.data() + i * static_cast<std::size_t>(size_of(dtype)), values[i]);
}

TensorValue TensorValue::absent(DType dtype, const Shape& shape) {
  TensorValue value(dtype, shape);
  value.bytes_.clear();
  value.tensor_.data = nullptr;
  return value;
}

TensorValue&& TensorValue::starting_at(int dim, std::int64_t index) && {
  tensor_.start[static_cast<std::size_t>(dim)] = index;
  return std::move(*this);
}

TensorValue& TensorValue::operator=(const TensorValue& other) {
  bytes_ = other.bytes_;
  tensor_ = other.tensor_;
  if (tensor_.data != nullptr) tensor_.data = bytes_.data();
  return *this;
}

Values TensorValue::values() const {
  Values values(static_cast<std::size_t>(tensor_.count()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = read(tensor_.dtype, bytes_.data() + i * static_cast<std::size_t>(size_of(tensor_.dtype)));
  return values;
}

Values random_values(std::uint64_t seed, std::int64_t count) {
  const CounterRng rng(seed, hash_name("test values"));
  Values values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 2 * rng.uniform(i) - 1;
  return values;
}

Values random_integers(std::uint64_t seed, std::int64_t count, std::int64_t low, std::int64_t high) {
  const CounterRng rng(seed, hash_name("test integers"));
  Values values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(low) + std::floor(rng.uniform(i) * static_cast<double>(high - low));
  return values;
}

Values rounded(DType dtype, const Values& values) {
  return TensorValue(dtype, {static_cast<std::int64_t>(values.size())}, values).values();
}

}  // namespace tessera::test
