// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/types.hpp"

#include <hdf5.h>

#include <array>

namespace tessera::io::hdf5 {
namespace {

struct ElementInfo {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<ElementInfo, 10> k_elements{{{"f64", 8},
                                                  {"f32", 4},
                                                  {"bf16", 2},
                                                  {"f16", 2},
                                                  {"i64", 8},
                                                  {"i32", 4},
                                                  {"u16", 2},
                                                  {"u8", 1},
                                                  {"u32", 4},
                                                  {"u64", 8}}};

/// A float of 16 bits: sign, `exponent_bits`, mantissa with a hidden one.
Object small_float(std::size_t exponent_bits) {
  constexpr Place place{"describe", "a 16-bit float"};
  const std::size_t mantissa_bits = 15 - exponent_bits;
  Object type = own(H5Tcopy(H5T_IEEE_F32LE), ErrorKind::internal, place);
  check(H5Tset_fields(type.get(), 15, mantissa_bits, exponent_bits, 0, mantissa_bits), ErrorKind::internal, place);
  check(H5Tset_ebias(type.get(), (std::size_t{1} << (exponent_bits - 1)) - 1), ErrorKind::internal, place);
  check(H5Tset_precision(type.get(), 16), ErrorKind::internal, place);
  check(H5Tset_size(type.get(), 2), ErrorKind::internal, place);
  return type;
}

Id plain_type(Element element) {
  switch (element) {
    case Element::f64:
      return H5T_IEEE_F64LE;
    case Element::f32:
      return H5T_IEEE_F32LE;
    case Element::i64:
      return H5T_STD_I64LE;
    case Element::i32:
      return H5T_STD_I32LE;
    case Element::u16:
      return H5T_STD_U16LE;
    case Element::u8:
      return H5T_STD_U8LE;
    case Element::u32:
      return H5T_STD_U32LE;
    case Element::u64:
      return H5T_STD_U64LE;
    case Element::bf16:
    case Element::f16:
      break;
  }
  return -1;
}

}  // namespace

std::int64_t size_of(Element element) {
  return k_elements[static_cast<std::size_t>(element)].bytes;
}
std::string_view name_of(Element element) {
  return k_elements[static_cast<std::size_t>(element)].name;
}

Object type_of(Element element) {
  if (element == Element::bf16) return small_float(8);
  if (element == Element::f16) return small_float(5);
  return own(H5Tcopy(plain_type(element)), ErrorKind::internal, {"describe", "an element type"});
}

std::optional<Element> element_of_type(Id type) {
  for (std::size_t i = 0; i < k_elements.size(); ++i) {
    const auto element = static_cast<Element>(i);
    if (H5Tequal(type, type_of(element).get()) > 0) return element;
  }
  return std::nullopt;
}

}  // namespace tessera::io::hdf5
