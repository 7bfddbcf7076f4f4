#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""One process that trains a model with PyTorch on the CPU in fp32, in turns that another program asks for.

It is given its best: fused attention, cross entropy and AdamW, gradients that are dropped and not zeroed, torch.compile
with --mode compile, DistributedDataParallel over gloo (views of buckets, a static graph) with --processes 2.

    echo 5 | python torch_worker.py --model gpt2_124m --threads 2 --mode compile

A first line says what is there: {"parameters": n, "losses": [...], "first_step_seconds": s}. Then every line of standard input is a number of
steps, answered by {"seconds": [...], "update_seconds": [...], "cpu_seconds": s}; between them the process sleeps.

With --checkpoint (a folder of the engine, of some step) and --text, weights and moments start there, and the first line
has the losses of the next --follow steps on that text, whose ids are its bytes. Else weights and ids are random.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import numpy
import torch
import torch.distributed as distributed

from torch_models import Decoder, read_model

END_OF_DOCUMENT = 256


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="gpt2_124m", help="a file of share/models without .ini, or a path of one")
    parser.add_argument("--batch", type=int, default=4, help="samples of a step, of all processes together")
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    parser.add_argument("--autotune", action="store_true", help="torch.compile with max-autotune")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--meeting", help="a file that does not exist, the same for all processes")
    parser.add_argument("--checkpoint", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--follow", type=int, default=1, help="steps whose losses are told first")
    return parser.parse_args()


def tensors(checkpoint):
    """{(kind, name): tensor} of weights ("model") and moments of a checkpoint, read at the offsets of its manifest."""
    found = {}
    for entry in json.loads((checkpoint / "manifest.json").read_text(encoding="utf-8"))["tensors"]:
        kind, _, name = entry["path"][1:].partition("/")
        shape = entry["shape"]
        rows = [numpy.fromfile(checkpoint / part["file"], numpy.float32, offset=part["offset"],
                               count=part["rows"] * int(numpy.prod(shape[1:]))) for part in entry["segments"]]
        whole = torch.from_numpy(numpy.concatenate(rows).reshape(shape))
        if not entry["stack"]:
            found[kind, name] = whole
        for place, layer in enumerate(entry["stack"]):
            found[kind, layer + "/" + name.split("/", 1)[1]] = whole[place]
    return {(kind, name.replace("/", ".")): tensor for (kind, name), tensor in found.items()}


class Training:
    def __init__(self, arguments):
        model = read_model(arguments.model)
        with torch.device("meta"):
            self.decoder = Decoder(model, arguments.sequence)
        self.decoder.to_empty(device="cpu")
        # As in the engine: norms and biases do not decay.
        groups = [{"params": [p for p in self.decoder.parameters() if p.dim() == 2], "weight_decay": 0.1},
                  {"params": [p for p in self.decoder.parameters() if p.dim() < 2], "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), eps=1e-8, fused=True)
        if arguments.checkpoint:
            self.load(tensors(arguments.checkpoint), int(arguments.checkpoint.name.split("-")[-1]))
            ids = torch.tensor([*arguments.text.read_bytes(), END_OF_DOCUMENT])
            ids = ids.unfold(0, arguments.sequence + 1, arguments.sequence).contiguous()
        else:
            torch.manual_seed(1)
            self.decoder.initialise()
            ids = torch.randint(model.getint("vocab"), (arguments.batch, arguments.sequence + 1))
        self.ids = ids.chunk(arguments.processes)[arguments.rank].contiguous()
        self.trained = self.decoder
        if arguments.processes > 1:
            self.trained = torch.nn.parallel.DistributedDataParallel(
                self.decoder, gradient_as_bucket_view=True, static_graph=True)
        if arguments.mode == "compile":
            self.trained = torch.compile(self.trained, mode="max-autotune-no-cudagraphs" if arguments.autotune else None)

    @torch.no_grad()
    def load(self, found, step):
        for parameter, fields in self.decoder.sources().items():
            def whole(kind):
                return torch.cat([found.pop((kind, field)) for field in fields])
            parameter.copy_(whole("model"))
            self.optimizer.state[parameter] = {"step": torch.tensor(float(step)), "exp_avg": whole("moment1"),
                                               "exp_avg_sq": whole("moment2")}
        if found:
            sys.exit(f"tensors that the peer has no place for: {sorted(found)}")

    def step(self):
        """(loss, seconds of the update)"""
        loss = self.trained(self.ids)
        loss.backward()
        begin = time.perf_counter()
        self.optimizer.step()
        taken = time.perf_counter() - begin
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item(), taken


def say(**facts):
    print(json.dumps(facts), flush=True)


def take_turn(training, steps):
    seconds, updates, cpu = [], [], time.process_time()
    for _ in range(steps):
        begin = time.perf_counter()
        updates.append(training.step()[1])
        seconds.append(time.perf_counter() - begin)
    say(seconds=seconds, update_seconds=updates, cpu_seconds=time.process_time() - cpu)


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    if arguments.processes > 1:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        distributed.init_process_group("gloo", init_method=f"file://{arguments.meeting}", rank=arguments.rank,
                                       world_size=arguments.processes)
    training = Training(arguments)
    begin = time.perf_counter()
    losses = [training.step()[0]]
    first_step_seconds = time.perf_counter() - begin
    losses += [training.step()[0] for _ in range(arguments.follow - 1)]
    say(parameters=sum(p.numel() for p in training.decoder.parameters()), losses=losses, version=torch.__version__,
        first_step_seconds=first_step_seconds)
    for line in sys.stdin:
        take_turn(training, int(line))
    if arguments.processes > 1:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
