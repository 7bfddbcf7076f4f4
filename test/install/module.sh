#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# module.sh BUILD SOURCE COMPILER SANITIZE: installs BUILD into an empty folder, builds the project in SOURCE against it
# and runs its program; then the same for skeletons of new modules. All in a temporary folder.
set -euo pipefail
build=$1 source=$2 compiler=$3 sanitize=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/prefix" >/dev/null
cmake_flags=(-G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release
  ${sanitize:+-DCMAKE_CXX_FLAGS=-fsanitize=$sanitize} -DCMAKE_INSTALL_PREFIX="$folder/prefix")
cmake -S "$source" -B "$folder/build" "${cmake_flags[@]}" >/dev/null
cmake --build "$folder/build"
"$folder/build/load_greeting" "$folder/build/lib/tessera/modules"
cmake --install "$folder/build" >/dev/null
"$folder/build/load_greeting" "" # now beside the installed library

for kind in optimizer strategy; do
  "$source/../../../share/dev/new-module" "$kind" probe "$folder" >/dev/null
  cmake -S "$folder/modules/$kind/probe" -B "$folder/$kind" "${cmake_flags[@]}" >/dev/null
  cmake --build "$folder/$kind" >/dev/null
  "$folder/build/check_modules" "$folder/$kind/lib/tessera/modules/${kind}_probe.so"
done
