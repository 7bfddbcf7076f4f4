#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# From a clean clone to a small trained model: installs, builds, makes a dataset of the C and C++ headers of this
# machine, trains on two ranks, kills one of them in the middle, resumes, and lets the model write.
#
#   share/quickstart.sh [--steps N] [--dir DIR]
#     --steps N   optimizer steps (default: those of share/configs/quickstart.ini)
#     --dir DIR   where data, checkpoints and logs go; a run that is there already is removed (default: runs/quickstart)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

run_file=share/configs/quickstart.ini
steps=$(awk -F' *= *' '/^\[/ { section = $0 } section == "[train]" && $1 == "steps" { print $2 }' "$run_file")
folder=runs/quickstart
corpus_bytes=$((16 << 20))

while (($# > 0)); do
  case $1 in
    --steps | --dir)
      (($# > 1)) || { echo "quickstart: $1 needs a value" >&2; exit 64; }
      if [[ $1 == --steps ]]; then steps=$2; else folder=$2; fi
      shift
      ;;
    -h | --help)
      sed -n '5,10s/^# \{0,1\}//p' share/quickstart.sh
      exit 0
      ;;
    *)
      echo "quickstart: unknown argument $1; known: --steps N, --dir DIR" >&2
      exit 64
      ;;
  esac
  shift
done
if [[ ! $steps =~ ^[0-9]+$ ]] || ((steps < 4)); then
  echo "quickstart: --steps must be a number from 4 up" >&2
  exit 64
fi

# mpirun refuses root unless both are set.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# A killed job is torn down at once instead of after a grace of seconds.
export OMPI_MCA_odls_base_sigkill_timeout=0
cores=$(nproc)
export OMP_NUM_THREADS=$((cores > 2 ? cores / 2 : 1)) # per rank; mpirun itself would give each rank one core

tessera=build/release/bin/tessera
checkpoints=$folder/checkpoints
metrics=$folder/metrics.jsonl
log=$folder/quickstart.log
interval=$((steps < 12 ? 1 : steps / 6))
kill_after=$((steps / 2))

# A marker that this script made the folder, so that --dir never removes anything else.
if [[ -e $folder && ! -e $folder/.quickstart && -n $(ls -A "$folder") ]]; then
  echo "quickstart: $folder exists and is not a quickstart run; give another --dir" >&2
  exit 73
fi
rm -rf "$folder"
mkdir -p "$folder"
touch "$folder/.quickstart"
: >"$log"

stage() { # TEXT: ends the stage before with its time, begins the next
  [[ -z ${stage_begin:-} ]] || printf ' %d s\n' $((SECONDS - stage_begin))
  stage_begin=$SECONDS
  printf 'quickstart: %s …' "$1"
  printf '\n== %s\n' "$1" >>"$log"
}
fail() { # TEXT…
  printf '\nquickstart: FAILED: %s\n' "$*" >&2
  exit 1
}
show_end_of_log() { # on any exit but a good one
  local code=$?
  ((code != 0)) || return
  printf '\nquickstart: exit code %d; the end of %s:\n' "$code" "$log" >&2
  tail -n 30 "$log" >&2
}
trap show_end_of_log EXIT
run() { # SECONDS COMMAND…: output to the log; fails loudly. The seconds are for what hangs, not for what is slow
  local limit=$1 code=0
  shift
  timeout -k 10 "$limit" "$@" >>"$log" 2>&1 </dev/null || code=$?
  ((code == 0)) || fail "exit code $code of: $*" "$( ((code != 124)) || echo "(no end within $limit s)")"
}
train() { # SECONDS: trains on two ranks, resuming from what is there
  timeout -k 10 "$1" mpirun -n 2 --oversubscribe --bind-to none "$tessera" train "$run_file" \
    --data.train="$folder/train.h5" --data.valid="$folder/valid.h5" \
    --train.steps="$steps" --lr.warmup_steps=$((steps / 10)) \
    --checkpoint.dir="$checkpoints" --checkpoint.interval="$interval" --log.dir="$folder" >>"$log" 2>&1 </dev/null
}
ranks_below() { # PID: process ids of the ranks among its descendants, from /proc because a small system has no ps
  local child
  for child in $(sed -n 's/^\([0-9]*\) (.*) . \([0-9]*\) .*/\2 \1/p' /proc/[0-9]*/stat 2>/dev/null |
    awk -v parent="$1" '$1 == parent { print $2 }' || true); do # processes vanish while they are read
    if [[ $(cat "/proc/$child/comm" 2>/dev/null) == tessera ]]; then echo "$child"; fi
    ranks_below "$child"
  done
}
value_of() { # KEY, from a line of metrics.jsonl on stdin
  sed -n 's/.*"'"$1"'": *\([-+.0-9eE]*\).*/\1/p'
}
last_step() { [[ ! -e $metrics ]] || tail -n 1 "$metrics" | value_of step; }
committed() { # checkpoints, the newest last
  [[ ! -d $checkpoints ]] || find "$checkpoints" -maxdepth 1 -type d -name 'step-*' ! -name '*.tmp' | LC_ALL=C sort
}

# Headers below /usr/include, in order of their paths: of every k one for training, so that they have about corpus_bytes,
# and of every 256 k another one for validation.
pick_headers() { # FIRST FACTOR
  find /usr/include -type f \( -name '*.h' -o -name '*.hpp' \) -size -256k -printf '%s %p\n' | LC_ALL=C sort -k 2 |
    awk -v first="$1" -v factor="$2" -v bytes="$corpus_bytes" '
      { total += $1; sub(/^[0-9]+ /, ""); name[NR] = $0 }
      END { k = int(total / bytes) + 1; if (k < 2) k = 2
            for (i = first; i <= NR; i += factor * k) print name[i] }'
}

stage "installing packages"
run 1800 share/dev/install-packages.sh

stage "building (preset release, $cores cores)"
run 600 cmake --preset release -DTESSERA_TESTS=OFF
run 3600 cmake --build --preset release --parallel "$cores"

stage "making a dataset of the headers below /usr/include"
mapfile -t training < <(pick_headers 1 1)
mapfile -t validation < <(pick_headers 2 256)
((${#training[@]} > 0 && ${#validation[@]} > 0)) || fail "found no headers below /usr/include"
run 600 "$tessera" prepare --output "$folder/train.h5" "${training[@]}"
run 600 "$tessera" prepare --output "$folder/valid.h5" "${validation[@]}"

stage "training to step $steps on 2 ranks; rank 1 is killed at step $kill_after"
train 1800 &
job=$!
victim=
while kill -0 "$job" 2>/dev/null; do
  step=$(last_step)
  if ((${step:-0} >= kill_after)) && [[ -n $(committed) ]]; then
    victim=$(ranks_below "$job" | tail -n 1)
    [[ -z $victim ]] || { kill -9 "$victim" && break; }
  fi
  sleep 0.2
done
code=0
wait "$job" || code=$?
[[ -n $victim ]] || fail "the run ended with exit code $code before a rank could be killed"
((code != 0)) || fail "a rank was killed, yet mpirun ended with 0"
died_at=$(last_step)
saved=$(committed | tail -n 1)

stage "killed at step $died_at (mpirun: $code); resuming from $(basename "$saved")"
code=0
train 1800 || code=$?
((code == 0)) || fail "the resumed run ended with exit code $code"
[[ $(last_step) == "$steps" ]] || fail "the resumed run ended at step $(last_step), not $steps"
[[ $(grep -cE '"step": ?1[,}]' "$metrics") == 1 ]] || fail "the resumed run began anew"

stage "checking the last checkpoint"
final=$(committed | tail -n 1)
run 300 "$tessera" inspect "$final" --verify

stage "letting the model write"
sample=$(timeout -k 10 120 "$tessera" generate --checkpoint "$final" --prompt '#include <' --tokens 240 --seed 1 \
  2>>"$log" </dev/null) || fail "generate ended with exit code $?"
printf ' %d s\n' $((SECONDS - stage_begin))

first_loss=$(head -n 1 "$metrics" | value_of loss | LC_ALL=C xargs printf '%.2f')
last_loss=$(tail -n 20 "$metrics" | value_of loss | LC_ALL=C awk '{ sum += $1 } END { printf "%.2f", sum / NR }')
valid_loss=$(sed -n 's/.*lm loss value: \([0-9.E+-]*\).*/\1/p' "$log" | tail -n 1 | LC_ALL=C xargs printf '%.2f')
train_seconds=$(value_of step_seconds <"$metrics" | LC_ALL=C awk '{ sum += $1 } END { printf "%.0f", sum }')
printf '\n%s\n\n' "$sample"
cat <<END
quickstart: loss $first_loss -> $last_loss nats per byte (mean of the last 20 steps; guessing: 5.55), $valid_loss on text
that it has not seen, after $steps steps in $train_seconds s; $((SECONDS / 60)) min $((SECONDS % 60)) s in all

  $metrics   one line per logged step
  $final   the last checkpoint; h5ls reads it
  $log   what the commands printed

Next: README.md has a tour of the source, share/doc/guide.md explains run files, launching and resuming.
  $tessera bench step $run_file   shows where the time of a step goes
END
