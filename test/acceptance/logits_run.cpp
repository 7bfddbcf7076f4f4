// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "logits_run.hpp"

#include <mutex>

#include "core/host/host_device.hpp"
#include "core/scheduler/executor.hpp"
#include "core/train/reordered_source.hpp"

namespace tessera::acceptance {
namespace {

using testing_support::TrainingCase;

/// The plan of one rank in memory of its own.
class LogitsRank {
 public:
  LogitsRank(const TrainingCase& run, const Mesh& mesh, Communicator& world)
      : device_(1), kernels_(testing_support::all_kernels(device_)), compiled_(compiled(run, mesh, world.rank())) {
    communicators_.emplace(world, mesh, compiled_.plan.communicators);
    arena_.emplace(device_, compiled_.plan.memory);
    testing_support::set_reference_weights(tensor_parts("model", mesh, compiled_.plan, compiled_.graph, *arena_,
                                                        [](const Bucket& b, std::size_t) { return b.weights; }));
  }

  void fill(BatchSource& source) {
    BatchView view;
    const auto data = [&](std::size_t i) {
      return arena_->at(address_in(compiled_.plan, {}, compiled_.plan.inputs[i].at));
    };
    for (std::size_t i = 0; i < compiled_.plan.inputs.size(); ++i) {
      const Operand& input = compiled_.plan.inputs[i];
      const std::string& name = compiled_.plan.input_names[i];
      if (name == "ids") view.tokens = {input.tensor.start, input.tensor.shape};
      if (name == "mask") view.mask = data(i), view.mask_dtype = input.tensor.dtype;
      if (name == "sample") view.sample = reinterpret_cast<std::int64_t*>(data(i));
      const std::pair<const char*, std::int32_t*&> arrays[] = {{"ids", view.ids},
                                                               {"target", view.target},
                                                               {"position", view.position},
                                                               {"index", view.index},
                                                               {"document", view.document}};
      for (const auto& [array, pointer] : arrays)
        if (name == array) pointer = reinterpret_cast<std::int32_t*>(data(i));
    }
    source.fill(0, 1, view);
  }

  void run() { Executor(compiled_.plan, *arena_, device_, *communicators_, {}).run({}); }

  /// Puts this rank's part [s, 1, v] in its place; `order` are the places of the rows of the batch.
  void add_to(std::vector<double>& logits, const std::vector<std::int64_t>& order, std::int64_t vocab) const {
    const Tensor& part = compiled_.plan.logits.tensor;
    const std::byte* const data = arena_->at(compiled_.plan.logits.at);
    for (std::int64_t r = 0; r < part.shape[0]; ++r)
      for (std::int64_t v = 0; v < part.shape[2]; ++v) {
        const std::int64_t at = r * part.shape[2] + v, place = order[static_cast<std::size_t>(part.start[0] + r)];
        logits[static_cast<std::size_t>(place * vocab + part.start[2] + v)] =
            part.dtype == DType::f64 ? reinterpret_cast<const double*>(data)[at]
                                     : static_cast<double>(reinterpret_cast<const float*>(data)[at]);
      }
  }

 private:
  Compiled compiled(const TrainingCase& run, const Mesh& mesh, int rank) const {
    const ModelGraph model = build_model(run.model, {run.model.sequence, 1, 1}, ModelPurpose::generate, run.dtype);
    const Target target{kernels_, 1, [](CallKind, std::int64_t, DType, int) { return std::int64_t{0}; }};
    return compile({model, mesh, rank, run.strategies, target, 1, std::nullopt, nullptr});
  }

  HostDevice device_;
  KernelTable kernels_;
  Compiled compiled_;
  std::optional<AxisCommunicators> communicators_;
  std::optional<Arena> arena_;
};

}  // namespace

std::vector<double> logits_of(const TrainingCase& run, BatchSource& source) {
  const Mesh mesh(run.axes);
  const std::vector<Range> runs = sequence_order(run.strategies, run.model.sequence, mesh);
  std::vector<std::int64_t> order;
  for (const Range& part : runs.empty() ? std::vector<Range>{{0, run.model.sequence}} : runs)
    for (std::int64_t place = part.begin; place < part.end; ++place) order.push_back(place);
  std::vector<double> logits(static_cast<std::size_t>(run.model.sequence * run.model.vocab));
  std::mutex mutex;
  run_ranks(mesh.size(), [&](Communicator& world) {
    LogitsRank rank(run, mesh, world);
    ReorderedSource reordered(source, runs);
    rank.fill(reordered);
    rank.run();
    const std::lock_guard lock(mutex);
    rank.add_to(logits, order, run.model.vocab);
  });
  return logits;
}

}  // namespace tessera::acceptance
