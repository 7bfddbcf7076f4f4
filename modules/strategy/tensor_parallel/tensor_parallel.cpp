// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

/// "2 and 4": the divisors of `heads` on both sides of `ranks`.
std::string nearest_divisors(std::int64_t heads, std::int64_t ranks) {
  std::int64_t below = std::min(ranks, heads), above = ranks;
  while (heads % below != 0) --below;
  while (above < heads && heads % above != 0) ++above;
  return above > heads ? std::to_string(below) : std::to_string(below) + " and " + std::to_string(above);
}

}  // namespace

void TensorParallel::factor(std::vector<Axis>& axes) const {
  const auto tensor = std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.name == "tp"; });
  if (tensor == axes.end()) return;
  const int ranks = tensor->size;
  if (heads_ % ranks != 0)
    throw Error(ErrorKind::configuration,
                "parallel.tensor = " + std::to_string(ranks) + " does not divide model.heads = " +
                    std::to_string(heads_) + ": every tensor-parallel rank computes equally many attention heads",
                "nearest values of parallel.tensor: " + nearest_divisors(heads_, ranks));
  const int shares = static_cast<int>(std::gcd<std::int64_t>(ranks, kv_heads_));
  if (shares == ranks || shares == 1) return;
  *tensor = {"tp.replica", "tp", ranks / shares};
  axes.insert(tensor + 1, {"tp.head", "tp", shares});
}

/// The axes that split key and value heads.
AxisList TensorParallel::key_axes(const Mesh& mesh) const {
  AxisList heads;
  int ranks = 1;
  for (AxisId axis : mesh.factors("tp")) {
    ranks *= mesh.axis(axis).size;
    if (mesh.axis(axis).name.starts_with("tp.head")) heads.push_back(axis);  // whole, or a part for experts
  }
  return kv_heads_ % ranks == 0 ? mesh.factors("tp") : heads;
}

void TensorParallel::place_parameter(const Parameter& parameter, const Shape&, const Mesh& mesh, Layout& layout) const {
  switch (parameter.role) {
    case ParameterRole::table:
    case ParameterRole::column:
    case ParameterRole::column_bias:
      return layout.splits(0).append(mesh.factors("tp"));
    case ParameterRole::kv_column:
    case ParameterRole::kv_column_bias:
      return layout.splits(0).append(key_axes(mesh));
    case ParameterRole::row:
      return layout.splits(1).append(mesh.factors("tp"));
    default:
      return;
  }
}

void TensorParallel::place_value(Mark mark, const Type&, const Mesh& mesh, Layout& layout) const {
  if (mark != Mark::residual && mark != Mark::block_input) return;
  const AxisList axes = mesh.factors("tp");
  layout.splits(0).remove(axes);
  if (mark == Mark::residual && residual_ == Residual::split) layout.splits(0).append(axes);
}

}  // namespace tessera
