// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <thread>

#include <fmt/core.h>

#include "apps/arguments.hpp"
#include "apps/checkpoint_folder.hpp"
#include "apps/least_memory.hpp"
#include "apps/memory_check.hpp"
#include "apps/run_state.hpp"
#include "apps/tensor_files.hpp"
#include "apps/verb.hpp"
#include "core/comm/self_communicator.hpp"
#include "core/host/host_device.hpp"
#include "core/train/generator.hpp"
#include "io/text/byte_tokenizer.hpp"

namespace tessera::apps {
namespace {

const std::vector<Option>& options() {
  static const std::vector<Option> rows{
      {.name = "checkpoint",
       .type = OptionType::path,
       .text = "A checkpoint, or a folder of checkpoints: the newest one."},
      {.name = "prompt", .text = "The text to go on from. Empty: the start of a document."},
      {.name = "tokens",
       .type = OptionType::integer,
       .fallback = "200",
       .text = "Tokens to generate.",
       .min = 1,
       .max = 1e9},
      {.name = "temperature",
       .type = OptionType::real,
       .fallback = "0.8",
       .text = "0: always the most likely token.",
       .min = 0,
       .max = 1000},
      {.name = "top-p",
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
       .min = 0,
       .max = k_most_threads}};
  return rows;
}

Settings read_flags_of(std::span<const std::string> arguments) {
  Arguments given = read_arguments("generate", arguments, options());
  if (!given.positionals.empty())
    throw usage_error("generate", fmt::format("'{}' is not a flag", given.positionals.front()),
                      "the prompt is given with --prompt");
  if (given.settings.get<std::string>("checkpoint").empty())
    throw usage_error("generate", "--checkpoint is not given", "name a folder that `tessera train` wrote");
  return std::move(given.settings);
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

/// Prompt and text must have room: positions in the model, and memory.
void check_length(const ModelConfig& model, std::int64_t tokens, DType dtype) {
  if (model.architecture == Architecture::gpt && tokens > model.sequence)
    throw usage_error("generate",
                      fmt::format("prompt and text have {} tokens, the model has {} positions", tokens, model.sequence),
                      "ask for fewer --tokens");
  check_needs(generation_needs(model, tokens, size_of(dtype)), resident_bytes() + free_bytes());
}

/// The text behind the prompt, token by token, until its end or `wanted` tokens.
void write_text(Generator& generator, const std::vector<double>* logits, const io::Tokenizer& tokenizer,
                std::int64_t wanted, const Sampling& sampling) {
  for (std::int64_t i = 0; i < wanted; ++i) {
    const std::int32_t id = sample_token(*logits, sampling, static_cast<std::uint64_t>(i));
    if (id == tokenizer.eod()) break;
    fmt::print("{}", tokenizer.decode({&id, 1}));
    std::fflush(stdout);
    if (i + 1 < wanted) logits = &generator.feed(id);
  }
}

int generate(std::span<const std::string> arguments) {
  const Settings settings = read_flags_of(arguments);
  const auto self = make_self_communicator();
  const io::CheckpointReader reader =
      open_checkpoint(settings.get<std::string>("checkpoint"), *self, io::Verify::present);
  const RunState state = read_state(reader.state(), reader.folder().string() + "/state.json");
  const io::ByteTokenizer tokenizer;
  if (state.model.vocab < tokenizer.vocab_size())
    throw Error(ErrorKind::data, fmt::format("the model has {} tokens, the byte tokenizer {}", state.model.vocab,
                                             tokenizer.vocab_size()));

  const std::string prompt = settings.get<std::string>("prompt");
  const std::vector<std::int32_t> ids = prompt_tokens(tokenizer, prompt);
  const auto wanted = settings.get<std::int64_t>("tokens");
  const auto capacity = static_cast<std::int64_t>(ids.size()) + wanted;
  const DType dtype = state.precision == "fp64" ? DType::f64 : DType::f32;
  check_length(state.model, capacity, dtype);
  const int threads = settings.get<int>("threads");
  HostDevice device(threads > 0 ? threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  KernelTable kernels;
  kernels.add(device.kernels());
  Generator generator(state.model, capacity, dtype, device, kernels);
  load_weights(reader, generator);

  const std::vector<double>* logits = nullptr;
  for (const std::int32_t id : ids) logits = &generator.feed(id);
  fmt::print("{}", prompt);
  write_text(generator, logits, tokenizer, wanted,
             {settings.get<double>("temperature"), settings.get<double>("top-p"),
              static_cast<std::uint64_t>(settings.get<std::int64_t>("seed"))});
  fmt::print("\n");
  return k_done;
}

std::string help() {
  return flags_help("", options());
}

}  // namespace

const Verb k_generate{"generate", "generate --checkpoint DIR [--prompt TEXT] [--tokens N] [--seed S]",
                      "Writes text with a trained model.", generate, help};

}  // namespace tessera::apps
