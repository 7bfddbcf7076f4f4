// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  an interface of this project, which the engine knows nothing about.
// Used: the module that implements it, the program that asks for it.
// Must not know: how modules are found.
#pragma once

#include <string>

class Greeting {
 public:
  virtual ~Greeting() = default;
  virtual std::string text() const = 0;
};
