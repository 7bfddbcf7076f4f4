// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The main program of tests that run on several ranks. All ranks run the same tests. A test passes when it passes on
// all of them; rank 0 prints, and so does every rank for its own failures.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "mpi/native.hpp"
#include "test/support/mpi_environment.hpp"

namespace tessera::test {
namespace {

mpi::Environment* environment = nullptr;

/// Prints only failures, each with its rank.
class FailurePrinter final : public testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed()) {
      std::printf("rank %d: %s:%d: %s\n", environment->rank(), result.file_name() == nullptr ? "?" : result.file_name(),
                  result.line_number(), result.message());
      std::fflush(stdout);
    }
  }
};

/// After each test, makes it fail on rank 0 when it failed elsewhere.
class Gather final : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& test) override {
    const int failed = test.result()->Failed() ? 1 : 0;
    std::vector<int> all(static_cast<std::size_t>(environment->size()));
    mpi::check(MPI_Allgather(&failed, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
    for (std::size_t rank = 1; rank < all.size() && environment->rank() == 0; ++rank) {
      if (all[rank] != 0) {
        ADD_FAILURE() << "failed on rank " << rank;
      }
    }
  }
};

int run_tests() {
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (environment->rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter);
  }
  // Events of ends go to the listener added last first, so the printer sees the failures that are added here.
  listeners.Append(new Gather);
  int failed = RUN_ALL_TESTS();
  mpi::check(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
  return failed;
}

}  // namespace

const mpi::Environment& mpi_environment() {
  return *environment;
}

}  // namespace tessera::test

int main(int argc, char** argv) {
  tessera::mpi::Environment environment(argc, argv);
  tessera::test::environment = &environment;  // before GoogleTest asks for the parameters of tests
  testing::InitGoogleTest(&argc, argv);
  return tessera::test::run_tests();
}
