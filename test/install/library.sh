#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the build into a folder, moves the folder, and builds a program against it.
#
#   library.sh SOURCE BUILD LIBDIR CMAKE_ARGUMENT…
set -euo pipefail
source_folder=$1 build=$2 libdir=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/moved

fail() {
  printf 'library.sh: %s\n' "$*" >&2
  exit 1
}
quietly() { # COMMAND…: shows the output only of a command that fails
  "$@" >"$work/output" 2>&1 || { cat "$work/output"; fail "failed: $*"; }
}

quietly cmake --install "$build" --prefix "$work/runtime" --component Runtime
[[ ! -e $work/runtime/include ]] || fail "the component Runtime contains headers"
[[ -e $work/runtime/share/tessera/models/llama_tiny.ini ]] || fail "the component Runtime lacks the presets"

quietly cmake --install "$build" --prefix "$work/prefix"
mv "$work/prefix" "$prefix"
for file in include/tessera/core/mesh/layout.hpp "$libdir/libtessera.so" "$libdir/cmake/tessera/tesseraConfig.cmake" \
  share/tessera/configs/quickstart.ini share/tessera/slurm/srun.sbatch share/doc/tessera/guide.md share/doc/tessera/LICENSE; do
  [[ -e $prefix/$file ]] || fail "$file was not installed"
done

# No private path of the build may stay behind; libraries find each other where they are now.
if grep -rIl -e "$build" -e "$source_folder" "$prefix/$libdir" | grep .; then fail "these name the build's folders"; fi
while IFS= read -r -d '' library; do
  lost=$(ldd "$library" | grep 'not found' || true)
  [[ -z $lost ]] || fail "$library: $lost"
  [[ -z $(ldd "$library" | grep -F "$build" || true) ]] || fail "$library is linked with a library of the build folder"
done < <(find "$prefix/$libdir" "$prefix/bin" -type f \( -name '*.so*' -o -perm -u+x \) -print0 2>/dev/null)

quietly cmake -G Ninja -S "$source_folder/test/install/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" "$@"
quietly cmake --build "$work/consumer"
printed=$("$work/consumer/consumer" | tr '\n' ' ')
[[ $printed == "all_reduce presets " ]] || fail "the consumer printed: $printed"

if [[ -x $prefix/bin/tessera ]]; then
  quietly "$prefix/bin/tessera" --version
  quietly "$prefix/bin/tessera" modules list
fi
echo "library.sh: passed"
