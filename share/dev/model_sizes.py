#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Counts the parameters of the model presets; refuses a preset whose comment says another number.

model_sizes.py [--write] [FILE...]    without files: share/models/*.ini; --write corrects the comments
"""

import argparse
import configparser
import pathlib
import re
import sys

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
COMMENT = re.compile(r"^# Parameters: ([0-9,]+)$", re.MULTILINE)


def count_parameters(model):
    """Number of elements of a model section; a tied table counts once, every vocabulary row is real (no padding)."""
    number = lambda key: model.getint(key)
    switch = lambda key: model.getboolean(key, fallback=False)
    h, f, v = number("hidden"), number("ffn"), number("vocab")
    head_dim = h // number("heads")
    kv = number("kv_heads") * head_dim
    llama = model["architecture"] == "llama"
    weights = 2 * h * h + 2 * kv * h + (3 if llama else 2) * h * f
    biases = (2 * h + 2 * kv + (2 if llama else 1) * f + h) if switch("biases") else 0
    norm = h if llama else 2 * h
    head_norms = 2 * head_dim if switch("qk_norm") else 0
    tables = v * h * (1 if switch("tied") else 2) + (0 if llama else number("sequence") * h)
    return number("layers") * (weights + biases + 2 * norm + head_norms) + norm + tables


def read_model(path):
    parser = configparser.ConfigParser()
    parser.read(path)
    return parser["model"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    wrong = 0
    for path in arguments.files or sorted(MODELS.glob("*.ini")):
        count, text = f"{count_parameters(read_model(path)):,}", path.read_text()
        said = COMMENT.search(text)
        if said is None or said.group(1) != count:
            wrong += 1
            print(f"{path}: says {said.group(1) if said else 'nothing'}, has {count} parameters", file=sys.stderr)
            if arguments.write and said:
                path.write_text(COMMENT.sub(f"# Parameters: {count}", text))
        else:
            print(f"{path.stem:16} {count:>16}")
    return 1 if wrong and not arguments.write else 0


if __name__ == "__main__":
    sys.exit(main())
