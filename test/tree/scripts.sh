#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# Every shell script parses; every script that is meant to be run is executable.
#
#   scripts.sh ROOT
set -euo pipefail
cd "$1"

failures=0
complain() {
  printf '%s\n' "$*"
  failures=$((failures + 1))
}

mapfile -t scripts < <(grep -rlE '^#!(/usr/bin/env bash|/bin/bash|/bin/sh)' \
  .ci apps core io mpi gpu modules share slurm test 2>/dev/null | LC_ALL=C sort)
((${#scripts[@]} > 0)) || complain "no script was found"
for script in "${scripts[@]}"; do
  [[ $(head -c 2 "$script") == '#!' ]] || continue # a file that only quotes such a line
  bash -n "$script" || complain "$script: does not parse"
  [[ -x $script || $script == *.sbatch ]] || complain "$script: is not executable"
done

printf 'scripts: %d failures in %d scripts\n' "$failures" "${#scripts[@]}"
((failures == 0))
