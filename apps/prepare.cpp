// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/text/prepare.hpp"

#include <fmt/core.h>

#include <chrono>

#include "apps/arguments.hpp"
#include "apps/verb.hpp"
#include "core/base/log.hpp"
#include "io/output.hpp"

namespace tessera::apps {
namespace {

const std::vector<Option>& options() {
  static const std::vector<Option> rows{
      {.name = "output", .type = OptionType::path, .text = "The dataset to make, one HDF5 file."},
      {.name = "overwrite",
       .type = OptionType::boolean,
       .fallback = "off",
       .text = "Replace the output if it is there. The old one stays until the new one is complete."},
      {.name = "key", .fallback = "text", .text = "The member of each JSON object that holds the text."},
      {.name = "max-bad",
       .type = OptionType::integer,
       .fallback = "0",
       .text = "Lines of JSONL without a text that are skipped before it is an error.",
       .min = 0,
       .max = 1e15},
      {.name = "tokenizer", .fallback = "bytes", .text = "Makes ids of the text. bytes: every byte is one."}};
  return rows;
}

std::string help() {
  return flags_help(
      "INPUT is a file, a directory (its .txt .text .md .jsonl .ndjson files, in the order of their paths) or a\n"
      "pattern. .jsonl, .ndjson and .json hold one object per line; every other file is one document. Empty texts and\n"
      "blank lines are skipped and counted.\n",
      options());
}

void check_overwrite(const std::filesystem::path& output, bool overwrite) {
  io::check_output(output);
  std::error_code code;
  if (std::filesystem::exists(output, code) && !overwrite)
    throw Error(ErrorKind::cannot_create, fmt::format("{} is already there", output.native()),
                "Give another --output, or --overwrite to replace it.");
}

std::string count(std::int64_t number, const char* one, const char* several) {
  return fmt::format("{} {}", number, number == 1 ? one : several);
}

std::string summary(const io::PrepareOptions& request, const io::PrepareReport& report, double seconds) {
  const double megabytes = static_cast<double>(report.text_bytes) / 1e6;
  std::string text =
      fmt::format("{}: {}, {} from {}", request.output.native(), count(report.documents, "document", "documents"),
                  count(report.tokens, "token", "tokens"), count(report.files, "file", "files"));
  text += fmt::format("\nskipped: {}, {}, {}", count(report.empty, "empty text", "empty texts"),
                      count(report.blank, "blank line", "blank lines"), count(report.bad, "bad line", "bad lines"));
  return text +
         fmt::format("\nread: {:.3f} MB of text in {:.3f} s, {:.1f} MB/s\n", megabytes, seconds, megabytes / seconds);
}

int run(std::span<const std::string> arguments) {
  const Arguments given = read_arguments("prepare", arguments, options());
  io::PrepareOptions request;
  request.inputs = given.positionals;
  request.output = given.settings.get<std::string>("output");
  request.text_key = given.settings.get<std::string>("key");
  request.max_bad = given.settings.get<std::int64_t>("max-bad");
  if (request.output.empty()) throw usage_error("prepare", "--output FILE is missing");
  if (request.inputs.empty()) throw usage_error("prepare", "there is no INPUT");
  check_overwrite(request.output, given.settings.get<bool>("overwrite"));

  const auto tokenizer = io::make_tokenizer(given.settings.get<std::string>("tokenizer"));
  const auto begin = std::chrono::steady_clock::now();
  const io::PrepareReport report = io::prepare(request, *tokenizer);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  for (const std::string& line : report.bad_lines) log_warning("prepare", "skipped " + line);
  fmt::print("{}", summary(request, report, seconds.count()));
  return k_done;
}

}  // namespace

const Verb k_prepare{"prepare", "prepare --output FILE INPUT… [flags]", "Makes a dataset of tokens from files of text.",
                     run, help};

}  // namespace tessera::apps
