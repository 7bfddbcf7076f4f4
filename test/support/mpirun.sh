#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# Usage: mpirun.sh RANKS PROGRAM [ARGUMENT …]
# Runs a test on several ranks of this machine, with more ranks than cores if need be, and never longer than
# TESSERA_MPIRUN_SECONDS (90): mpirun itself can hang, and then ignores a polite signal.
set -euo pipefail
ranks=$1
shift

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_odls_base_sigkill_timeout=0
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"

exec timeout -k 5 "${TESSERA_MPIRUN_SECONDS:-90}" mpirun --oversubscribe --bind-to none -n "$ranks" "$@"
