// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Random models in random layouts on random data train as one rank does. TESSERA_RANDOM_LAYOUTS says how many (200),
// TESSERA_RANDOM_SEED where they start (a failing case prints its own seed: run it alone with 1 and that seed).
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <cctype>
#include <cstdlib>
#include <map>

#include "core/base/counter_rng.hpp"
#include "core/config/expert_layers.hpp"
#include "test/support/context_strategies.hpp"
#include "test/support/layout_run.hpp"

namespace tessera {
namespace {

using testing_support::LayoutChoice;
using testing_support::TrainingResult;
using testing_support::TrainingShape;

constexpr int k_most_ranks = 12;

std::int64_t number_in_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

/// Draws of one case.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(seed, hash_name("random layouts")) {}

  /// A whole number in [low, high].
  int number(int low, int high) { return low + static_cast<int>(rng_.uniform(next_++) * (high - low + 1)); }
  bool chance(double probability) { return rng_.uniform(next_++) < probability; }
  template <class T>
  const T& one_of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(number(0, static_cast<int>(values.size()) - 1))];
  }
  int divisor_of(int whole) {
    std::vector<int> divisors;
    for (int d = 1; d <= whole; ++d)
      if (whole % d == 0) divisors.push_back(d);
    return one_of(divisors);
  }

 private:
  CounterRng rng_;
  std::uint64_t next_ = 0;
};

struct RandomCase {
  TrainingShape shape;
  LayoutChoice layout;
};

/// Each layer with one half, at least one.
std::vector<int> draw_layers(Draw& draw, std::int64_t layers) {
  std::vector<int> chosen;
  for (int layer = 0; layer < static_cast<int>(layers); ++layer)
    if (draw.chance(0.5)) chosen.push_back(layer);
  if (chosen.empty()) chosen.push_back(draw.number(0, static_cast<int>(layers) - 1));
  return chosen;
}

void draw_experts(Draw& draw, std::int64_t layers, ExpertConfig& e, LayoutChoice& layout) {
  e.groups = draw.number(1, 2);
  e.count = e.groups * draw.number(1, 4);
  e.groups_per_token = draw.number(1, static_cast<int>(e.groups));
  e.per_token = draw.number(1, static_cast<int>(e.count / e.groups * e.groups_per_token));
  e.ffn = draw.number(1, 12);
  e.shared_ffn = draw.chance(0.3) ? draw.number(1, 8) : 0;
  e.interval = draw.number(1, static_cast<int>(std::min<std::int64_t>(2, layers)));
  if (draw.chance(0.4)) e.layers = draw_layers(draw, layers);
  e.score = draw.chance(0.3) ? RouterScore::sigmoid : RouterScore::softmax;
  e.renormalise = draw.chance(0.6);
  e.scale = draw.chance(0.3) ? 2.5 : 1;
  e.aux_coefficient = draw.chance(0.7) ? 0.3 : 0;
  e.z_coefficient = draw.chance(0.3) ? 0.1 : 0;
  e.bias = draw.chance(0.4);
  e.bias_rate = 0.05;
  e.noise = draw.chance(0.3) ? 0.3 : 0;
  if (draw.chance(0.5)) e.rows = 0.1 * draw.number(1, 15);
  if (draw.chance(0.7)) layout.expert = draw.divisor_of(layout.tensor * layout.context * layout.data);
}

RandomCase draw_case(std::uint64_t seed) {
  Draw draw(seed);
  RandomCase c;
  LayoutChoice& l = c.layout;
  do {
    l.tensor = draw.chance(0.5) ? draw.number(2, 6) : 1;
    l.context = draw.chance(0.5) ? draw.number(2, 4) : 1;
    l.pipeline = draw.chance(0.5) ? draw.number(2, 4) : 1;
    l.data = draw.chance(0.4) ? draw.number(2, 3) : 1;
  } while (l.ranks() > k_most_ranks);
  l.sequence = l.tensor > 1 && draw.chance(0.6);
  l.context_strategy = draw.one_of(test::context_strategies());
  l.schedule = draw.one_of(std::vector<std::string>{"gpipe", "one_f_one_b", "interleaved", "zero_bubble"});
  l.chunks = l.pipeline > 1 && l.schedule == "interleaved" ? draw.number(1, 3) : 1;

  TrainingShape& s = c.shape;
  ModelConfig& m = s.model;
  m.architecture = draw.chance(0.3) ? Architecture::gpt : Architecture::llama;
  m.layers = l.pipeline * l.chunks + draw.number(0, 2);
  m.heads = draw.chance(0.85) ? l.tensor * draw.number(1, 3) : draw.number(1, 8);
  m.kv_heads = m.architecture == Architecture::gpt ? m.heads : draw.divisor_of(static_cast<int>(m.heads));
  m.hidden = m.heads * 2 * draw.number(1, 3);
  m.head_size = draw.chance(0.2) ? 2 * draw.number(1, 4) : 0;
  m.ffn = draw.number(1, 30);
  m.vocab = draw.number(2, 60);
  m.sequence = draw.number(1, 24);
  if (l.context > 1 && draw.chance(0.8)) m.sequence = l.context * draw.number(1, 7);  // as the ring asks
  m.biases = draw.chance(0.3);
  m.qk_norm = draw.chance(0.3);
  m.tied = draw.chance(0.4);
  m.dropout = draw.chance(0.3) ? 0.2 : 0;
  if (m.architecture == Architecture::llama && draw.chance(0.5)) draw_experts(draw, m.layers, m.experts, l);
  s.micro_batch = draw.number(1, 3);
  s.global_batch = s.micro_batch * l.data * draw.number(1, 6);
  s.clip = draw.chance(0.5) ? 0.1 : 0;
  s.data_seed = seed;
  s.steps = m.experts.bias ? 3 : 2;
  return c;
}

std::string describe_experts(const ModelConfig& m) {
  const ExpertConfig& e = m.experts;
  if (e.count == 0) return "";
  return fmt::format(
      ", {} of {} experts of {}, {} of {} groups, layers {}, shared {}, {}{}{} x {}, aux {} z {} noise {} rows {}",
      e.per_token, e.count, e.ffn, e.groups_per_token, e.groups, expert_layers_text(m.expert_layers()), e.shared_ffn,
      e.score == RouterScore::sigmoid ? "sigmoid" : "softmax", e.renormalise ? " renormalised" : "",
      e.bias ? " biased" : "", e.scale, e.aux_coefficient, e.z_coefficient, e.noise, e.rows);
}

std::string describe(const RandomCase& c) {
  const ModelConfig& m = c.shape.model;
  return fmt::format(
             "{}: {} layers {} hidden {} heads {}/{} of {} ffn {} vocab {} sequence {}{}{}{} dropout {}, batch {} of "
             "{}",
             name_of(c.layout), m.architecture == Architecture::gpt ? "gpt" : "llama", m.layers, m.hidden, m.heads,
             m.kv_heads, m.head_dim(), m.ffn, m.vocab, m.sequence, m.biases ? " biases" : "",
             m.qk_norm ? " qk_norm" : "", m.tied ? " tied" : "", m.dropout, c.shape.global_batch, c.shape.micro_batch) +
         describe_experts(m);
}

/// A reason of refusal without its numbers.
std::string kind_of(std::string reason) {
  std::string kind;
  for (char c : reason)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0)
      kind += c;
    else if (!kind.ends_with('#'))
      kind += '#';
  return kind;
}

TEST(RandomLayouts, TrainAsOneRankDoes) {
  const std::int64_t cases = number_in_environment("TESSERA_RANDOM_LAYOUTS", 200);
  const std::int64_t start = number_in_environment("TESSERA_RANDOM_SEED", 1);
  int compared = 0;
  std::map<std::string, int> refused;
  for (std::int64_t seed = start; compared < cases && seed < start + 3 * cases; ++seed) {
    const RandomCase c = draw_case(static_cast<std::uint64_t>(seed));
    TrainingShape alone = c.shape;
    alone.micro_batch = 1;
    alone.head_pieces = 1;
    try {
      const TrainingResult result = train_layout(c.shape, c.layout);
      EXPECT_EQ(difference(result, train_layout(alone, {})), "") << "seed " << seed << ": " << describe(c);
      ++compared;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::configuration)
          << "seed " << seed << ": " << describe(c) << ": " << error.what();
      ++refused[kind_of(error.what())];
    }
  }
  fmt::print("{} random layouts compared, seeds from {}\n", compared, start);
  for (const auto& [reason, count] : refused) fmt::print("{} refused: {}\n", count, reason);
  EXPECT_EQ(compared, cases);
}

}  // namespace
}  // namespace tessera
