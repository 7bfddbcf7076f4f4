# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""The reference models in plain PyTorch: functions of a dictionary {(field, layer): tensor}, nothing fused."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

import reference_formulas as formulas


@dataclass(frozen=True)
class Model:
    """A decoder; every size is a count of elements."""

    architecture: str  # llama or gpt
    ffn: int
    kv_heads: int
    biases: bool
    qk_norm: bool
    tied: bool
    layers: int = 4
    hidden: int = 64
    heads: int = 4
    vocab: int = formulas.VOCAB
    sequence: int = formulas.SEQUENCE
    norm_epsilon: float = 1e-5
    rope_theta: float = 1e4
    experts: int = 0  # 0: a feed-forward block instead
    experts_per_token: int = 2
    renormalise: bool = True
    aux_coefficient: float = 1e-2

    @property
    def head_dim(self):
        return self.hidden // self.heads


MODELS = {
    "llama_plain": Model("llama", ffn=176, kv_heads=2, biases=False, qk_norm=False, tied=False),
    "llama_varied": Model("llama", ffn=176, kv_heads=2, biases=True, qk_norm=True, tied=True),
    "gpt": Model("gpt", ffn=256, kv_heads=4, biases=True, qk_norm=False, tied=True),
    "mixture_renormalised": Model("llama", ffn=96, kv_heads=2, biases=False, qk_norm=False, tied=False, experts=4),
    "mixture_scored": Model("llama", ffn=96, kv_heads=2, biases=False, qk_norm=False, tied=False, experts=4,
                            renormalise=False),
}


def matrices(model):
    """Field and [out, in] of the matrices of a layer."""
    h, kv, f = model.hidden, model.kv_heads * model.head_dim, model.ffn
    attention = {"attention." + name: shape for name, shape in
                 {"q": (h, h), "k": (kv, h), "v": (kv, h), "o": (h, h)}.items()}
    if model.experts:
        return attention
    gate = {"feed_forward.gate": (f, h)} if model.architecture == "llama" else {}
    return {**attention, **gate, "feed_forward.up": (f, h), "feed_forward.down": (h, f)}


def expert_shapes(model):
    """The router, and the matrices of all experts of a layer, stacked."""
    n, h, f = model.experts, model.hidden, model.ffn
    return {"router": (n, h), "experts.gate": (n, f, h), "experts.up": (n, f, h), "experts.down": (n, h, f)}


def norm_shapes(model, field):
    names = [".gain"] if model.architecture == "llama" else [".gain", ".bias"]
    return {field + name: (model.hidden,) for name in names}


def layer_shapes(model):
    shapes = {**norm_shapes(model, "norm1"), **norm_shapes(model, "norm2"), **matrices(model)}
    if model.experts:
        shapes.update(expert_shapes(model))
    if model.biases:
        shapes.update({field + ".bias": shape[:1] for field, shape in matrices(model).items()})
    if model.qk_norm:
        shapes.update({f"attention.{name}_norm.gain": (model.head_dim,) for name in "qk"})
    return shapes


def parameter_shapes(model):
    """{(field, layer): shape}, in the order of use; layer is -1 outside the layers."""
    shapes = {("embedding", -1): (model.vocab, model.hidden)}
    if model.architecture == "gpt":
        shapes["position_embedding", -1] = (model.sequence, model.hidden)
    for layer in range(model.layers):
        shapes.update({(field, layer): shape for field, shape in layer_shapes(model).items()})
    shapes.update({(field, -1): shape for field, shape in norm_shapes(model, "norm").items()})
    if not model.tied:
        shapes["head", -1] = (model.vocab, model.hidden)
    return shapes


def make_parameters(model, dtype):
    parameters = {}
    for (field, layer), shape in parameter_shapes(model).items():
        values = formulas.initial_values(field, layer, range(torch.Size(shape).numel()))
        parameters[field, layer] = torch.tensor(values, dtype=torch.float64).reshape(shape).to(dtype).requires_grad_()
    return parameters


def rms_norm(x, gain, epsilon):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon) * gain


def rotate(x, theta):
    """RoPE on [b, s, n, d]: (first, second half) turned by position * theta^(-2j/d), angles in double."""
    half = x.shape[-1] // 2
    frequency = theta ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * frequency
    cos, sin = angle.cos().to(x.dtype)[:, None, :], angle.sin().to(x.dtype)[:, None, :]
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class Forward:
    """One forward pass; `p` holds the parameters."""

    def __init__(self, model, parameters):
        self.model = model
        self.p = parameters
        self.auxiliary = 0.0  # what keeps experts balanced: a mean over sequences, summed over layers
        self.margin = float("inf")  # between the last score that was chosen and the first that was not

    def linear(self, x, field, layer):
        y = x @ self.p[field, layer].T
        return y + self.p[field + ".bias", layer] if self.model.biases else y

    def norm(self, x, field, layer):
        gain = self.p[field + ".gain", layer]
        if self.model.architecture == "llama":
            return rms_norm(x, gain, self.model.norm_epsilon)
        return F.layer_norm(x, gain.shape, gain, self.p[field + ".bias", layer], self.model.norm_epsilon)

    def heads(self, x, name, layer):
        """Projects to [b, s, n, d]; q and k are normed, then turned."""
        model = self.model
        y = self.linear(x, "attention." + name, layer).unflatten(-1, (-1, model.head_dim))
        if model.qk_norm and name != "v":
            y = rms_norm(y, self.p[f"attention.{name}_norm.gain", layer], model.norm_epsilon)
        return rotate(y, model.rope_theta) if model.architecture == "llama" and name != "v" else y

    def attention(self, x, layer):
        model = self.model
        q, k, v = (self.heads(x, name, layer).transpose(1, 2) for name in "qkv")
        group = model.heads // model.kv_heads
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        scores = q @ k.transpose(-1, -2) * model.head_dim**-0.5
        hidden_keys = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        probabilities = scores.masked_fill(hidden_keys, -torch.inf).softmax(-1)
        return self.linear((probabilities @ v).transpose(1, 2).flatten(2), "attention.o", layer)

    def feed_forward(self, x, layer):
        up = self.linear(x, "feed_forward.up", layer)
        if self.model.architecture == "llama":
            middle = F.silu(self.linear(x, "feed_forward.gate", layer)) * up
        else:
            middle = F.gelu(up, approximate="tanh")
        return self.linear(middle, "feed_forward.down", layer)

    def choose(self, scores):
        """The best experts of every token; adds to the auxiliary loss (Fedus et al. 2021, per sequence)."""
        best = scores.topk(self.model.experts_per_token + 1)
        choice = best.indices[..., :-1]
        self.margin = min(self.margin, (best.values[..., -2] - best.values[..., -1]).min().item())
        share = F.one_hot(choice, self.model.experts).to(scores.dtype).mean((1, 2)) * self.model.experts
        self.auxiliary = self.auxiliary + (share * scores.mean(1)).sum(-1).mean()
        return choice

    def experts(self, x, layer):
        """Every token through the experts that its router scores best, each by its share."""
        scores = (x @ self.p["router", layer].T).softmax(-1)
        choice = self.choose(scores)
        weights = scores.gather(-1, choice)
        if self.model.renormalise:
            weights = weights / weights.sum(-1, keepdim=True)
        gate, up, down = (self.p["experts." + name, layer] for name in ("gate", "up", "down"))
        y = torch.zeros_like(x)
        for expert in range(self.model.experts):
            of_expert = (weights * (choice == expert)).sum(-1, keepdim=True)
            middle = F.silu(x @ gate[expert].T) * (x @ up[expert].T)
            y = y + of_expert * (middle @ down[expert].T)
        return y

    def logits(self, ids):
        """ids [b, s] -> [b, s, vocab]."""
        x = self.p["embedding", -1][ids]
        if self.model.architecture == "gpt":
            x = x + self.p["position_embedding", -1][: ids.shape[1]]
        for layer in range(self.model.layers):
            x = x + self.attention(self.norm(x, "norm1", layer), layer)
            block = self.experts if self.model.experts else self.feed_forward
            x = x + block(self.norm(x, "norm2", layer), layer)
        table = self.p["embedding" if self.model.tied else "head", -1]
        return self.norm(x, "norm", -1) @ table.T

    def loss(self, step):
        """Sum of the counted cross entropies of the global batch (added in double) over their number."""
        ids = torch.from_numpy(formulas.tokens(step))
        counted = torch.from_numpy(formulas.mask(step)).flatten().double()
        logits = self.logits(ids[:, :-1])
        losses = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        return (losses.double() * counted).sum() / counted.sum()

    def total(self, loss):
        """What is differentiated."""
        return loss + self.model.aux_coefficient * self.auxiliary if self.model.experts else loss
