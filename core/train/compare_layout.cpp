// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/compare_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/comm/exchange.hpp"
#include "core/train/part_reports.hpp"

namespace tessera {
namespace {

/// Elements of a reference tensor that are sent at once.
constexpr std::int64_t k_piece = std::int64_t{1} << 22;

StepOutcome step_of(Engine& engine, BatchSource& source, const ComparedSteps& steps, std::int64_t step) {
  return engine.step(source, (step - 1) * steps.global_batch, {step, steps.learning_rate(step)});
}

double element(const TensorPart& part, std::int64_t i) {
  return part.dtype == DType::f64 ? static_cast<const double*>(part.data)[i] : static_cast<const float*>(part.data)[i];
}

/// Calls visit(local index, global index, length) for runs of a part's elements along the last dim, both indices
/// row-major.
template <class Visit>
void for_each_run(const TensorPart& part, Visit&& visit) {
  const int last = part.shape.rank() - 1;
  const std::int64_t length = part.slab.extent[last];
  if (part.data == nullptr || part.slab.extent.count() == 0) return;
  for (std::int64_t local = 0; local < part.slab.extent.count(); local += length) {
    std::int64_t global = part.slab.start[static_cast<std::size_t>(last)], stride = part.shape[last];
    for (std::int64_t d = last - 1, rest = local / length; d >= 0; --d) {
      const int dim = static_cast<int>(d);
      global += (part.slab.start[static_cast<std::size_t>(dim)] + rest % part.slab.extent[dim]) * stride;
      rest /= part.slab.extent[dim];
      stride *= part.shape[dim];
    }
    visit(local, global, length);
  }
}

/// The largest magnitude; infinite where something is not finite.
void raise(double& largest, double value) {
  const double magnitude = std::abs(value);
  if (magnitude <= largest) return;
  largest = std::isfinite(magnitude) ? magnitude : std::numeric_limits<double>::infinity();
}

/// The largest difference between a part and piece [first, first + piece.size()) of the whole tensor.
double difference_in(const TensorPart& part, std::int64_t first, const std::vector<double>& piece) {
  const std::int64_t end = first + static_cast<std::int64_t>(piece.size());
  double difference = 0;
  for_each_run(part, [&](std::int64_t local, std::int64_t global, std::int64_t length) {
    for (std::int64_t i = std::max(first - global, std::int64_t{0}); i < std::min(end - global, length); ++i)
      raise(difference, element(part, local + i) - piece[static_cast<std::size_t>(global + i - first)]);
  });
  return difference;
}

/// Auxiliary losses by value; loads are compared by what they lead to.
bool agree(const ExpertOutcome& actual, const ExpertOutcome& expected, double tolerance) {
  return relative_difference(actual.auxiliary_loss, expected.auxiliary_loss) <= tolerance &&
         relative_difference(actual.z_loss, expected.z_loss) <= tolerance;
}

using Parts = std::map<std::string, TensorPart>;

/// Parts by "group of name": an order that is the same on all ranks.
Parts sorted(const std::vector<TensorPart>& parts) {
  Parts result;
  for (const TensorPart& part : parts) result.emplace(part.group + " of " + part.parameter->name(), part);
  return result;
}

class Comparer {
 public:
  Comparer(Communicator& world, const ReferenceSteps* reference) : world_(world), reference_(reference) {
    TESSERA_CHECK((world.rank() == 0) == (reference != nullptr), "the reference is on rank 0");
    std::int64_t dtype = reference != nullptr ? static_cast<std::int64_t>(reference->dtype) : 0;
    broadcast_from(world_, 0, {&dtype, 1, DType::i64});
    result.tolerance = parity_tolerance(static_cast<DType>(dtype));
  }

  void add_step(const StepOutcome& actual) {
    const std::size_t s = result.steps.size();
    StepOutcome expected = reference_ != nullptr ? reference_->steps.at(s) : StepOutcome{};
    const ExpertOutcome& e = expected.experts;
    std::array<double, 5> words{expected.loss, static_cast<double>(expected.tokens), expected.gradient_norm,
                                e.auxiliary_loss, e.z_loss};
    broadcast_from(world_, 0, {words.data(), std::ssize(words), DType::f64});
    expected = {words[0], static_cast<std::int64_t>(words[1]), words[2], false, {words[3], words[4]}};
    const ParityTolerance& t = result.tolerance;
    const double of_norm = s == 0 ? t.first_norm : t.later_norm;
    const bool agrees = !actual.skipped && actual.tokens == expected.tokens &&
                        relative_difference(actual.loss, expected.loss) <= t.loss &&
                        agree(actual.experts, expected.experts, t.loss) &&
                        relative_difference(actual.gradient_norm, expected.gradient_norm) <= of_norm;
    result.steps.push_back({actual, expected, agrees});
  }

  /// The gradients of the first step, after add_step.
  void add_gradients(const Parts& parts) {
    std::int64_t tensors = reference_ != nullptr ? std::ssize(reference_->gradients) : 0;
    broadcast_from(world_, 0, {&tensors, 1, DType::i64});
    TESSERA_CHECK(tensors == std::ssize(parts), "another model than that of the reference");
    std::vector<PartReport> mine;
    for (const auto& [name, part] : parts) {
      TensorComparison comparison{part.parameter->name(), part.parameter->field};
      const double difference = compare(part, comparison);
      mine.push_back(report_of(part, difference));
      result.gradients.push_back(std::move(comparison));
    }
    const PartReports reports(world_, mine);
    std::size_t tensor = 0;
    for (const auto& [name, part] : parts) {
      TensorComparison& comparison = result.gradients[tensor];
      comparison.allowed = result.tolerance.allowed(comparison.largest, result.steps[0].expected.gradient_norm);
      comparison.replicas_equal = reports.replicas_equal(tensor);
      comparison.complete = comparison.complete && reports.elements(tensor) == part.shape.count();
      for (int rank = 0; rank < reports.ranks(); ++rank) {
        const double difference = reports.of(rank, tensor).difference;
        if (difference <= comparison.difference) continue;
        comparison.difference = difference;
        comparison.worst_rank = rank;
      }
      ++tensor;
    }
  }

  void add_replicas(const Parts& parts) {
    std::vector<PartReport> mine;
    for (const auto& [name, part] : parts) mine.push_back(report_of(part));
    const PartReports reports(world_, mine);
    std::size_t tensor = 0;
    for (const auto& [name, part] : parts)
      if (!reports.replicas_equal(tensor++)) result.drifted.push_back(name);
  }

  LayoutComparison result;

 private:
  /// This rank's largest difference; fills what the reference says of the tensor.
  double compare(const TensorPart& part, TensorComparison& comparison) {
    const ReferenceSteps::Gradient* whole = nullptr;
    if (reference_ != nullptr) {
      const auto found = reference_->gradients.find(comparison.name);
      if (found != reference_->gradients.end() && found->second.shape == part.shape) whole = &found->second;
    }
    std::int64_t there = whole != nullptr ? 1 : 0;
    broadcast_from(world_, 0, {&there, 1, DType::i64});
    comparison.complete = there != 0;
    double difference = 0;
    for (std::int64_t first = 0; there != 0 && first < part.shape.count(); first += k_piece) {
      piece_.resize(static_cast<std::size_t>(std::min(k_piece, part.shape.count() - first)));
      if (whole != nullptr) std::copy_n(whole->values.begin() + first, piece_.size(), piece_.begin());
      broadcast_from(world_, 0, {piece_.data(), static_cast<std::int64_t>(piece_.size()), DType::f64});
      for (double value : piece_) raise(comparison.largest, value);
      raise(difference, difference_in(part, first, piece_));
    }
    return difference;
  }

  Communicator& world_;
  const ReferenceSteps* reference_;
  std::vector<double> piece_;
};

}  // namespace

ReferenceSteps reference_steps(Engine& alone, BatchSource& source, const ComparedSteps& steps) {
  ReferenceSteps reference;
  for (std::int64_t step = 1; step <= steps.steps; ++step) {
    reference.steps.push_back(step_of(alone, source, steps, step));
    if (step > 1) continue;
    for (const TensorPart& part : alone.gradients()) {
      ReferenceSteps::Gradient& gradient = reference.gradients[part.parameter->name()];
      TESSERA_CHECK(part.slab.extent == part.shape, part.parameter->name() + " is not whole");
      gradient.shape = part.shape;
      gradient.values.resize(static_cast<std::size_t>(part.shape.count()));
      for (std::int64_t i = 0; i < part.shape.count(); ++i)
        gradient.values[static_cast<std::size_t>(i)] = element(part, i);
      reference.dtype = part.dtype;
    }
  }
  return reference;
}

LayoutComparison compare_layout(Communicator& world, Engine& engine, BatchSource& source, const ComparedSteps& steps,
                                const ReferenceSteps* reference) {
  Comparer comparer(world, reference);
  for (std::int64_t step = 1; step <= steps.steps; ++step) {
    comparer.add_step(step_of(engine, source, steps, step));
    if (step == 1) comparer.add_gradients(sorted(engine.gradients()));
  }
  comparer.add_replicas(sorted(engine.tensors()));
  return std::move(comparer.result);
}

}  // namespace tessera
