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
rm -rf "$work/seeds" && mkdir -p "$work"/{config,dataset,manifest,state}-corpus "$work"/findings \
  "$work"/seeds/{config,dataset,manifest,state}

make_seeds() (
  cd "$work/seeds"
  seq -s ' ' 400 >text.txt
  printf 'a\n\nb\n' >short.txt
  "$program" prepare --output dataset/two.h5 text.txt short.txt >/dev/null
  "$program" prepare --output dataset/short.h5 short.txt >/dev/null
  for more in "" "--model.architecture=gpt" "--model.experts=4 --model.expert_ffn=8"; do
    # shellcheck disable=SC2086
    "$program" train --data.train=dataset/two.h5 --model.layers=2 --model.hidden=8 --model.heads=2 \
      --model.sequence=8 --train.steps=1 --train.global_batch=1 --log.dir=log \
      --checkpoint.dir="saved/${more//[^a-z]/}x" $more >train.log 2>&1 || { cat train.log >&2; return 1; }
  done
  for folder in saved/*; do
    cp "$folder"/step-*/manifest.json "manifest/$(basename "$folder").json"
    cp "$folder"/step-*/state.json "state/$(basename "$folder").json"
  done
  # As the first versions wrote it.
  sed 's/"expert_layers": "[^"]*"/"expert_interval": 2/' state/*experts*.json >state/interval.json
  cp "$root"/share/configs/*.ini "$root"/share/models/*.ini config/
)

# Words that chance does not make: names of options, and of members of JSON.
make_words() (
  cd "$work/seeds"
  sed -n 's/.*"name": "\([^"]*\)".*/"\1"/p' "$root/core/config/options.json" >config.words
  printf '"[%s]"\n' data model train optimizer checkpoint >>config.words
  for reader in manifest state; do
    grep -oh '"[a-z_]*"' "$reader"/*.json | sort -u | sed 's/"\(.*\)"/"\\"\1\\""/' >"$reader.words"
    printf '"%s"\n' null true false 1e400 -1 9223372036854775807 18446744073709551615 >>"$reader.words"
  done
  printf '"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80"\n' >dataset.words
)

# A line per reader: how much was tried, and how much of the program it came to.
feed() { # READER
  local reader=$1 log=$work/$1.log
  FUZZ_SOUND=1 "$build/fuzz_$reader" "$work/seeds/$reader"/* >"$log" 2>&1 ||
    { grep 'refused' "$log" >&2; echo "fuzz: the reader of $reader does not take its seeds" >&2; return 1; }
  # detect_leaks: HDF5 keeps what it has.
  ASAN_OPTIONS=detect_leaks=0 "$build/fuzz_$reader" "$work/$reader-corpus" "$work/seeds/$reader" \
    -dict="$work/seeds/$reader.words" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -max_len=16384 \
    -print_final_stats=1 -artifact_prefix="$work/findings/$reader-" >"$log" 2>&1 || true
  # Slow ones are none: a busy machine makes them.
  if compgen -G "$work/findings/$reader-[!s]*" >/dev/null; then
    grep -E '^(==|SUMMARY|artifact|.*ERROR)' "$log" >&2 || true
    printf 'fuzz: findings of %s in %s\n' "$reader" "$work/findings" >&2
    return 1
  fi
  awk -v reader="$reader" '/(INITED|DONE) / { for (i = 1; i < NF; ++i) if ($i == "cov:") cov[++n] = $(i + 1) }
    /number_of_executed_units/ { runs = $2 } /^Done/ { took = $5 }
    END { printf "fuzz: %-8s %d runs in %d s, no finding; edges %d, seeds and corpus alone %d\n", reader, runs, took,
          cov[n], cov[1] }' "$log"
}

make_seeds
make_words
for reader in "${readers[@]}"; do feed "$reader"; done
