# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""A gpt and a llama in PyTorch as one would write them to be fast, from the [model] section of a run file."""

import configparser
import pathlib

import torch
import torch.nn.functional as F
from torch import nn

PRESETS = pathlib.Path(__file__).resolve().parents[2] / "share" / "models"


def read_model(name):
    """The [model] section of a preset, or of a run file."""
    path = pathlib.Path(name) if name.endswith(".ini") else PRESETS / f"{name}.ini"
    parser = configparser.ConfigParser()
    if not parser.read(path):
        raise SystemExit(f"{path} cannot be read")
    model = parser["model"]
    if model.get("kv_heads", model["heads"]) != model["heads"] or model.getboolean("qk_norm", False):
        raise SystemExit(f"{path}: only models whose queries have keys of their own, without norms")
    return model


class Block(nn.Module):
    def __init__(self, model, norm):
        super().__init__()
        hidden, ffn, biases = model.getint("hidden"), model.getint("ffn"), model.getboolean("biases")
        self.heads, self.gated = model.getint("heads"), model["architecture"] == "llama"
        self.norm1, self.norm2 = norm(), norm()
        self.qkv, self.o = nn.Linear(hidden, 3 * hidden, biases), nn.Linear(hidden, hidden, biases)
        self.up = nn.Linear(hidden, 2 * ffn if self.gated else ffn, biases)
        self.down = nn.Linear(ffn, hidden, biases)

    def forward(self, x, turn):
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        if turn is not None:
            q, k = rotate(q, *turn), rotate(k, *turn)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        y = self.up(self.norm2(x))
        if self.gated:
            gate, y = y.chunk(2, -1)
            return x + self.down(F.silu(gate) * y)
        return x + self.down(F.gelu(y, approximate="tanh"))


def rotate(x, cos, sin):
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def turns(model, sequence):
    """(cos, sin) of rotary positions."""
    half = model.getint("hidden") // model.getint("heads") // 2
    with torch.device("cpu"):
        exponents = torch.arange(half, dtype=torch.float64) / half
        angles = torch.arange(sequence)[:, None] * model.getfloat("rope_theta") ** -exponents
        return angles.cos().float(), angles.sin().float()


class Decoder(nn.Module):
    """Pre-norm; returns the mean loss of the next token over a batch of ids [samples, sequence + 1]."""

    def __init__(self, model, sequence):
        super().__init__()
        hidden, epsilon, self.gpt = model.getint("hidden"), model.getfloat("norm_epsilon"), model["architecture"] == "gpt"
        self.turn = None if self.gpt else turns(model, sequence)
        norm = (lambda: nn.LayerNorm(hidden, epsilon)) if self.gpt else (lambda: nn.RMSNorm(hidden, epsilon))
        self.embedding = nn.Embedding(model.getint("vocab"), hidden)
        if self.gpt:
            self.position_embedding = nn.Parameter(torch.empty(sequence, hidden))
        self.layers = nn.ModuleList(Block(model, norm) for _ in range(model.getint("layers")))
        self.norm = norm()
        self.head = None if model.getboolean("tied") else nn.Linear(hidden, model.getint("vocab"), bias=False)

    def initialise(self):
        """Random weights, for runs whose loss does not matter."""
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)
            else:
                nn.init.ones_(p)

    def forward(self, ids):
        x = self.embedding(ids[:, :-1])
        if self.gpt:
            x = x + self.position_embedding
        turn = self.turn
        for layer in self.layers:
            x = layer(x, turn)
        logits = F.linear(self.norm(x), self.embedding.weight if self.head is None else self.head.weight)
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

    def sources(self):
        """Of every parameter: the names that the engine gives to its rows."""
        found = {}

        def norm(module, field):
            found[module.weight] = [field + ".gain"]
            if self.gpt:
                found[module.bias] = [field + ".bias"]

        def linear(module, *fields):
            found[module.weight] = list(fields)
            if module.bias is not None:
                found[module.bias] = [field + ".bias" for field in fields]

        found[self.embedding.weight] = ["embedding"]
        if self.gpt:
            found[self.position_embedding] = ["position_embedding"]
        for index, layer in enumerate(self.layers):
            name = f"layers.{index}."
            norm(layer.norm1, name + "norm1")
            norm(layer.norm2, name + "norm2")
            linear(layer.qkv, *(name + "attention." + field for field in "qkv"))
            linear(layer.o, name + "attention.o")
            ups = ("gate", "up") if layer.gated else ("up",)
            linear(layer.up, *(name + "feed_forward." + field for field in ups))
            linear(layer.down, name + "feed_forward.down")
        norm(self.norm, "norm")
        if self.head is not None:
            found[self.head.weight] = ["head"]
        return found
