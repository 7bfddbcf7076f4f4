// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  an interface that only these tests know.
// Used: the fixtures that implement it, the tests that create it.
// Must not know: modules.
#pragma once

#include <string>

namespace tessera {

class Greeter {
 public:
  virtual ~Greeter() = default;
  virtual std::string greet() const = 0;
};

}  // namespace tessera
