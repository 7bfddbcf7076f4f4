// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <core/module/module.hpp>

#include "greeting.hpp"

namespace {

class Polite : public Greeting {
 public:
  explicit Polite(std::string name) : name_(std::move(name)) {}
  std::string text() const override { return "how do you do, " + name_; }

 private:
  std::string name_;
};

}  // namespace

TESSERA_MODULE(greeting, polite, "asks how you do") {
  registrar.add<Greeting>("polite", [](const tessera::Settings& settings) {
    return std::make_unique<Polite>(settings.get<std::string>("polite.whom"));
  });
}
