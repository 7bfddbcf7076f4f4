// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/registry.hpp"

#include <gmock/gmock.h>

#include "core/base/error.hpp"
#include "core/config/resolve.hpp"
#include "test/unit/module/greeter.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Polite : public Greeter {
 public:
  explicit Polite(int times) : times_(times) {}
  std::string greet() const override { return std::to_string(times_) + " times hello"; }

 private:
  int times_;
};

struct Table {
  int rows = 0;
};

std::unique_ptr<Polite> make_polite(const Settings& settings) {
  return std::make_unique<Polite>(settings.get<int>("model.layers"));
}

TEST(RegistryTest, MakesObjectsByTypeAndName) {
  Registry registry;
  registry.add<Greeter>("polite", make_polite);
  registry.add<Table>("polite", [](const Settings&) { return std::make_unique<Table>(Table{3}); });
  const Settings settings = settings_of({{"model.layers", "7"}});
  EXPECT_EQ(registry.create<Greeter>("polite", settings)->greet(), "7 times hello");
  EXPECT_EQ(registry.create<Table>("polite", settings)->rows, 3);
  EXPECT_FALSE(registry.has<Greeter>("rude"));
}

TEST(RegistryTest, NamesAreSortedPerType) {
  Registry registry;
  for (const char* name : {"b", "a", "c"}) registry.add<Greeter>(name, make_polite);
  registry.add<Table>("t", [](const Settings&) { return std::make_unique<Table>(); });
  EXPECT_THAT(registry.names<Greeter>(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(registry.names<Table>(), ElementsAre("t"));
}

template <class Action>
std::pair<std::string, std::string> error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.what(), error.hint()};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(RegistryTest, UnknownNamesAreErrorsWithAHint) {
  Registry registry;
  EXPECT_EQ(error_of([&] { registry.create<Greeter>("polite", {}); }),
            std::pair(std::string("there is no tessera::Greeter named 'polite'"),
                      std::string("None is registered: its module was not loaded.")));
  registry.add<Greeter>("polite", make_polite);
  EXPECT_EQ(error_of([&] { registry.create<Greeter>("polit", {}); }).second, "did you mean polite?");
  EXPECT_EQ(error_of([&] { registry.create<Greeter>("xyz", {}); }).second, "There are: polite");
}

TEST(RegistryTest, ANameIsGivenOnce) {
  Registry registry;
  registry.add<Greeter>("polite", make_polite);
  EXPECT_THAT(error_of([&] { registry.add<Greeter>("polite", make_polite, "test/x"); }).first,
              HasSubstr("test/x adds a tessera::Greeter named 'polite', which core has added already"));
  Registrar registrar(registry, "test/y");
  EXPECT_THAT(error_of([&] { registrar.add<Greeter>("polite", make_polite); }).first,
              HasSubstr("which core has added"));
  registrar.add<Greeter>("other", make_polite);
  EXPECT_THAT(error_of([&] { registrar.add<Greeter>("other", make_polite); }).first,
              HasSubstr("which it has added already"));
}

TEST(RegistryTest, NothingIsThereBeforeACommit) {
  Registry registry;
  Registrar registrar(registry, "test/x");
  registrar.add<Greeter>("a", make_polite);
  registrar.add<Greeter>("b", make_polite);
  EXPECT_FALSE(registry.has<Greeter>("a"));
  EXPECT_EQ(registrar.commit(), 2U);
  EXPECT_THAT(registry.names<Greeter>(), ElementsAre("a", "b"));
  EXPECT_EQ(registry.owner<Greeter>("b"), "test/x");
}

}  // namespace
}  // namespace tessera
