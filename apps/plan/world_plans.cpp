// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/plan/world_plans.hpp"

#include <map>

#include "core/scheduler/world_verifier.hpp"
#include "mpi/world.hpp"

namespace tessera::apps {
namespace {

class WorldCompiler {
 public:
  WorldCompiler(const EngineParts& parts, const ModelConfig& model, std::int64_t global_batch)
      : parts_(parts),
        mesh_(parts.mesh()),
        strategies_(parts.strategies()),
        pipeline_(parts.pipeline()),
        target_{parts.kernels(), parts.device().threads(), mpi::workspace_bytes},
        args_{model,        parts.dtype(),       mesh_, strategies_, target_, parts.optimizer(), parts.clip(),
              global_batch, parts.micro_batch(), 0,     pipeline_},
        training_(mesh_),
        evaluation_(mesh_) {}

  WorldPlans compile(int rank) {
    const AxisId stage_axis = mesh_.find("pp");
    for (int r : mesh_.group(rank, AxisSet::of(stage_axis))) result_.stages.push_back(compile_plans(args_, r));
    const std::vector<int> classes = classes_of(AxisSet::of(stage_axis));
    std::map<int, std::vector<int>> ranks;
    for (int r = 0; r < mesh_.size(); ++r) ranks[classes[static_cast<std::size_t>(r)]].push_back(r);
    for (const auto& [first, members] : ranks) add(first, members);
    result_.differences = training_.differences();
    for (std::string& difference : evaluation_.differences())
      result_.differences.push_back("evaluation: " + difference);
    result_.calls = training_.calls() + evaluation_.calls();
    result_.series = training_.series() + evaluation_.series();
    return std::move(result_);
  }

 private:
  std::vector<int> classes_of(AxisSet apart) const {
    std::vector<const Graph*> graphs;
    for (const StepPlans& plans : result_.stages)
      for (const Compiled* compiled : {&plans.training, &plans.evaluation}) {
        graphs.push_back(&compiled->graph);
        apart = apart | message_axes(compiled->plan);
      }
    return rank_classes(mesh_, graphs, apart);
  }

  void add(int first, const std::vector<int>& ranks) {
    ++result_.compiled;
    for (const StepPlans& plans : result_.stages)
      if (plans.training.plan.rank == first) return add(plans, ranks);
    add(compile_plans(args_, first), ranks);
  }

  void add(const StepPlans& plans, const std::vector<int>& ranks) {
    training_.add(plans.training.plan, ranks);
    evaluation_.add(plans.evaluation.plan, ranks);
  }

  const EngineParts& parts_;
  const Mesh& mesh_;
  std::vector<const Strategy*> strategies_;
  PipelineArgs pipeline_;
  Target target_;
  PlanArgs args_;
  WorldVerifier training_, evaluation_;
  WorldPlans result_;
};

}  // namespace

WorldPlans compile_world(const EngineParts& parts, const ModelConfig& model, std::int64_t global_batch, int rank) {
  return WorldCompiler(parts, model, global_batch).compile(rank);
}

}  // namespace tessera::apps
