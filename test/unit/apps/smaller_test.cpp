// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// A run in small is cut by its layout as the large one is.
#include "apps/verify/smaller.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "core/config/core_options.hpp"
#include "core/config/layer_counts.hpp"
#include "core/config/resolve.hpp"
#include "core/config/run_rules.hpp"
#include "core/model/model_settings.hpp"

namespace tessera::apps {
namespace {

TEST(Shrunk, KeepsTheCommonDivisor) {
  EXPECT_EQ(shrunk(8192, 100, 8), 104);
  EXPECT_EQ(shrunk(131, 100, 2), 101);
  EXPECT_EQ(shrunk(80, 16, 8), 16);
  EXPECT_EQ(shrunk(13, 8, 4), 9);
  EXPECT_EQ(shrunk(5, 6, 3), 5) << "never larger";
  EXPECT_EQ(shrunk(12, 7, 8), 12) << "nothing between shares as 12 does";
  EXPECT_EQ(shrunk(1, 2, 4), 1);
}

struct Sizes {
  std::int64_t tensor = 1, context = 1, pipeline = 1, chunks = 1, data = 1;
  std::int64_t key_heads = 1, group = 1, head_dim = 2, ffn = 1, vocab = 1, sequence = 1, layers = 1;
  std::int64_t micro_batches = 1, micro_batch = 1;
};

Sizes random_sizes(std::mt19937& random) {
  const auto in = [&](std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(first, last)(random);
  };
  Sizes s;
  s.tensor = std::int64_t{1} << in(0, 3);
  s.context = std::int64_t{1} << in(0, 1);
  s.pipeline = in(1, 4);
  s.chunks = in(1, 3);
  s.data = in(1, 3);
  s.key_heads = in(1, 16);
  s.group = s.tensor * s.context / std::gcd(s.key_heads, s.tensor * s.context) * in(1, 4);  // queries can be shared
  s.head_dim = 2 * in(1, 64);
  s.ffn = in(1, 30000);
  s.vocab = in(1, 130000);
  s.sequence = in(1, 8192);
  s.layers = s.pipeline * s.chunks + in(0, 90);
  s.micro_batches = in(1, 64);
  s.micro_batch = in(1, 8);
  return s;
}

Settings settings_of_sizes(const Sizes& s) {
  const std::pair<const char*, std::int64_t> values[]{
      {"parallel.tensor", s.tensor},
      {"parallel.context", s.context},
      {"parallel.pipeline", s.pipeline},
      {"parallel.chunks", s.chunks},
      {"model.heads", s.key_heads * s.group},
      {"model.kv_heads", s.key_heads},
      {"model.hidden", s.key_heads * s.group * s.head_dim},
      {"model.ffn", s.ffn},
      {"model.vocab", s.vocab},
      {"model.sequence", s.sequence},
      {"model.layers", s.layers},
      {"train.micro_batch", s.micro_batch},
      {"train.global_batch", s.micro_batch * s.micro_batches * s.data},
  };
  Settings settings = settings_of();
  for (const auto& [name, value] : values) settings.set(name, {value, {Origin::From::flag, name}, {}, false});
  return settings;
}

TEST(Smaller, IsSharedAsTheLargeOneIs) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const Sizes s = random_sizes(random);
    const Settings settings = settings_of_sizes(s);
    const auto world = static_cast<int>(s.tensor * s.context * s.pipeline * s.data);
    ASSERT_TRUE(check_run(settings, world).empty()) << check_run(settings, world)[0].what;
    const ModelConfig large = model_config(settings, 0);
    const Settings little = smaller(settings, large, world);
    const ModelConfig small = model_config(little, 0);
    ASSERT_TRUE(check_run(little, world).empty()) << check_run(little, world)[0].what;

    const std::int64_t tp = s.tensor, shares = s.tensor * s.context, chunks = s.pipeline * s.chunks;
    const auto same = [](std::int64_t a, std::int64_t b, std::int64_t unit) {
      EXPECT_LE(a, b);
      EXPECT_EQ(std::gcd(a, unit), std::gcd(b, unit)) << a << " instead of " << b << " in parts of " << unit;
    };
    same(small.key_heads(), large.key_heads(), shares);
    same(small.heads, large.heads, shares);
    EXPECT_EQ(small.heads / small.key_heads(), large.heads / large.key_heads());
    EXPECT_LE(small.head_dim(), 4);
    same(small.ffn, large.ffn, tp);
    same(small.vocab, large.vocab, tp);
    same(small.sequence, large.sequence, 2 * shares);
    EXPECT_LE(small.sequence, std::max<std::int64_t>(32, 32 + 2 * 2 * shares));
    same(small.layers, large.layers, chunks);
    EXPECT_LE(small.layers, std::max<std::int64_t>(4, chunks) + chunks);
    const auto batch = little.get<std::int64_t>("train.global_batch"),
               micro = little.get<std::int64_t>("train.micro_batch");
    EXPECT_LE(micro, 2);
    same(batch / (micro * s.data), s.micro_batches, s.pipeline);
    for (const char* degree : {"parallel.tensor", "parallel.context", "parallel.pipeline", "parallel.chunks"})
      EXPECT_EQ(little.text(degree), settings.text(degree));
    if (HasFailure()) return;
  }
}

TEST(Smaller, UnevenChunksStayUneven) {
  const Settings settings = settings_of({{"model.layers", "80"},
                                         {"model.vocab", "1000"},
                                         {"parallel.pipeline", "4"},
                                         {"parallel.layers", "19,20,20,21"}});
  const Settings little = smaller(settings, model_config(settings, 0), 4);
  EXPECT_EQ(layer_counts(little), (std::vector<int>{1, 2, 2, 3}));
  EXPECT_EQ(little.get<std::int64_t>("model.layers"), 8);
}

}  // namespace
}  // namespace tessera::apps
