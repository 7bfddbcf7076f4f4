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


def layers_of(text):
    """Number of layers in a list such as "1, 3, 5-7"."""
    count = 0
    for word in text.split(","):
        first, _, last = word.partition("-")
        count += int(last or first) - int(first) + 1
    return count


def expert_layers(model):
    """Number of layers that have experts."""
    if model.getint("experts", fallback=0) == 0:
        return 0
    if model.get("expert_layers"):
        return layers_of(model["expert_layers"])
    return model.getint("layers") // model.getint("expert_interval", fallback=1)


def expert_elements(model):
    """Of a layer: router with its bias, experts, and the shared one."""
    h, n = model.getint("hidden"), model.getint("experts")
    width = model.getint("expert_ffn", fallback=0) or model.getint("ffn")
    shared = model.getint("shared_expert_ffn", fallback=0)
    bias = n if model.getboolean("router_bias", fallback=False) else 0
    return n * h + bias + 3 * h * (n * width + shared)


def count_parameters(model):
    """Number of elements of a model section; a tied table counts once, every vocabulary row is real (no padding)."""
    number = lambda key: model.getint(key)
    switch = lambda key: model.getboolean(key, fallback=False)
    h, f, v = number("hidden"), number("ffn"), number("vocab")
    head_dim = model.getint("head_dim", fallback=0) or h // number("heads")
    q, kv = number("heads") * head_dim, number("kv_heads") * head_dim
    llama = model["architecture"] == "llama"
    attention = 2 * q * h + 2 * kv * h + (q + 2 * kv + h if switch("biases") else 0)
    dense = (3 if llama else 2) * h * f + ((2 if llama else 1) * f + h if switch("biases") else 0)
    norm = h if llama else 2 * h
    head_norms = 2 * head_dim if switch("qk_norm") else 0
    tables = v * h * (1 if switch("tied") else 2) + (0 if llama else number("sequence") * h)
    layers, sparse = number("layers"), expert_layers(model)
    blocks = (layers - sparse) * dense + (sparse * expert_elements(model) if sparse else 0)
    return layers * (attention + 2 * norm + head_norms) + blocks + norm + tables


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
