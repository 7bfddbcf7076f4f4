// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/options.hpp"

#include <fmt/core.h>

#include "apps/arguments.hpp"
#include "apps/bench/machine.hpp"
#include "apps/verb.hpp"
#include "io/file.hpp"
#include "io/output.hpp"

namespace tessera::apps {
namespace {

constexpr double k_most_size = 1e9;  // of a dim: two of them can be counted in bytes

}  // namespace

const std::vector<Option>& common_options() {
  static const std::vector<Option> rows{
      {.name = "repetitions",
       .type = OptionType::integer,
       .fallback = "7",
       .text = "How often each case is measured, in turn with the others. The median is shown, with the spread.",
       .min = 5,
       .max = 1e6},
      {.name = "json", .type = OptionType::path, .text = "Writes the results to this file too, as JSON."}};
  return rows;
}

namespace {

Option size(const char* name, const char* fallback, const char* text, double least, double most) {
  return {.name = name, .type = OptionType::integer, .fallback = fallback, .text = text, .min = least, .max = most};
}

Option threads_option() {
  return size(
      "threads", "0",
      "Threads. 0: gemm, experts and kernels take one, and then all cores of this process; step and ops those of "
      "a run.",
      0, k_most_threads);
}

Option turns_option() {
  return {
      .name = "turns",
      .type = OptionType::boolean,
      .fallback = "off",
      .text = "step: waits for lines on standard input, each a number of steps, and answers each by a line of JSON."};
}

std::vector<Option> products_of_gemm() {
  return {size("tokens", "1024", "gemm: rows of activations in the products of GPT-2 124M.", 1, k_most_size),
          size("m", "0", "gemm: one product C [m, n] = A [m, k] B [k, n] instead.", 0, k_most_size),
          size("n", "0", "gemm: see m.", 0, k_most_size), size("k", "0", "gemm: see m.", 0, k_most_size)};
}

std::vector<Option> matrices_of_experts() {
  return {size("hidden", "512", "experts: width of a token.", 1, k_most_size),
          size("ffn", "1024", "experts: width of an expert.", 1, k_most_size)};
}

std::vector<Option> table_of_kernels() {
  return {
      size("world", "1", "kernels: ranks of the run whose plans are compiled.", 1, 1e6),
      {.name = "table",
       .type = OptionType::path,
       .text =
           "kernels: writes the table there that train.kernels takes: variants that are 3 % faster, or more, and in "
           "every repetition."}};
}

std::vector<Option> joined(std::initializer_list<std::vector<Option>> parts) {
  std::vector<Option> all = common_options();
  all.push_back(threads_option());
  for (const std::vector<Option>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

const std::vector<Option>& ops_options() {
  static const std::vector<Option> rows = joined({});
  return rows;
}

const std::vector<Option>& step_options() {
  static const std::vector<Option> rows = joined({std::vector{turns_option()}});
  return rows;
}

const std::vector<Option>& gemm_options() {
  static const std::vector<Option> rows = joined({products_of_gemm()});
  return rows;
}

const std::vector<Option>& experts_options() {
  static const std::vector<Option> rows = joined({matrices_of_experts()});
  return rows;
}

const std::vector<Option>& kernels_options() {
  static const std::vector<Option> rows = joined({table_of_kernels()});
  return rows;
}

Settings read_benchmark(std::string_view name, std::span<const std::string> arguments,
                        std::span<const Option> options) {
  const Arguments given = read_arguments("bench", arguments, options);
  if (!given.positionals.empty()) throw usage_error("bench", fmt::format("{} takes flags only", name));
  if (const std::string path = given.settings.get<std::string>("json"); !path.empty()) io::check_output(path);
  return given.settings;
}

std::vector<int> thread_counts(const Settings& settings) {
  const int asked = settings.get<int>("threads");
  if (asked > 0) return {asked};
  const int cores = processor_count();
  return cores > 1 ? std::vector<int>{1, cores} : std::vector<int>{1};
}

void publish(const Document& document, const Settings& settings, const std::string& figure) {
  fmt::print("{}\n{}\n", document.text(), figure);
  if (const std::string path = settings.get<std::string>("json"); !path.empty())
    io::replace_file(path, document.json());
}

}  // namespace tessera::apps
