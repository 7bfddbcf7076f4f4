#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# Usage: setup.sh FOLDER
# Makes a virtual environment with PyTorch from PyPI, for test/peers/compare.py. Needs some gigabytes.
set -euo pipefail
folder=${1:?usage: setup.sh FOLDER}
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet torch==2.15.0 numpy
"$folder/bin/python" -c 'import torch; print("PyTorch", torch.__version__, "with MKL" if torch.backends.mkl.is_available() else "without MKL")'
