#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian 12 packages that a build needs. Does nothing, and needs no network, when all are there.
#
#   share/dev/install-packages.sh [--tests] [--fuzz] [--list]
#     --tests   also what the tests need
#     --fuzz    also what the fuzzers need
#     --list    only print the names of the packages
set -euo pipefail

# ocl-icd-opencl-dev: the CMake package of libdnnl-dev looks for OpenCL, though the library on a CPU does not use it.
build_packages=(
  build-essential cmake ninja-build ccache pkg-config
  libboost-program-options-dev libboost-log-dev libfmt-dev nlohmann-json3-dev libpcre2-dev libxxhash-dev
  libhdf5-openmpi-dev libdnnl-dev ocl-icd-opencl-dev liburing-dev libhwloc-dev
  libopenmpi-dev openmpi-bin
)
test_packages=(
  libgtest-dev libgmock-dev libbenchmark-dev
  python3 python3-numpy python3-h5py hdf5-tools binutils
)

fuzz_packages=(clang-16 libclang-rt-16-dev)

say() { printf 'install-packages: %s\n' "$*"; }

fail() {
  printf 'install-packages: %s\n' "$@" >&2
  exit 1
}

packages=("${build_packages[@]}")
list_only=no
for argument in "$@"; do
  case $argument in
    --tests) packages+=("${test_packages[@]}") ;;
    --fuzz) packages+=("${fuzz_packages[@]}") ;;
    --list) list_only=yes ;;
    -h | --help)
      sed -n '5,10s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *)
      printf 'install-packages: unknown argument %s; known: --tests, --fuzz, --list\n' "$argument" >&2
      exit 64
      ;;
  esac
done
if [[ $list_only == yes ]]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

command -v apt-get >/dev/null || fail "this system has no apt-get." \
  "The script is for Debian 12; elsewhere install the counterparts of: ${packages[*]}"

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) || status=absent
  [[ $status == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  say "all ${#packages[@]} packages are there"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || fail "missing packages: ${missing[*]}" \
    "Installing needs root and there is no sudo. As root, run: apt-get install ${missing[*]}"
  as_root=(sudo)
fi
apt() { # waits for another apt instead of failing, asks no question
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 \
    -o Acquire::Retries=3 "$@" </dev/null
}

without_candidate() { # those of the arguments that the package lists do not offer
  local package policy
  for package in "$@"; do
    policy=$(apt-cache policy "$package" 2>/dev/null)
    [[ $policy =~ Candidate:\ [^\(] ]] || printf '%s ' "$package"
  done
}

say "${#missing[@]} of ${#packages[@]} packages are missing: ${missing[*]}"
apt update || fail "the package lists could not be fetched." \
  "Check the network and /etc/apt/sources.list, or install these by hand: ${missing[*]}"

unknown=$(without_candidate "${missing[@]}")
if [[ -n $unknown ]]; then
  system=$(sed -n 's/^PRETTY_NAME="\(.*\)"$/\1/p' /etc/os-release 2>/dev/null || true)
  fail "no package source offers: $unknown" "This is ${system:-an unknown system}; the names are those of Debian 12" \
    "(bookworm), component main. Enable it in /etc/apt/sources.list or install the counterparts by hand."
fi

apt install --no-install-recommends "${missing[@]}" >/dev/null || fail "apt-get could not install: ${missing[*]}" \
  "Its message is above. As root, 'apt-get -f install' repairs a half-installed state."
say "installed ${#missing[@]} packages"
