// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/plan/experts_table.hpp"

#include <fmt/core.h>

#include <map>

namespace tessera::apps {
namespace {

constexpr int k_matrices = 3;  ///< of an expert: what is posted behind the last one brings rows back

struct ExpertsOfLayer {
  std::int64_t experts = 0;            ///< on this rank
  std::int64_t rows = 0;               ///< of this rank's tokens for one expert
  std::int64_t all_rows = 0;           ///< for this rank's experts, of all ranks that share them
  std::int64_t bytes = 0;              ///< of those rows
  std::int64_t sent = 0, brought = 0;  ///< bytes handed over to experts, and back
  friend bool operator==(const ExpertsOfLayer&, const ExpertsOfLayer&) = default;
};

/// Reads a program from the first row that is taken to the last that is put back.
class Reader {
 public:
  explicit Reader(const Plan& plan) : plan_(plan) {}

  void read(const Instruction& instruction) {
    const std::string& name = plan_.names[static_cast<std::size_t>(instruction.name)];
    if (done_[instruction.layer]) return;
    ExpertsOfLayer& layer = layers[instruction.layer];
    if (name == "take_rows") layer.rows = tensor(instruction, instruction.inputs).shape[2];
    if (name == "grouped_linear" && products_[instruction.layer]++ == 0) {
      const Tensor& rows = tensor(instruction, 0);
      layer.experts = rows.shape[0];
      layer.all_rows = rows.shape[0] * rows.shape[1] * rows.shape[2];
      layer.bytes = rows.count() * size_of(rows.dtype);
    }
    if (instruction.kind == Instruction::Kind::post && name.starts_with("all_to_all") && layer.rows > 0)
      (products_[instruction.layer] < k_matrices ? layer.sent : layer.brought) +=
          plan_.calls[static_cast<std::size_t>(instruction.call)].bytes;
    if (name == "put_rows") done_[instruction.layer] = true;
  }

  std::map<int, ExpertsOfLayer> layers;

 private:
  const Tensor& tensor(const Instruction& instruction, int operand) const {
    return plan_.operands[static_cast<std::size_t>(instruction.first_operand + operand)].tensor;
  }

  const Plan& plan_;
  std::map<int, int> products_;
  std::map<int, bool> done_;
};

}  // namespace

Table experts_table(const Plan& plan) {
  Reader reader(plan);
  for (const Program& program : plan.programs)
    if (program.kind == ProgramKind::forward)
      for (std::int32_t i = program.first; i < program.first + program.count; ++i)
        reader.read(plan.code[static_cast<std::size_t>(i)]);
  std::erase_if(reader.layers, [](const auto& layer) { return layer.second.experts == 0; });
  Table table{"experts",
              fmt::format("experts of rank {}, for each micro-batch", plan.rank),
              {{"layers", "layers"},
               {"experts", "experts"},
               {"rows", "rows planned for one"},
               {"all_rows", "rows for all of them"},
               {"row_bytes", "their memory"},
               {"dispatch_bytes", "dispatch"},
               {"combine_bytes", "combine"}}};
  for (auto first = reader.layers.begin(); first != reader.layers.end();) {
    auto last = first, next = std::next(first);
    while (next != reader.layers.end() && next->first == last->first + 1 && next->second == first->second)
      last = next++;
    const ExpertsOfLayer& e = first->second;
    const std::string layers =
        first == last ? fmt::format("{}", first->first) : fmt::format("{}-{}", first->first, last->first);
    table.add(
        {layers, e.experts, e.rows, e.all_rows, Cell::bytes(e.bytes), Cell::bytes(e.sent), Cell::bytes(e.brought)});
    first = next;
  }
  return table;
}

}  // namespace tessera::apps
