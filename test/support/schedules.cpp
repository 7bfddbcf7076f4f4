// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/schedules.hpp"

#include "core/base/error.hpp"
#include "modules/schedule/gpipe/gpipe.hpp"
#include "modules/schedule/interleaved/interleaved.hpp"
#include "modules/schedule/one_f_one_b/one_f_one_b.hpp"
#include "modules/schedule/zero_bubble/zero_bubble.hpp"

namespace tessera::testing_support {

const Schedule& schedule_of(std::string_view name) {
  static const GPipe gpipe;
  static const OneFOneB one_f_one_b;
  static const Interleaved interleaved;
  static const ZeroBubble zero_bubble;
  if (name == "gpipe") return gpipe;
  if (name == "one_f_one_b") return one_f_one_b;
  if (name == "interleaved") return interleaved;
  TESSERA_CHECK(name == "zero_bubble", std::string(name));
  return zero_bubble;
}

}  // namespace tessera::testing_support
