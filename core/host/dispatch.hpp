// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  from a floating DType at run time to its C++ element type.
// Used: functions of the host that are not found through the kernel table.
// Must not know: what is done with the type.
#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/base/half.hpp"

namespace tessera::host {

/// Calls action.operator()<T>() with the element type of a floating dtype.
template <class Action>
void with_floating(DType dtype, const Action& action) {
  switch (dtype) {
    case DType::f64:
      return action.template operator()<double>();
    case DType::f32:
      return action.template operator()<float>();
    case DType::bf16:
      return action.template operator()<BFloat16>();
    case DType::f16:
      return action.template operator()<Float16>();
    default:
      TESSERA_CHECK(is_floating(dtype), std::string(name_of(dtype)));
  }
}

}  // namespace tessera::host
