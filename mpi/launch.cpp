// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/launch.hpp"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>

#include "core/base/error.hpp"

extern char** environ;

namespace tessera::mpi {
namespace {

constexpr int k_largest_list = 1 << 20;  // of nodes, far above any machine

/// What a launcher calls the four numbers; empty: it does not tell.
struct Launcher {
  std::string_view name;
  std::string_view rank;
  std::string_view size;
  std::string_view local_rank;
  std::string_view local_size;
};

// The first whose rank is set binds.
constexpr std::array k_launchers{
    Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
             "OMPI_COMM_WORLD_LOCAL_SIZE"},
    Launcher{"MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
             "MV2_COMM_WORLD_LOCAL_SIZE"},
    Launcher{"SLURM", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""},
    Launcher{"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", ""},
    Launcher{"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
};
constexpr std::string_view k_slurm = "SLURM";

[[noreturn]] void contradiction(std::string_view variable, std::string_view value, std::string_view mpi) {
  throw Error(
      ErrorKind::disagreement, fmt::format("{}={}, but MPI says {}", variable, value, mpi),
      "Unset the variable if it is left over from another job; otherwise the program was started by the launcher "
      "of another MPI than the one it was built with.");
}

std::optional<std::string_view> value_of(const Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

std::optional<int> number_of(const Variables& variables, std::string_view name) {
  const auto text = value_of(variables, name);
  if (!text) {
    return std::nullopt;
  }
  int number = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (failed != std::errc{} || end != text->data() + text->size() || number < 0) {
    throw Error(ErrorKind::disagreement, fmt::format("{}={} is not a number", name, *text),
                "Unset the variable, or start the program by its launcher.");
  }
  return number;
}

void must_be(const Variables& variables, std::string_view name, int mpi, std::string_view meaning) {
  if (const auto number = number_of(variables, name); number && *number != mpi) {
    contradiction(name, *value_of(variables, name), fmt::format("{} {}", meaning, mpi));
  }
}

bool in_slurm_step(const Variables& variables) {
  return variables.contains("SLURM_STEP_ID") || variables.contains("SLURM_STEPID") ||
         variables.contains("SLURM_STEP_NUM_TASKS");
}

std::string_view first_set(const Variables& variables, std::string_view first, std::string_view second) {
  return variables.contains(first) ? first : second;
}

std::string_view slurm_size_name(const Variables& variables) {
  return first_set(variables, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
}

/// The list of tasks of each node, at this task's node. The list without STEP may be that of the whole allocation, so
/// it counts only where nothing else describes the step.
void check_tasks_per_node(const Variables& variables, const RankFacts& facts) {
  const std::string_view name =
      variables.contains("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE";
  const auto text = value_of(variables, name);
  const auto node = number_of(variables, "SLURM_NODEID");
  if (!text) {
    return;
  }
  const std::vector<int> tasks = parse_tasks_per_node(*text);
  if (std::accumulate(tasks.begin(), tasks.end(), std::int64_t{0}) != facts.size) {
    contradiction(name, *text, fmt::format("{} ranks in all", facts.size));
  }
  if (node && *node >= static_cast<int>(tasks.size())) {
    contradiction("SLURM_NODEID", std::to_string(*node), fmt::format("{}={}", name, *text));
  }
  if (node && tasks[static_cast<std::size_t>(*node)] != facts.local_size) {
    contradiction(name, *text, fmt::format("{} ranks on this node", facts.local_size));
  }
}

void check_slurm_step(const Variables& variables, const RankFacts& facts) {
  must_be(variables, slurm_size_name(variables), facts.size, "size");
  must_be(variables, "SLURM_PROCID", facts.rank, "rank");
  check_tasks_per_node(variables, facts);
  must_be(variables, "SLURM_LOCALID", facts.local_rank, "local rank");
}

/// SLURM's variables where another launcher started this process.
void check_slurm_around(const Variables& variables, const RankFacts& facts) {
  const auto rank = number_of(variables, "SLURM_PROCID");
  if (!in_slurm_step(variables)) {
    // A batch script is always task 0.
    if (rank && *rank != 0) {
      must_be(variables, "SLURM_PROCID", facts.rank, "rank");
    }
    return;
  }
  const auto tasks = number_of(variables, slurm_size_name(variables));
  const auto nodes = number_of(variables, first_set(variables, "SLURM_STEP_NUM_NODES", "SLURM_NNODES"));
  const bool shell = tasks && *tasks == 1;
  const bool daemons = tasks && nodes && *tasks == *nodes;
  if (!shell && !daemons) {
    check_slurm_step(variables, facts);
  }
}

void check_table(const Variables& variables, const RankFacts& facts, const Launcher& launcher) {
  must_be(variables, launcher.size, facts.size, "size");
  must_be(variables, launcher.rank, facts.rank, "rank");
  must_be(variables, launcher.local_size, facts.local_size, "local size");
  must_be(variables, launcher.local_rank, facts.local_rank, "local rank");
}

const Launcher* binding_launcher(const Variables& variables) {
  for (const Launcher& launcher : k_launchers) {
    const bool set =
        variables.contains(launcher.rank) || (launcher.name != k_slurm && variables.contains(launcher.size));
    if (set && (launcher.name != k_slurm || in_slurm_step(variables))) {
      return &launcher;
    }
  }
  return nullptr;
}

}  // namespace

Variables environment_variables() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const auto equals = text.find('='); equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

std::vector<int> parse_tasks_per_node(std::string_view text) {
  const auto refuse = [whole = text]() {
    throw Error(ErrorKind::data, fmt::format("\"{}\" is not a list of tasks per node such as 2(x3),1", whole));
  };
  const auto read = [&](std::string_view& rest) {
    int number = 0;
    const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (failed != std::errc{} || number <= 0 || number > k_largest_list) {
      refuse();
    }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return number;
  };
  std::vector<int> tasks;
  std::string_view rest = text;
  while (true) {
    const int each = read(rest);
    int nodes = 1;
    if (rest.starts_with("(x")) {
      rest.remove_prefix(2);
      nodes = read(rest);
      if (!rest.starts_with(')')) {
        refuse();
      }
      rest.remove_prefix(1);
    }
    if (static_cast<std::int64_t>(tasks.size()) + nodes > k_largest_list) {
      refuse();
    }
    tasks.insert(tasks.end(), static_cast<std::size_t>(nodes), each);
    if (rest.empty()) {
      return tasks;
    }
    if (!rest.starts_with(',')) {
      refuse();
    }
    rest.remove_prefix(1);
  }
}

int launched_processes(const Variables& variables) {
  const Launcher* launcher = binding_launcher(variables);
  if (launcher == nullptr) return 1;
  const std::string_view name = launcher->name == k_slurm ? slurm_size_name(variables) : launcher->size;
  return number_of(variables, name).value_or(1);
}

std::optional<int> launched_rank(const Variables& variables) {
  const Launcher* launcher = binding_launcher(variables);
  return launcher == nullptr ? std::nullopt : number_of(variables, launcher->rank);
}

std::string check_launcher(const Variables& variables, const RankFacts& facts) {
  const Launcher* launcher = binding_launcher(variables);
  // PMIx tells each process its rank, whoever started it.
  must_be(variables, "PMIX_RANK", facts.rank, "rank");
  if (launcher == nullptr) {
    check_slurm_around(variables, facts);
    return "none";
  }
  if (launcher->name == k_slurm) {
    check_slurm_step(variables, facts);
  } else {
    check_table(variables, facts, *launcher);
    check_slurm_around(variables, facts);
  }
  return std::string(launcher->name);
}

}  // namespace tessera::mpi
