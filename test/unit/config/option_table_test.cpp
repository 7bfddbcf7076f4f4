// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "core/base/error.hpp"
#include "core/config/core_options.hpp"
#include "core/config/resolve.hpp"
#include "core/config/value.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(OptionTable, EveryNumberHasBounds) {
  for (const Option& option : core_options()) {
    const bool number = option.type == OptionType::integer || option.type == OptionType::real ||
                        option.type == OptionType::bytes || option.type == OptionType::duration;
    if (!number) continue;
    EXPECT_TRUE(std::isfinite(option.min) && std::isfinite(option.max)) << option.name;
  }
}

TEST(OptionTable, NamesThatScriptsRelyOnAreThere) {
  const std::vector<std::pair<std::string, std::string>> promised{
      {"model",
       "architecture preset layers hidden heads kv_heads ffn vocab sequence tied norm_epsilon rope_theta dropout "
       "experts experts_per_token expert_ffn expert_interval aux_coefficient biases qk_norm"},
      {"parallel", "tensor sequence pipeline chunks context expert"},
      {"strategy", "data context pipeline extra bucket_bytes"},
      {"zero", "stage prefetch_bytes shard_group"},
      {"train",
       "steps global_batch micro_batch seed precision recompute recompute_layers deterministic memory_limit stop_after "
       "eval_interval skip_limit watchdog trace"},
      {"optimizer", "name lr beta1 beta2 epsilon weight_decay clip"},
      {"lr", "schedule warmup_steps decay_steps min wsd_steps"},
      {"offload", "name path what"},
      {"data", "train valid split isolate_documents"},
      {"checkpoint", "dir interval resume async keep files"},
      {"log", "dir interval"}};
  const Settings settings = settings_of();
  for (const auto& [section, keys] : promised) {
    std::istringstream words(keys);
    for (std::string key; words >> key;) EXPECT_TRUE(settings.has(section + "." + key)) << section << "." << key;
  }
}

TEST(OptionTable, DefaultsAreValidAndNamesUnique) {
  std::set<std::string> names;
  for (const Option& option : core_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_FALSE(option.text.empty()) << option.name;
    EXPECT_TRUE(option.text.ends_with('.')) << option.name;
    EXPECT_FALSE(section_of(option.name).empty()) << option.name;
    const Fallback fallback = Fallback::parse(option.fallback);
    if (fallback.reference.empty()) {
      EXPECT_TRUE(parse_value(option, fallback.value).value) << option.name;
    }
    for (const Alias& alias : option.aliases) EXPECT_TRUE(names.insert(alias.flag).second) << alias.flag;
  }
}

TEST(OptionTable, FieldsOfARow) {
  const auto options = parse_options(R"([{"name": "muon.momentum", "type": "real", "default": 0.95, "min": 0, "max": 1,
      "level": "tuning", "ranks": "local", "aliases": ["muon-momentum", "no-muon=0"], "text": "Momentum.",
      "used_when": "optimizer.name=muon"}])",
                                     "optimizer/muon");
  ASSERT_EQ(options.size(), 1U);
  const Option& option = options.front();
  EXPECT_EQ(option.name, "muon.momentum");
  EXPECT_EQ(option.type, OptionType::real);
  EXPECT_EQ(option.fallback, "0.95");
  EXPECT_EQ(option.min, 0);
  EXPECT_EQ(option.max, 1);
  EXPECT_EQ(option.level, OptionLevel::tuning);
  EXPECT_EQ(option.ranks, OptionRanks::local);
  EXPECT_EQ(option.owner, "optimizer/muon");
  ASSERT_EQ(option.aliases.size(), 2U);
  EXPECT_TRUE(option.aliases[0].takes_value());
  EXPECT_EQ(option.aliases[1].flag, "no-muon");
  EXPECT_EQ(option.aliases[1].value, "0");
}

TEST(OptionTable, FaultyTablesAreRefusedWithTheField) {
  const std::vector<std::pair<const char*, const char*>> tables{
      {"[", "parse error"},
      {R"([3])", "a row is not an object"},
      {R"([{"type": "real"}])", "needs a text field \"name\""},
      {R"([{"name": "a.b", "type": "reel", "default": 0, "text": "x"}])", "a.b has an unknown type \"reel\""},
      {R"([{"name": "a.b", "type": "real", "text": "x"}])", "a.b needs a field \"default\""},
      {R"([{"name": "a.b", "type": "real", "default": 0}])", "a.b needs a text field \"text\""},
      {R"([{"name": "a.b", "type": "choice", "default": "x", "text": "x"}])", "a.b is a choice without"},
      {R"([{"name": "A.b", "type": "real", "default": 0, "text": "x"}])", "small letters"},
      {R"([{"name": "a.b", "type": "real", "default": [], "text": "x"}])", "neither text, number nor boolean"},
      {R"([{"name": "a.b", "type": "real", "default": 0, "text": "x", "mim": 0}])", "unknown field \"mim\""},
      {R"([{"name": "a.b", "type": "real", "default": 0, "text": "x", "min": "low"}])", "type must be number"},
      {R"([{"name": "a.b", "type": "real", "default": 0, "text": "x", "used_when": "zero"}])", "used_when"}};
  for (const auto& [json, message] : tables) {
    try {
      parse_options(json, "optimizer/x");
      FAIL() << json;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::configuration);
      EXPECT_THAT(error.what(), HasSubstr("optimizer/x"));
      EXPECT_THAT(error.what(), HasSubstr(message)) << json;
    }
  }
}

}  // namespace
}  // namespace tessera
