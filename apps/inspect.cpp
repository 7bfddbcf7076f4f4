// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <filesystem>

#include "apps/arguments.hpp"
#include "apps/inspect/checkpoint.hpp"
#include "apps/inspect/dataset.hpp"
#include "apps/verb.hpp"

namespace tessera::apps {
namespace {

const std::vector<Option>& options() {
  static const std::vector<Option> rows{
      {.name = "verify",
       .type = OptionType::boolean,
       .fallback = "off",
       .text = "Read every byte and compare checksums and digests. Exit code 65 and what is wrong, if anything is."},
      {.name = "sequence",
       .type = OptionType::integer,
       .fallback = "0",
       .text = "Of a dataset: how many samples of so many tokens it has. 0: not shown.",
       .min = 0,
       .max = 1e15},
      {.name = "json", .type = OptionType::boolean, .fallback = "off", .text = "JSON instead of text."}};
  return rows;
}

std::string help() {
  return flags_help(
      "PATH is a dataset file, a checkpoint folder (step-00001000), or a folder of checkpoints: then the newest whole\n"
      "one is shown, and why newer ones are passed over.\n",
      options());
}

Document inspect(const std::filesystem::path& path, std::int64_t sequence, Depth depth) {
  if (!std::filesystem::exists(path)) throw Error(ErrorKind::not_found, fmt::format("there is no {}", path.native()));
  if (!std::filesystem::is_directory(path)) {
    const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
    if (is_checkpoint(folder))
      throw usage_error("inspect", fmt::format("{} is a part of a checkpoint", path.native()),
                        fmt::format("tessera inspect {}", folder.native()));
    return inspect_dataset(path, sequence, depth);
  }
  return is_checkpoint(path) ? inspect_checkpoint(path, depth) : inspect_newest(path, depth);
}

int run(std::span<const std::string> arguments) {
  const Arguments given = read_arguments("inspect", arguments, options());
  if (given.positionals.size() != 1)
    throw usage_error("inspect", fmt::format("one PATH is needed, not {}", given.positionals.size()));
  // "checkpoints/step-00000010/" means the same as without the slash.
  std::filesystem::path path = std::filesystem::path(given.positionals.front()).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const Depth depth = given.settings.get<bool>("verify") ? Depth::everything : Depth::structure;
  const Document document = inspect(path, given.settings.get<std::int64_t>("sequence"), depth);
  fmt::print("{}", given.settings.get<bool>("json") ? document.json() : document.text());
  return k_done;
}

}  // namespace

const Verb k_inspect{"inspect", "inspect PATH [--verify] [flags]",
                     "Shows what is in a dataset or a checkpoint, and whether it is whole.", run, help};

}  // namespace tessera::apps
