# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a gpt preset with PyTorch on the CPU in fp32 and prints one JSON object: speed and loss.

The peer is given its best: fused attention, cross entropy and AdamW, and torch.compile with --mode compile. Data are
random ids of one fixed batch, so the loss starts near ln(vocab) and falls. Dropout is off.

    python torch_gpt2.py --threads 2 --mode compile
"""

import argparse
import configparser
import json
import os
import pathlib
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

PRESETS = pathlib.Path(__file__).resolve().parents[2] / "share" / "models"


class Block(nn.Module):
    def __init__(self, hidden, heads, ffn, epsilon):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden, epsilon), nn.LayerNorm(hidden, epsilon)
        self.qkv, self.o = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, ffn), nn.Linear(ffn, hidden)

    def forward(self, x):
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """Pre-norm decoder with learned positions and a tied table."""

    def __init__(self, preset):
        super().__init__()
        hidden, epsilon = preset.getint("hidden"), preset.getfloat("norm_epsilon")
        self.embedding = nn.Embedding(preset.getint("vocab"), hidden)
        self.position_embedding = nn.Parameter(torch.empty(preset.getint("sequence"), hidden))
        blocks = [Block(hidden, preset.getint("heads"), preset.getint("ffn"), epsilon)
                  for _ in range(preset.getint("layers"))]
        self.layers = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(hidden, epsilon)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids):
        x = self.embedding(ids[:, :-1]) + self.position_embedding[: ids.shape[1] - 1]
        for layer in self.layers:
            x = layer(x)
        logits = F.linear(self.norm(x), self.embedding.weight)
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="gpt2_124m", help="a gpt file of share/models, without .ini")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    parser.add_argument("--warmup", type=int, default=2, help="steps that are not timed")
    parser.add_argument("--steps", type=int, default=8, help="timed steps")
    return parser.parse_args()


def read_preset(name):
    parser = configparser.ConfigParser()
    if not parser.read(PRESETS / f"{name}.ini"):
        raise SystemExit(f"no preset {name} in {PRESETS}")
    preset = parser["model"]
    if preset["architecture"] != "gpt":
        raise SystemExit(f"{name} is not a gpt preset")
    return preset


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    preset = read_preset(arguments.preset)
    model = Gpt(preset)
    step_model = torch.compile(model) if arguments.mode == "compile" else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    ids = torch.randint(preset.getint("vocab"), (arguments.batch, arguments.sequence + 1))
    losses, seconds, load_before = [], [], os.getloadavg()
    for _ in range(arguments.warmup + arguments.steps):
        start = time.perf_counter()
        loss = step_model(ids)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds.append(time.perf_counter() - start)
        losses.append(loss.item())
    timed, tokens = seconds[arguments.warmup:], arguments.batch * arguments.sequence
    print(json.dumps({
        "peer": "pytorch", "version": torch.__version__, **vars(arguments), "dtype": "float32",
        "parameters": sum(p.numel() for p in model.parameters()), "losses": losses, "first_step_seconds": seconds[0],
        "step_seconds": {"median": statistics.median(timed), "min": min(timed), "max": max(timed)},
        "tokens_per_second": tokens / statistics.median(timed),
        "load_average": {"before": load_before, "after": os.getloadavg()}, "processors": os.cpu_count()}))


if __name__ == "__main__":
    main()
