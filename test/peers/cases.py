# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""What is compared."""

import dataclasses
import os
import pathlib

LLAMA = str(pathlib.Path(__file__).resolve().parent / "llama_15m.ini")
GPT2 = "gpt2_124m"


@dataclasses.dataclass(frozen=True)
class Case:
    model: str
    batch: int  # of all ranks together
    sequence: int
    threads: int  # of a rank
    steps: int = 1  # of a turn
    ranks: int = 1

    @property
    def name(self):
        suffix = f"{self.ranks}r" if self.ranks > 1 else f"{self.threads}t"
        return f"{pathlib.Path(self.model).stem}-{self.batch}x{self.sequence}-{suffix}"

    @property
    def tokens(self):
        return self.batch * self.sequence


CASES = [
    *(Case(GPT2, batch, sequence, threads) for threads in (1, 2) for batch, sequence in ((4, 256), (1, 1024))),
    *(Case(LLAMA, 4, 256, threads, steps=4 * threads) for threads in (1, 2)),
    Case(LLAMA, 4, 256, 1, steps=8, ranks=2),
]

# From the start of a process to the end of its first step.
STARTS = [Case(model, 4, 256, os.cpu_count()) for model in (LLAMA, GPT2)]
