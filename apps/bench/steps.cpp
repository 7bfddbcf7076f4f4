// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/steps.hpp"

#include "apps/bench/bench_model.hpp"
#include "apps/bench/products.hpp"
#include "apps/bench/samples.hpp"
#include "apps/least_memory.hpp"
#include "apps/memory_check.hpp"

namespace tessera::apps {
namespace {

constexpr int k_warm_up_steps = 2;

}  // namespace

StepBench::StepBench(Ranks& ranks, const Run& run) {
  const Settings& settings = run.settings();
  ranks.agreed([&] {
    setup_ = std::make_unique<EngineSetup>(ranks, run);
    model_ = bench_model(settings);
    global_batch_ = bench_global_batch(settings, setup_->mesh());
    source_ = std::make_unique<RandomSource>(model_.vocab);
    check_counts(model_, global_batch_, settings);
    check_needs(training_needs(model_, global_batch_, settings, ranks.world().size()), memory_limit(settings, ranks));
    setup_->compile(model_, global_batch_, {.trace = &events_});
  });
  Engine& engine = setup_->engine();
  engine.connect();
  ranks.agreed([&] { check_memory(engine.memory().total(), resident_bytes(), memory_limit(settings, ranks)); });
  engine.allocate();
  events_.reserve(count_events(engine.training().plan));
}

DType StepBench::dtype() const {
  const std::vector<Bucket>& buckets = setup_->engine().training().plan.buckets;
  return buckets.empty() ? DType::f32 : buckets.front().dtype;
}

void StepBench::step() {
  const StepOutcome outcome =
      setup_->engine().step(*source_, steps_ * global_batch_, {.update = steps_ + 1, .learning_rate = 1e-4});
  ++steps_;
  loss_ = outcome.loss;
}

StepTimes StepBench::measure(int repetitions) {
  const Plan& plan = setup_->engine().training().plan;
  const std::vector<Product> products = products_of_plan(plan);
  ProductBench bench(products, dtype(), setup_->device().threads());
  StepTimes times;
  for (const Product& product : products) times.product_flops += product.flops();
  warm_up();

  TraceCosts costs(plan);
  const CpuShare share;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    add_step(times, costs);
    const double begin = now_seconds();
    for (const Product& product : products) bench.run(product);
    times.products.push_back(now_seconds() - begin);
  }
  times.cpu_share = share.of(setup_->device().threads());
  times.ops = costs.costs();
  times.loss = loss_;
  return times;
}

StepTimes StepBench::measure_steps(std::int64_t count) {
  StepTimes times;
  TraceCosts costs(setup_->engine().training().plan);
  const CpuShare share;
  for (std::int64_t i = 0; i < count; ++i) add_step(times, costs);
  times.cpu_share = share.of(setup_->device().threads());
  times.ops = costs.costs();
  times.loss = loss_;
  return times;
}

void StepBench::warm_up() {
  for (int i = 0; i < k_warm_up_steps; ++i) step();
}

void StepBench::add_step(StepTimes& times, TraceCosts& costs) {
  const double begin = now_seconds();
  step();
  times.step.push_back(now_seconds() - begin);
  costs.add_step(events_);
}

}  // namespace tessera::apps
