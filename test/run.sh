#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs what the tests need, builds, and runs the tests.
#
#   test/run.sh [--sanitize | --sanitize=thread] [--faults] [--fuzz SECONDS] [--only REGEX]
#     --sanitize          some of the tests under the address and undefined-behaviour sanitizers (slow to build)
#     --sanitize=thread   some of the tests under the thread sanitizer
#     --faults            only the fault driver, with all its cases
#     --fuzz SECONDS      only the fuzzers, each for so long
#     --only REGEX        only tests whose name matches
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What the sanitizers look at: readers of files, kernels, memory, and what ranks that are threads share. Kernels are
# compiled for any processor there, not for this one.
asan_tests=(comm_test compare_layout_test config_test host_test io_checkpoint_test io_data_test io_output_test
  io_text_test kernel_table_test memory_test mesh_test module_test run_sizes_test skipped_step_test train_test)
tsan_tests=(comm_test communicator_contract_test compare_layout_test io_checkpoint_test train_test)

preset="test"
targets=()
fuzz_seconds=0
selection=()

sanitize() { # PRESET TEST...: only these tests
  preset=$1
  shift
  targets=(--target "$@")
  selection=(--tests-regex "^($(IFS='|' && printf '%s' "$*"))\$")
}

while (($# > 0)); do
  case $1 in
    --sanitize) sanitize asan "${asan_tests[@]}" ;;
    --sanitize=thread) sanitize tsan "${tsan_tests[@]}" ;;
    --faults)
      export TESSERA_ALL_FAULTS=1
      selection=(--label-regex '^faults$')
      ;;
    --fuzz)
      (($# > 1)) || { echo "test/run.sh: --fuzz needs a number of seconds" >&2; exit 64; }
      fuzz_seconds=$2
      shift
      ;;
    --only)
      (($# > 1)) || { echo "test/run.sh: --only needs a regular expression" >&2; exit 64; }
      selection=(--tests-regex "$2")
      shift
      ;;
    -h | --help)
      sed -n '5,12s/^# \{0,1\}//p' "test/run.sh"
      exit 0
      ;;
    *)
      echo "test/run.sh: unknown argument $1; known: --sanitize, --sanitize=thread, --faults, --fuzz SECONDS, --only REGEX" >&2
      exit 64
      ;;
  esac
  shift
done

# mpirun refuses root unless both are set; containers and build machines often have no other user.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# A killed job is torn down at once instead of after a grace of seconds.
export OMPI_MCA_odls_base_sigkill_timeout=0
# Open MPI's session folders live below TMPDIR; long paths break their sockets.
export TMPDIR=${TMPDIR:-/tmp}

jobs=$(nproc)
memory_gib=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
((memory_gib >= jobs)) || jobs=$((memory_gib > 0 ? memory_gib : 1)) # a compiler takes up to 1 GiB

if ((fuzz_seconds > 0)); then
  share/dev/install-packages.sh --fuzz
  cmake --preset release
  cmake --build --preset release --parallel "$jobs"
  exec test/fuzz/run.sh build/release/bin/tessera "$fuzz_seconds"
fi
share/dev/install-packages.sh --tests
begin=$SECONDS
cmake --preset "$preset" -DTESSERA_TESTS=ON
cmake --build --preset "$preset" --parallel "$jobs" "${targets[@]}"
built=$SECONDS

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
ctest --preset "$preset" --parallel "$jobs" --no-tests=error "${selection[@]}" </dev/null 2>&1 | tee "$log" || status=$?
summary=$(grep -E '^[0-9]+% tests passed' "$log" || echo "no test ran")
printf '\ntest/run.sh: %s (build %d s, tests %d s)\n' "$summary" $((built - begin)) $((SECONDS - built))
exit "$status"
