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
    head_size: int = 0  # 0: hidden // heads
    experts: int = 0  # 0: a feed-forward block instead
    experts_per_token: int = 2
    expert_layers: tuple = ()  # empty: all
    expert_ffn: int = 0  # 0: ffn
    shared_ffn: int = 0  # of an expert that every token visits; 0: there is none
    score: str = "softmax"  # or sigmoid
    renormalise: bool = True
    scale: float = 1.0
    groups: int = 1
    groups_per_token: int = 1
    bias_rate: float = 0.0  # 0: routers have no bias
    aux_coefficient: float = 1e-2
    z_coefficient: float = 0.0

    @property
    def head_dim(self):
        return self.head_size or self.hidden // self.heads

    def has_experts(self, layer):
        return self.experts > 0 and (not self.expert_layers or layer in self.expert_layers)


MODELS = {
    "llama_plain": Model("llama", ffn=176, kv_heads=2, biases=False, qk_norm=False, tied=False),
    "llama_varied": Model("llama", ffn=176, kv_heads=2, biases=True, qk_norm=True, tied=True),
    "gpt": Model("gpt", ffn=256, kv_heads=4, biases=True, qk_norm=False, tied=True),
    "mixture_renormalised": Model("llama", ffn=96, kv_heads=2, biases=False, qk_norm=False, tied=False, experts=4),
    "mixture_scored": Model("llama", ffn=96, kv_heads=2, biases=False, qk_norm=False, tied=False, experts=4,
                            renormalise=False),
    "mixture_balanced": Model("llama", ffn=176, kv_heads=2, biases=False, qk_norm=True, tied=False, head_size=24,
                              experts=12, experts_per_token=3, expert_layers=(1, 3), expert_ffn=40, shared_ffn=56,
                              score="sigmoid", scale=2.5, groups=4, groups_per_token=2, bias_rate=1e-2,
                              z_coefficient=1e-3),
}


def matrices(model, layer):
    """Field and [out, in] of the matrices of a layer."""
    h, f, q, kv = model.hidden, model.ffn, model.heads * model.head_dim, model.kv_heads * model.head_dim
    attention = {"attention." + name: shape for name, shape in
                 {"q": (q, h), "k": (kv, h), "v": (kv, h), "o": (h, q)}.items()}
    if model.has_experts(layer):
        return attention
    gate = {"feed_forward.gate": (f, h)} if model.architecture == "llama" else {}
    return {**attention, **gate, "feed_forward.up": (f, h), "feed_forward.down": (h, f)}


def expert_shapes(model):
    """The router, the matrices of all experts of a layer, stacked, and those of the expert that every token visits."""
    n, h, f, s = model.experts, model.hidden, model.expert_ffn or model.ffn, model.shared_ffn
    bias = {"router.bias": (n,)} if model.bias_rate else {}
    shared = {"shared.gate": (s, h), "shared.up": (s, h), "shared.down": (h, s)} if s else {}
    return {"router": (n, h), **bias, "experts.gate": (n, f, h), "experts.up": (n, f, h), "experts.down": (n, h, f),
            **shared}


def norm_shapes(model, field):
    names = [".gain"] if model.architecture == "llama" else [".gain", ".bias"]
    return {field + name: (model.hidden,) for name in names}


def layer_shapes(model, layer):
    shapes = {**norm_shapes(model, "norm1"), **norm_shapes(model, "norm2"), **matrices(model, layer)}
    if model.has_experts(layer):
        shapes.update(expert_shapes(model))
    if model.biases:
        shapes.update({field + ".bias": shape[:1] for field, shape in matrices(model, layer).items()})
    if model.qk_norm:
        shapes.update({f"attention.{name}_norm.gain": (model.head_dim,) for name in "qk"})
    return shapes


def parameter_shapes(model):
    """{(field, layer): shape}, in the order of use; layer is -1 outside the layers."""
    shapes = {("embedding", -1): (model.vocab, model.hidden)}
    if model.architecture == "gpt":
        shapes["position_embedding", -1] = (model.sequence, model.hidden)
    for layer in range(model.layers):
        shapes.update({(field, layer): shape for field, shape in layer_shapes(model, layer).items()})
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
        self.z = 0.0  # mean squared log-sum-exp of the routers' logits, summed over layers
        self.auxiliary = 0.0  # what keeps experts balanced: a mean over sequences, summed over layers
        self.margin = float("inf")  # between the last that was chosen, expert or group, and the first that was not
        self.choices, self.load = {}, {}  # of every token, and how many went to each expert, by layer

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

    def best(self, scores, count):
        """The best of each row, and how far they are from the others."""
        if count == scores.shape[-1]:
            return scores.topk(count).indices
        best = scores.topk(count + 1)
        self.margin = min(self.margin, (best.values[..., -2] - best.values[..., -1]).min().item())
        return best.indices[..., :-1]

    def choose(self, scores, layer=0):
        """The best experts of every token by score and bias (DeepSeek-AI 2024), only among those of its best groups."""
        model = self.model
        biased = scores.detach() + (self.p["router.bias", layer].detach() if model.bias_rate else 0)
        if model.groups > 1:
            groups = biased.unflatten(-1, (model.groups, -1))
            best = self.best(groups.topk(2).values.sum(-1), model.groups_per_token)
            allowed = F.one_hot(best, model.groups).sum(-2).bool()
            biased = groups.masked_fill(~allowed[..., None], -torch.inf).flatten(-2)
        choice = self.best(biased, model.experts_per_token)
        chosen = F.one_hot(choice, model.experts).to(scores.dtype)
        self.choices[layer], self.load[layer] = choice, chosen.sum((0, 1, 2))
        self.auxiliary = self.auxiliary + (chosen.mean((1, 2)) * model.experts * scores.mean(1)).sum(-1).mean()
        return choice

    def gated(self, x, gate, up, down):
        return (F.silu(x @ gate.T) * (x @ up.T)) @ down.T

    def experts(self, x, layer):
        """Every token through the experts that its router scores best, each by its share, and through the shared one."""
        model = self.model
        logits = x @ self.p["router", layer].T
        self.z = self.z + logits.logsumexp(-1).square().mean()
        scores = logits.softmax(-1) if model.score == "softmax" else logits.sigmoid()
        choice = self.choose(scores, layer)
        weights = scores.gather(-1, choice)
        if model.renormalise:
            weights = model.scale * weights / weights.sum(-1, keepdim=True)
        gate, up, down = (self.p["experts." + name, layer] for name in ("gate", "up", "down"))
        y = torch.zeros_like(x)
        if model.shared_ffn:
            y = self.gated(x, *(self.p["shared." + name, layer] for name in ("gate", "up", "down")))
        for expert in range(self.model.experts):
            of_expert = (weights * (choice == expert)).sum(-1, keepdim=True)
            y = y + of_expert * self.gated(x, gate[expert], up[expert], down[expert])
        return y

    def logits(self, ids):
        """ids [b, s] -> [b, s, vocab]."""
        x = self.p["embedding", -1][ids]
        if self.model.architecture == "gpt":
            x = x + self.p["position_embedding", -1][: ids.shape[1]]
        for layer in range(self.model.layers):
            x = x + self.attention(self.norm(x, "norm1", layer), layer)
            block = self.experts if self.model.has_experts(layer) else self.feed_forward
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
        if not self.model.experts:
            return loss
        return loss + self.model.aux_coefficient * self.auxiliary + self.model.z_coefficient * self.z

    def balance(self):
        """Loss-free balancing (Wang et al. 2024): every bias a step towards experts that got less than the mean."""
        with torch.no_grad():
            for layer, load in self.load.items():
                self.p["router.bias", layer] += self.model.bias_rate * (load.mean() - load).sign()
