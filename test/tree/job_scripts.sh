#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the job scripts with stand-ins for SLURM's commands: which exit codes requeue, whether a signal reaches the
# ranks, which options an element of a sweep gets, how a chain depends.
#
#   job_scripts.sh ROOT
set -euo pipefail
scripts=$1/slurm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir bin
export PATH=$work/bin:$PATH CALLS=$work/calls

stand_in() { # NAME BODY: a command that notes its call, then does BODY
  printf '#!/usr/bin/env bash\necho "%s $*" >>"$CALLS"\n%s\n' "$1" "$2" >"bin/$1"
  chmod +x "bin/$1"
}
stand_in scontrol ''
stand_in srun 'exit "$CODE"'
stand_in mpirun 'trap "exit 75" USR1; touch "$CALLS.started"; for ((i = 0; i < 200; ++i)); do sleep 0.05; done; exit 9'
stand_in sbatch 'wc -l <"$CALLS"' # job ids 1, 2, 3

failures=0
expect() { # WHAT ACTUAL EXPECTED
  [[ $2 == "$3" ]] && return
  printf '%s: got "%s", expected "%s"\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}
requeues() { grep -c '^scontrol requeue 7$' "$CALLS" || true; }
run() { # COMMAND…: its exit code
  local code=0
  : >"$CALLS"
  "$@" >output 2>&1 || code=$?
  echo "$code"
}
export SLURM_JOB_ID=7 SLURM_CPUS_PER_TASK=3

# Code of the ranks, restarts so far, requeues expected.
for case in "75 0 1" "75 19 1" "75 20 0" "0 0 0" "78 0 0" "137 0 0"; do
  read -r code restarts expected <<<"$case"
  expect "srun, code $code" "$(CODE=$code SLURM_RESTART_COUNT=$restarts run bash "$scripts/srun.sbatch" run.ini)" "$code"
  expect "srun, code $code, $restarts restarts: requeues" "$(requeues)" "$expected"
done
expect "srun: command" "$(grep -c -- '--cpus-per-task=3 .* build/release/bin/tessera train run.ini$' "$CALLS")" 1

: >"$CALLS"
bash "$scripts/mpirun.sbatch" run.ini --train.steps=9 >output 2>&1 &
job=$!
for ((i = 0; i < 100; ++i)); do [[ -e $CALLS.started ]] && break || sleep 0.05; done
kill -USR1 "$job"
code=0
wait "$job" || code=$?
expect "mpirun: code after USR1" "$code" 75
expect "mpirun: requeues" "$(requeues)" 1
expect "mpirun: command" "$(grep -c '^mpirun .*slot:PE=3 .* train run.ini --train.steps=9$' "$CALLS")" 1

printf '# a sweep\n\n--optimizer.lr=1e-3\n--optimizer.lr=2e-3 --train.seed=2\n' >options.txt
export SLURM_ARRAY_JOB_ID=5 CODE=0
expect "sweep: code" "$(SLURM_ARRAY_TASK_ID=2 run bash "$scripts/sweep.sbatch" run.ini options.txt)" 0
expect "sweep: command" "$(grep -c 'train run.ini --optimizer.lr=2e-3 --train.seed=2 --checkpoint.dir=runs/sweep-5/2/' "$CALLS")" 1
expect "sweep: no such line" "$(SLURM_ARRAY_TASK_ID=3 run bash "$scripts/sweep.sbatch" run.ini options.txt)" 78

expect "chain: code" "$(run "$scripts/chain.sh" 3 job.sbatch run.ini)" 0
expect "chain: jobs" "$(grep -c '^sbatch .*job.sbatch run.ini$' "$CALLS")" 3
expect "chain: dependencies" "$(grep -o 'afternotok[:0-9]*' "$CALLS" | tr '\n' ' ')" "afternotok:1 afternotok:1:2 "
expect "chain: bad count" "$(run "$scripts/chain.sh" none job.sbatch)" 64

printf 'job_scripts: %d failures\n' "$failures"
((failures == 0))
