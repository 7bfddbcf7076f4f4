// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <thread>

#include <fmt/core.h>

#include "apps/run_state.hpp"
#include "apps/tensor_files.hpp"
#include "apps/verb.hpp"
#include "core/comm/self_communicator.hpp"
#include "core/config/help.hpp"
#include "core/config/resolve.hpp"
#include "core/config/sources.hpp"
#include "core/host/host_device.hpp"
#include "core/train/generator.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/folders.hpp"
#include "io/text/byte_tokenizer.hpp"

namespace tessera::apps {
namespace {

std::vector<Option> generate_options() {
  return {{.name = "checkpoint",
           .type = OptionType::path,
           .text = "A checkpoint, or a folder of checkpoints: the newest one."},
          {.name = "prompt", .text = "The text to go on from. Empty: the start of a document."},
          {.name = "tokens", .type = OptionType::integer, .fallback = "200", .text = "Tokens to generate.", .min = 1},
          {.name = "temperature",
           .type = OptionType::real,
           .fallback = "0.8",
           .text = "0: always the most likely token.",
           .min = 0},
          {.name = "top_p",
           .type = OptionType::real,
           .fallback = "0.95",
           .text = "Only the most likely tokens that together have this probability.",
           .min = 0,
           .max = 1},
          {.name = "seed",
           .type = OptionType::integer,
           .fallback = "1",
           .text = "The same seed gives the same text.",
           .min = 0},
          {.name = "threads",
           .type = OptionType::integer,
           .fallback = "0",
           .text = "Threads. 0: as many as cores.",
           .min = 0}};
}

Settings read_arguments(std::span<const std::string> arguments) {
  const std::vector<Option> options = generate_options();
  std::vector<Problem> problems;
  const Flags flags = read_flags(arguments, options, problems);
  for (const std::string& word : flags.positionals)
    problems.push_back({fmt::format("'{}' is not a flag", word), "", "the prompt is given with --prompt"});
  Resolved resolved = resolve(options, flags.raws);
  problems.insert(problems.end(), resolved.problems.begin(), resolved.problems.end());
  if (!problems.empty()) throw run_error(problems);
  if (resolved.settings.get<std::string>("checkpoint").empty())
    throw Error(ErrorKind::usage, "--checkpoint is not given", "name a checkpoint folder that `tessera train` wrote");
  return std::move(resolved.settings);
}

io::CheckpointReader open(const std::filesystem::path& path, Communicator& self) {
  if (io::list_checkpoints(path).empty()) return io::CheckpointReader(path, self, io::Verify::sizes);
  std::vector<std::string> passed_over;
  auto reader = io::CheckpointReader::newest(path, self, io::Verify::sizes, passed_over);
  for (const std::string& reason : passed_over) fmt::print(stderr, "tessera: {}\n", reason);
  if (!reader) throw Error(ErrorKind::data, fmt::format("no checkpoint in {} is whole", path.string()));
  return std::move(*reader);
}

void load_weights(const io::CheckpointReader& reader, Generator& generator) {
  for (const FilePart& part : file_parts(generator.tensors()))
    reader.read(reader.find(part.path), part.box, part.part.data, io::dense_strides(part.box.extent));
}

/// Tokens of the prompt behind an end of document, as every text of the training data.
std::vector<std::int32_t> prompt_tokens(const io::Tokenizer& tokenizer, const std::string& prompt) {
  std::vector<std::int32_t> ids{tokenizer.eod()};
  tokenizer.encode(prompt, ids);
  return ids;
}

int generate(std::span<const std::string> arguments) {
  const Settings settings = read_arguments(arguments);
  const auto self = make_self_communicator();
  const io::CheckpointReader reader = open(settings.get<std::string>("checkpoint"), *self);
  const RunState state = read_state(reader.state(), reader.folder().string() + "/state.json");
  const io::ByteTokenizer tokenizer;
  if (state.model.vocab < tokenizer.vocab_size())
    throw Error(ErrorKind::data, fmt::format("the model has {} tokens, the byte tokenizer {}", state.model.vocab,
                                             tokenizer.vocab_size()));

  const std::string prompt = settings.get<std::string>("prompt");
  const std::vector<std::int32_t> ids = prompt_tokens(tokenizer, prompt);
  const auto wanted = settings.get<std::int64_t>("tokens");
  const auto capacity = static_cast<std::int64_t>(ids.size()) + wanted;
  if (state.model.architecture == Architecture::gpt && capacity > state.model.sequence)
    throw Error(
        ErrorKind::usage,
        fmt::format("prompt and text have {} tokens, the model has {} positions", capacity, state.model.sequence),
        "ask for fewer --tokens");
  const int threads = settings.get<int>("threads");
  HostDevice device(threads > 0 ? threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  KernelTable kernels;
  kernels.add(device.kernels());
  Generator generator(state.model, capacity, state.precision == "fp64" ? DType::f64 : DType::f32, device, kernels);
  load_weights(reader, generator);

  const Sampling sampling{settings.get<double>("temperature"), settings.get<double>("top_p"),
                          static_cast<std::uint64_t>(settings.get<std::int64_t>("seed"))};
  const std::vector<double>* logits = nullptr;
  for (std::int32_t id : ids) logits = &generator.feed(id);
  fmt::print("{}", prompt);
  for (std::int64_t i = 0; i < wanted; ++i) {
    const std::int32_t id = sample_token(*logits, sampling, static_cast<std::uint64_t>(i));
    if (id == tokenizer.eod()) break;
    fmt::print("{}", tokenizer.decode({&id, 1}));
    std::fflush(stdout);
    if (i + 1 < wanted) logits = &generator.feed(id);
  }
  fmt::print("\n");
  return k_done;
}

std::string generate_help() {
  return help_text(generate_options());
}

}  // namespace

const Verb k_generate{"generate", "generate --checkpoint DIR [--prompt TEXT] [--tokens N] [--seed S]",
                      "Writes text with a trained model.", generate, generate_help};

}  // namespace tessera::apps
