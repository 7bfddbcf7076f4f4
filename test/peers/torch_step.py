# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a model with PyTorch on the CPU in fp32 and prints one JSON object: speed and losses.

The peer is given its best: fused attention, cross entropy and AdamW, torch.compile with --mode compile, and with
--processes 2 DistributedDataParallel over gloo. Data are random ids of one fixed batch, so the loss starts near
ln(vocab) and falls. Dropout is off.

    python torch_step.py --model gpt2_124m --batch 4 --sequence 256 --threads 2 --mode compile
"""

import argparse
import json
import os
import statistics
import tempfile
import time

import torch
import torch.distributed as distributed
import torch.multiprocessing as multiprocessing

from torch_models import Decoder, read_model


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="gpt2_124m", help="a file of share/models without .ini, or a path of one")
    parser.add_argument("--batch", type=int, default=4, help="samples of a step, of all processes together")
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1, help="of one process")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    parser.add_argument("--warmup", type=int, default=2, help="steps that are not timed")
    parser.add_argument("--steps", type=int, default=8, help="timed steps")
    return parser.parse_args()


def make_step(arguments, rank):
    """A function that runs one step and returns its loss, and the number of parameters."""
    model = read_model(arguments.model)
    torch.manual_seed(1)
    decoder = Decoder(model, arguments.sequence)
    trained = torch.nn.parallel.DistributedDataParallel(decoder) if arguments.processes > 1 else decoder
    trained = torch.compile(trained) if arguments.mode == "compile" else trained
    optimizer = torch.optim.AdamW(decoder.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    ids = torch.randint(model.getint("vocab"), (arguments.batch, arguments.sequence + 1))
    ids = ids.chunk(arguments.processes)[rank]

    def step():
        loss = trained(ids)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step, sum(p.numel() for p in decoder.parameters())


def run(rank, arguments, begun, meeting):
    torch.set_num_threads(arguments.threads)
    if arguments.processes > 1:
        distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank,
                                       world_size=arguments.processes)
    step, parameters = make_step(arguments, rank)
    losses, seconds, load_before, first = [], [], os.getloadavg(), None
    for _ in range(arguments.warmup + arguments.steps):
        start = time.perf_counter()
        losses.append(step())
        seconds.append(time.perf_counter() - start)
        first = first or time.time() - begun
    if arguments.processes > 1:
        distributed.destroy_process_group()
    if rank > 0:
        return
    timed, tokens = seconds[arguments.warmup:], arguments.batch * arguments.sequence
    print(json.dumps({
        "peer": "pytorch", "version": torch.__version__, **vars(arguments), "dtype": "float32",
        "parameters": parameters, "losses": losses, "first_step_seconds": seconds[0], "start_to_first_step": first,
        "step_seconds": {"median": statistics.median(timed), "min": min(timed), "max": max(timed)},
        "tokens_per_second": tokens / statistics.median(timed),
        "load_average": {"before": load_before, "after": os.getloadavg()}, "processors": os.cpu_count()}))


def main():
    begun = time.time()
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        meeting = os.path.join(folder, "meeting")
        if arguments.processes == 1:
            run(0, arguments, begun, meeting)
        else:
            multiprocessing.spawn(run, (arguments, begun, meeting), nprocs=arguments.processes)


if __name__ == "__main__":
    main()
