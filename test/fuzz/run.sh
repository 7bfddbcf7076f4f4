#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# Feeds the readers of files with nonsense, one after the other; seeds come from the program itself.
#
#   test/fuzz/run.sh PROGRAM SECONDS [READER ...]
#     PROGRAM   build/release/bin/tessera
#     SECONDS   for each reader
#     READER    config, dataset, manifest, state; without: all
set -euo pipefail
(($# >= 2)) || { sed -n '5,11s/^# \{0,1\}//p' "$0" >&2; exit 64; }
program=$(realpath "$1") seconds=$2
shift 2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/fuzz
readers=("$@")
((${#readers[@]} > 0)) || readers=(config dataset manifest state)

cmake -S "$root/test/fuzz" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang-16 -DCMAKE_CXX_COMPILER=clang++-16 >/dev/null
cmake --build "$build" --parallel "${FUZZ_JOBS:-$(nproc)}"

work=$build/work
mkdir -p "$work"/{config,dataset,manifest,state}-corpus "$work"/findings
make_seeds() (
  cd "$work"
  seq -s ' ' 400 >text.txt
  printf 'a\n\nb\n' >short.txt
  "$program" prepare --overwrite --output data.h5 text.txt short.txt >/dev/null
  rm -rf seed && mkdir seed
  for more in "" "--model.architecture=gpt" "--model.experts=4 --model.expert_ffn=8"; do
    # shellcheck disable=SC2086
    "$program" train --data.train=data.h5 --model.layers=2 --model.hidden=8 --model.heads=2 --model.sequence=8 \
      --train.steps=1 --train.global_batch=1 --checkpoint.dir="seed/${more//[^a-z]/}x" $more >/dev/null 2>&1
  done
  cp data.h5 dataset-corpus/
  for folder in seed/*; do
    cp "$folder"/step-*/manifest.json "manifest-corpus/$(basename "$folder").json"
    cp "$folder"/step-*/state.json "state-corpus/$(basename "$folder").json"
  done
  for file in "$root"/share/configs/*.ini "$root"/share/models/*.ini; do cp "$file" config-corpus/; done
)
make_seeds

for reader in "${readers[@]}"; do
  printf 'fuzz: %s for %s s\n' "$reader" "$seconds"
  # detect_leaks: HDF5 keeps what it has.
  ASAN_OPTIONS=detect_leaks=0 "$build/fuzz_$reader" "$work/$reader-corpus" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=4096 -max_len=16384 -print_final_stats=1 -artifact_prefix="$work/findings/$reader-" 2>&1 |
    grep -E '^(stat::number_of_executed|stat::average|Done|==|SUMMARY|artifact|.*ERROR)' || true
  # Slow ones are none: a busy machine makes them.
  if compgen -G "$work/findings/$reader-[!s]*" >/dev/null; then
    printf 'fuzz: findings of %s in %s\n' "$reader" "$work/findings" >&2
    exit 1
  fi
done
