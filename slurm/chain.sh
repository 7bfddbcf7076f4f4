#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# Submits a job N times so that each waits for the one before and resumes its run: for sites that forbid requeueing.
# Each starts only if the one before did not end with 0 (time limit, lost node, exit code 75); once one has, SLURM
# cancels the rest.
#
#   slurm/chain.sh N JOB_SCRIPT [ARGUMENT…]
set -euo pipefail

(($# >= 2)) && [[ $1 =~ ^[1-9][0-9]*$ ]] || { echo "chain.sh: expected N JOB_SCRIPT [ARGUMENT…]" >&2; exit 64; }
count=$1
shift

# Each depends on all before it: one that was cancelled counts as not ended well, so the last one alone is not enough.
before=
dependency=()
for ((i = 1; i <= count; ++i)); do
  job=$(sbatch --parsable --no-requeue --export=ALL,TESSERA_MAX_RESTARTS=0 "${dependency[@]}" "$@")
  job=${job%%;*} # --parsable appends the cluster's name where there are several
  echo "job $i of $count: $job"
  before+=:$job
  dependency=(--dependency="afternotok$before" --kill-on-invalid-dep=yes)
done
