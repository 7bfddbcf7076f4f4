// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/environment.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <optional>

#include "core/base/error.hpp"
#include "mpi/native.hpp"

namespace tessera::mpi {
namespace {

ThreadLevel thread_level_of(int provided) {
  switch (provided) {
    case MPI_THREAD_MULTIPLE:
      return ThreadLevel::multiple;
    case MPI_THREAD_SERIALIZED:
      return ThreadLevel::serialized;
    case MPI_THREAD_FUNNELED:
      return ThreadLevel::funneled;
    default:
      return ThreadLevel::single;
  }
}

std::string host_name() {
  std::string name(MPI_MAX_PROCESSOR_NAME, '\0');
  int length = 0;
  check(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  name.resize(static_cast<std::size_t>(length));
  return name;
}

RankLayout ask_mpi() {
  RankLayout layout;
  RankFacts& facts = layout.facts;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &facts.rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &facts.size), "MPI_Comm_size");
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, facts.rank, MPI_INFO_NULL, &node),
        "MPI_Comm_split_type");
  const UniqueComm owned(node);
  check(MPI_Comm_rank(node, &facts.local_rank), "MPI_Comm_rank");
  check(MPI_Comm_size(node, &facts.local_size), "MPI_Comm_size");
  // A node is known by its first rank.
  int first = facts.rank;
  check(MPI_Bcast(&first, 1, MPI_INT, 0, node), "MPI_Bcast");
  std::vector<int> firsts(static_cast<std::size_t>(facts.size));
  check(MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
  std::vector<int> nodes = firsts;
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  const auto index_of = [&](int rank) {
    return static_cast<int>(std::lower_bound(nodes.begin(), nodes.end(), rank) - nodes.begin());
  };
  std::transform(firsts.begin(), firsts.end(), std::back_inserter(layout.node_of_rank), index_of);
  layout.node = index_of(first);
  layout.nodes = static_cast<int>(nodes.size());
  layout.host = host_name();
  return layout;
}

/// For tests of several nodes on one machine: every so many ranks are a node. Throws Error{configuration}.
void pretend_nodes(const Variables& variables, RankLayout& layout) {
  const auto found = variables.find("TESSERA_RANKS_PER_NODE");
  if (found == variables.end()) return;
  const std::string& text = found->second;
  int each = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), each);
  if (failed != std::errc{} || end != text.data() + text.size() || each < 1) {
    throw Error(ErrorKind::configuration, fmt::format("TESSERA_RANKS_PER_NODE={} is not a number of ranks", text),
                "It is for tests on one machine. Unset it.");
  }
  RankFacts& facts = layout.facts;
  layout.node = facts.rank / each;
  layout.nodes = (facts.size + each - 1) / each;
  facts.local_rank = facts.rank % each;
  facts.local_size = std::min(each, facts.size - layout.node * each);
  for (int rank = 0; rank < facts.size; ++rank) {
    layout.node_of_rank[static_cast<std::size_t>(rank)] = rank / each;
  }
}

std::string broadcast(std::string text, int root) {
  auto length = static_cast<int>(text.size());
  check(MPI_Bcast(&length, 1, MPI_INT, root, MPI_COMM_WORLD), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(length));
  check(MPI_Bcast(text.data(), length, MPI_CHAR, root, MPI_COMM_WORLD), "MPI_Bcast");
  return text;
}

/// Throws the error of the first rank that has one on all ranks: whichever of them ends first and takes the others with
/// it, the words are seen.
void throw_together(const std::optional<Error>& error, const RankFacts& facts) {
  int first = error ? facts.rank : facts.size;
  check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
  if (first == facts.size) {
    return;
  }
  const bool mine = first == facts.rank;
  auto kind = static_cast<int>(mine ? error->kind() : ErrorKind::disagreement);
  check(MPI_Bcast(&kind, 1, MPI_INT, first, MPI_COMM_WORLD), "MPI_Bcast");
  const std::string message = broadcast(mine ? error->what() : "", first);
  const std::string hint = broadcast(mine ? error->hint() : "", first);
  throw Error(static_cast<ErrorKind>(kind), fmt::format("rank {}: {}", first, message), hint);
}

}  // namespace

std::string describe(const RankLayout& layout) {
  std::string text;
  for (int node = 0; node < layout.nodes; ++node) {
    text += fmt::format("node {}{}: ranks", node, node == layout.node ? fmt::format(" (host {})", layout.host) : "");
    for (std::size_t rank = 0; rank < layout.node_of_rank.size(); ++rank) {
      text += layout.node_of_rank[rank] == node ? fmt::format(" {}", rank) : "";
    }
    text += '\n';
  }
  return text;
}

Environment::Environment(int& argc, char**& argv) : exceptions_(std::uncaught_exceptions()) {
  // Open MPI adds variables of its own while it starts.
  const Variables variables = environment_variables();
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  try {
    thread_level_ = thread_level_of(provided);
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    layout_ = ask_mpi();
    std::optional<Error> error;
    try {
      layout_.launcher = check_launcher(variables, layout_.facts);
      pretend_nodes(variables, layout_);
    } catch (const Error& found) {
      error = found;
    }
    throw_together(error, layout_.facts);
  } catch (...) {
    MPI_Finalize();
    throw;
  }
}

Environment::~Environment() {
  if (std::uncaught_exceptions() == exceptions_) {
    MPI_Finalize();
  }
}

void Environment::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);  // MPI_Abort does not return; this tells the compiler
}

}  // namespace tessera::mpi
