// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/core.h>

#include "apps/arguments.hpp"
#include "apps/bench/machine.hpp"
#include "apps/engine_setup.hpp"
#include "apps/verb.hpp"
#include "apps/verify/comparison_text.hpp"
#include "apps/verify/verification.hpp"
#include "core/comm/thread_communicator.hpp"
#include "mpi/launch.hpp"

namespace tessera::apps {
namespace {

std::string help() {
  return flags_help(
             "Trains a few steps of the run file's model in its layout and, from the same weights and samples, on one\n"
             "rank, and compares: loss and gradient norm of each step, every tensor of the first step's gradient, and\n"
             "the bits of replicas. Exits with 0 when all agree and with 1 when something differs. Ranks are those\n"
             "that mpirun or srun started, or threads (--in-process N). Samples are those of data.train, or random\n"
             "tokens with documents and masks where none is set. Nothing is saved or logged.\n",
             verify_options()) +
         "\nThe options of a run are flags too, as of `tessera train` (see its --help).\n";
}

std::string describe(const ModelConfig& model) {
  return fmt::format("{} layers, hidden {}, {} heads ({} of keys), ffn {}, vocabulary {}, {} tokens", model.layers,
                     model.hidden, model.heads, model.key_heads(), model.ffn, model.vocab, model.sequence);
}

Document document_of(const Verification& verification, const EngineSetup& setup, const LayoutComparison& comparison) {
  const Settings& settings = verification.layout();
  Document document("comparison of a layout with one rank");
  document.add("ranks", "ranks", setup.mesh().size());
  document.add("mesh", "mesh", setup.mesh().describe());
  if (setup.mesh().stages() > 1) document.add("schedule", "schedule", settings.get<std::string>("strategy.pipeline"));
  document.add("micro_batches", "micro-batches", setup.engine().micro_batches());
  document.add("model", "model", describe(verification.model()));
  if (settings.get<bool>("small"))
    document.add("made_smaller_from", "made smaller from", describe(verification.original_model()));
  document.add("precision", "precision", settings.get<std::string>("train.precision"));
  document.add("samples", "samples", verification.reads_data() ? settings.get<std::string>("data.train") : "random");
  add_comparison(document, comparison, settings.get<bool>("json") ? Detail::tensors : Detail::fields);
  if (verification.model().experts.count > 0 && verification.model().experts.capacity != 0)
    document.remark("model.expert_capacity drops other tokens where ranks share them otherwise: compare without it");
  return document;
}

int publish(const Verification& verification, const EngineSetup& setup, const LayoutComparison& comparison) {
  const Document document = document_of(verification, setup, comparison);
  fmt::print("{}", verification.layout().get<bool>("json") ? document.json() : document.text());
  return comparison.agrees() ? k_done : static_cast<int>(ErrorKind::different);
}

int verify_on_ranks(Ranks& ranks, std::span<const std::string> arguments) {
  const Run run(ranks, arguments, verify_options());
  order_sums(ranks, run.settings());
  std::optional<Verification> verification;
  ranks.agreed([&] { verification.emplace(run.settings(), run.registry(), ranks.world().size()); });
  const int threads = ranks.threads().threads;
  VerifyingRank rank(*verification,
                     {{ranks.world(), threads, ranks.memory(), mpi::workspace_bytes},
                      ranks.environment().layout().facts.local_size,
                      threads,
                      run.kernels()},
                     [&](const std::function<void()>& action) { ranks.agreed(action); });
  rank.train_alone();
  ranks.watch(run.settings().get<double>("train.watchdog"));  // not before: the others wait for rank 0
  const LayoutComparison comparison = rank.compare();
  if (ranks.root()) return publish(*verification, rank.setup(), comparison);
  return comparison.agrees() ? k_done : static_cast<int>(ErrorKind::different);
}

/// Whether a launcher made this process one of several ranks.
bool is_one_of_several() {
  const mpi::Variables variables = mpi::environment_variables();
  const auto size = variables.find("OMPI_COMM_WORLD_SIZE");
  return size != variables.end() && size->second != "1";
}

int verify_in_process(std::span<const std::string> arguments) {
  if (is_one_of_several())
    throw usage_error("verify", "--in-process makes its ranks itself", "Start it without mpirun, or leave it out.");
  const Run run(arguments, verify_options(), "in-process");
  const int world = run.settings().get<int>("in-process");
  if (world < 1) throw usage_error("verify", "--in-process needs at least one rank");
  const Verification verification(run.settings(), run.registry(), world);
  const int cores = run.settings().get<bool>("small") ? 1 : processor_count();  // small kernels do not pay for threads
  int code = k_done;
  run_ranks(world, [&](Communicator& ranks) {
    VerifyingRank rank(verification, {{ranks, std::max(1, cores / world), nullptr, mpi::workspace_bytes}, world, cores},
                       [&](const std::function<void()>& action) {
                         action();
                         ranks.barrier();
                       });
    rank.train_alone();
    const LayoutComparison comparison = rank.compare();
    if (ranks.rank() == 0) code = publish(verification, rank.setup(), comparison);
  });
  return code;
}

int run(std::span<const std::string> arguments) {
  for (const std::string& argument : arguments)
    if (argument == "--in-process" || argument.starts_with("--in-process=")) return verify_in_process(arguments);
  return run_on_ranks("verify", arguments, [&](Ranks& ranks) { return verify_on_ranks(ranks, arguments); });
}

}  // namespace

const Verb k_verify{"verify",
                    "verify [RUN.INI] [--section.key=value ...] [--in-process N] [--small] [--steps K]",
                    "Shows that a layout trains as one rank does.",
                    run,
                    help,
                    Processes::ranks};

}  // namespace tessera::apps
