# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Weights and data of the reference models, by formula.

The same formulas are in test/support/reference_formulas.hpp and the generator in core/base/counter_rng.hpp, so that
both sides start from equal numbers without a weight file. All arithmetic is modulo 2^64.
"""

import numpy as np

VOCAB = 131
SEQUENCE = 32
GLOBAL_BATCH = 24
WEIGHT_SEED = 1234
DATA_SEED = 99
PROBE_SEED = 7
COLUMN_STRIDE = 4096  # numbers of a stream that belong to one sample


def u64(x):
    return np.asarray(x, dtype=np.uint64)


def mix(x):
    """Finaliser of splitmix64 (Steele, Lea, Flood 2014)."""
    with np.errstate(over="ignore"):
        x = u64(x) + u64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> u64(30))) * u64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> u64(27))) * u64(0x94D049BB133111EB)
        return x ^ (x >> u64(31))


def hash_name(name):
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


class CounterRng:
    """A stream of numbers keyed by (seed, site, stream)."""

    def __init__(self, seed, site, stream=0):
        with np.errstate(over="ignore"):
            self.key = mix(mix(mix(seed) ^ u64(site)) + u64(stream))

    def at(self, i):
        return mix(self.key ^ mix(i))

    def uniform(self, i):
        return (self.at(i) >> u64(11)).astype(np.float64) * 2.0**-53


def initial_values(field, layer, elements):
    """Values of the given row-major elements of a parameter; layer is -1 for one outside the layers."""
    u = CounterRng(WEIGHT_SEED, hash_name("init/" + field), layer + 1).uniform(elements)
    centred = 2.0 * u - 1.0
    return 1.0 + centred * 0.2 if field.endswith(".gain") else centred * 0.1


def tokens(step, columns=GLOBAL_BATCH, positions=SEQUENCE + 1):
    """Token ids [column, position] of a step (from 1); the targets are the next positions."""
    return (CounterRng(DATA_SEED, hash_name("tokens"), step).at(places(columns, positions)) % u64(VOCAB)).astype(np.int64)


def keep_probability(columns):
    """Very unequal by design: means of micro-batches then differ from the mean of the global batch."""
    return 0.15 + 0.8 * (np.arange(columns) % 5) / 4


def mask(step, columns=GLOBAL_BATCH, positions=SEQUENCE):
    """Which targets [column, position] count in the loss of a step."""
    u = CounterRng(DATA_SEED, hash_name("mask"), step).uniform(places(columns, positions))
    return u < keep_probability(columns)[:, None]


def places(columns, positions):
    return u64(np.arange(columns)[:, None] * COLUMN_STRIDE + np.arange(positions)[None, :])


def sampled_elements(field, layer, count, size):
    """Elements of a tensor whose gradient is written out."""
    return (CounterRng(PROBE_SEED, hash_name("sample/" + field), layer + 1).at(np.arange(count)) % u64(size)).astype(np.int64)


def projection_weights(field, layer, size):
    """Weights in [-1, 1) of a projection that sees a permuted or misplaced element, which sums do not."""
    return 2.0 * CounterRng(PROBE_SEED, hash_name("projection/" + field), layer + 1).uniform(np.arange(size)) - 1.0
