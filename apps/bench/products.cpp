// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/products.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "core/host/gemm.hpp"

namespace tessera::apps {
namespace {

struct LinearOp {
  std::string_view name;
  ProductRole role;
};
constexpr std::array k_linear_ops{LinearOp{"linear", ProductRole::forward},
                                  LinearOp{"linear_dx", ProductRole::input_gradient},
                                  LinearOp{"linear_dw", ProductRole::weight_gradient}};
constexpr std::array k_grouped_ops{LinearOp{"grouped_linear", ProductRole::forward},
                                   LinearOp{"grouped_linear_dx", ProductRole::input_gradient},
                                   LinearOp{"grouped_linear_dw", ProductRole::weight_gradient}};

/// The products of experts: inputs are (x, w), (dy, w), (dy, x) with experts first, and counts.
Product grouped_product_of(const Plan& plan, const Instruction& instruction, const LinearOp& op) {
  const auto first = static_cast<std::size_t>(instruction.first_operand);
  const Shape &x = plan.operands[first].tensor.shape, &other = plan.operands[first + 1].tensor.shape;
  const std::int64_t experts = x[0], a_columns = x[x.rank() - 1], b_columns = other[other.rank() - 1];
  Product product{std::string(op.name), op.role, 0, b_columns, a_columns, experts};
  if (op.role == ProductRole::forward) product.n = other[1];
  const auto elements = static_cast<double>(std::max<std::int64_t>(1, 2 * experts * product.n * a_columns));
  const std::int64_t rows = std::llround(instruction.flops / elements);
  product.m = op.role == ProductRole::weight_gradient ? a_columns : rows;
  if (op.role == ProductRole::weight_gradient) product.k = rows;
  return product;
}

/// The product of an instruction: inputs are (x, w), (dy, w), (dy, x).
Product product_of(const Plan& plan, const Instruction& instruction, const LinearOp& op) {
  const auto first = static_cast<std::size_t>(instruction.first_operand);
  const Tensor &a = plan.operands[first].tensor, &b = plan.operands[first + 1].tensor;
  const Shape& left = a.shape;
  const std::int64_t a_columns = left[left.rank() - 1], b_columns = b.shape[b.shape.rank() - 1];
  const std::int64_t rows = a_columns == 0 ? 0 : a.count() / a_columns;
  Product product{std::string(op.name), op.role, rows, b_columns, a_columns};
  if (op.role == ProductRole::forward) product.n = b.shape[0];
  if (op.role == ProductRole::weight_gradient) product.m = a_columns, product.k = rows;
  return product;
}

template <class T>
struct Operands {
  Operands(std::span<const Product> products, int threads) {
    std::size_t sizes[3] = {}, bytes = 0;
    for (const Product& p : products) {
      const std::int64_t own[3] = {p.groups * p.m * p.k, p.groups * p.k * p.n, p.groups * p.m * p.n};
      for (int i = 0; i < 3; ++i) sizes[i] = std::max(sizes[i], static_cast<std::size_t>(own[i]));
      bytes = std::max(bytes, static_cast<std::size_t>(host::gemm_workspace<T, T>(p.m, p.n, p.k, threads)));
    }
    workspace.resize(bytes);
    for (int i = 0; i < 3; ++i) {
      values[i].resize(sizes[i]);
      for (std::size_t at = 0; at < sizes[i]; ++at)
        values[i][at] = static_cast<T>(0.01) * (static_cast<T>((at * 2654435761U) % 201) - 100);
    }
  }

  void multiply(const Product& p, int threads) {
    using host::Read;
    const Read a = p.role == ProductRole::weight_gradient ? Read::transposed : Read::as_is;
    const Read b = p.role == ProductRole::forward ? Read::transposed : Read::as_is;
    for (std::int64_t group = 0; group < p.groups; ++group)
      host::gemm(host::GemmCall<T, T>{.m = p.m,
                                      .n = p.n,
                                      .k = p.k,
                                      .a = {values[0].data() + group * p.m * p.k, a == Read::as_is ? p.k : p.m, a},
                                      .b = {values[1].data() + group * p.k * p.n, b == Read::as_is ? p.n : p.k, b},
                                      .c = values[2].data() + group * p.m * p.n,
                                      .c_stride = p.n,
                                      .result = p.role == ProductRole::weight_gradient ? host::Result::add
                                                                                       : host::Result::assign},
                 workspace, threads);
  }

  std::vector<T> values[3];
  std::vector<std::byte> workspace;
};

}  // namespace

std::vector<Product> products_of_plan(const Plan& plan) {
  std::vector<Product> products;
  for (const Action& action : plan.actions) {
    const Program& program = plan.programs[static_cast<std::size_t>(action.program)];
    if (program.repeat >= 0) continue;
    for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
      const Instruction& instruction = plan.code[static_cast<std::size_t>(i)];
      if (instruction.kind != Instruction::Kind::kernel) continue;
      for (const LinearOp& op : k_linear_ops)
        if (plan.names[static_cast<std::size_t>(instruction.name)] == op.name)
          products.push_back(product_of(plan, instruction, op));
      for (const LinearOp& op : k_grouped_ops)
        if (plan.names[static_cast<std::size_t>(instruction.name)] == op.name)
          products.push_back(grouped_product_of(plan, instruction, op));
    }
  }
  return products;
}

struct ProductBench::State {
  std::variant<Operands<float>, Operands<double>> operands;
  int threads;
};

ProductBench::ProductBench(std::span<const Product> products, DType dtype, int threads) {
  if (dtype == DType::f64)
    state_.reset(new State{Operands<double>(products, threads), threads});
  else
    state_.reset(new State{Operands<float>(products, threads), threads});
}
ProductBench::~ProductBench() = default;

void ProductBench::run(const Product& product) {
  std::visit([&](auto& operands) { operands.multiply(product, state_->threads); }, state_->operands);
}

}  // namespace tessera::apps
