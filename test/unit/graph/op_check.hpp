// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  proving the layout rule of an op: it is emitted on inputs in any layouts, run on all ranks of a mesh, and its
//       outputs are compared with those of one rank.
// Used: tests of op rules.
// Must not know: which op is tested.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/op.hpp"
#include "test/support/tensor_value.hpp"

namespace tessera::test {

struct Operand {
  Type type;
  Values values;
};

/// One op on whole inputs, and what comes out on one rank.
struct OpCase {
  const Op* op = nullptr;
  std::vector<Operand> in;
  Attributes attributes;
  std::vector<Operand> out;
};

/// Runs the op on one rank. An input that is absent has type k_absent.
OpCase make_case(const Op& op, std::vector<Operand> in, const Attributes& attributes = {});

/// Layouts of the inputs, and perhaps the wish for the first output.
struct Trial {
  std::vector<Layout> in;
  std::optional<Layout> hint;
};

/// All layouts that an input may have: every axis replicated, split on any dim and in any order, or partial if the
/// input is floating and not binding: summed on all of its partial axes, or the maximum on all.
std::vector<Layout> legal_layouts(const OpCase& c, std::size_t input, const Mesh& mesh);

/// All combinations of legal layouts if they are no more than `count`; else every layout of every input beside
/// replicated ones, and `count` drawn combinations. A third has a hint.
std::vector<Trial> trials_of(const OpCase& c, const Mesh& mesh, std::size_t count, unsigned seed);

/// What is wrong when `op` stands in for the op of the case; empty when all is right: the value within 1e-12 of one
/// rank's, replicas equal, layouts as announced, no exception.
std::string failure_of(const Op& op, const OpCase& c, const Mesh& mesh, const Trial& trial);

/// The meshes on which rules are tried.
const std::vector<Mesh>& rule_meshes();

}  // namespace tessera::test
