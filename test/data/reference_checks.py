# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the reference itself: it must not be believed only because it is PyTorch."""

import numpy as np
import torch

import reference_formulas as formulas
import reference_models as models


def check(condition, message):
    if not condition:
        raise SystemExit("reference check failed: " + message)


def check_generator():
    """Published outputs of splitmix64 from state 0 and 1234567, and of FNV-1a."""
    check(int(formulas.mix(0)) == 0xE220A8397B1DCDAF, "mix(0)")
    check(int(formulas.mix(1234567)) == 6457827717110365317, "mix(1234567)")
    check(formulas.hash_name("") == 0xCBF29CE484222325 and formulas.hash_name("a") == 0xAF63DC4C8601EC8C, "hash_name")


def check_finite_differences():
    """Central differences (step 1e-5, error of order 1e-10) at three entries of every field of layer 1 or none."""
    for name, model in models.MODELS.items():
        parameters = models.make_parameters(model, torch.float64)
        total_of(model, parameters).backward()
        norm = sum(p.grad.square().sum() for p in parameters.values() if p.grad is not None).sqrt().item()
        with torch.no_grad():
            for (field, layer), p in parameters.items():
                if p.grad is None or (layer > 0 and layer != model.layers - 2 and layer not in model.expert_layers[:1]):
                    continue
                for element in formulas.sampled_elements(field, layer, 2, p.numel()):
                    probe_element(model, parameters, p, int(element), norm, f"{name} {field} {layer} {element}")


def total_of(model, parameters):
    return total_and_choices(model, parameters)[0]


def total_and_choices(model, parameters):
    forward = models.Forward(model, parameters)
    return forward.total(forward.loss(1)), [choice.sort().values.tolist() for choice in forward.choices.values()]


def probe_element(model, parameters, p, element, norm, where):
    flat, step = p.view(-1), 1e-5
    middle = flat[element].item()
    flat[element] = middle + step
    above, choices = total_and_choices(model, parameters)
    flat[element] = middle - step
    below, others = total_and_choices(model, parameters)
    flat[element] = middle
    if choices != others:
        print(f"{where}: a token changes its experts on the way, so there is no difference to compare")
        return
    difference, gradient = (above - below).item() / (2 * step), p.grad.view(-1)[element].item()
    check(abs(difference - gradient) < 1e-6 * abs(gradient) + 1e-8 * norm, f"{where}: {difference} against {gradient}")


def check_auxiliary_loss():
    """Shares [.5 .25 .25 0] and mean scores [.4 .3 .2 .1] of four experts give 1.3."""
    model = models.Model("llama", ffn=1, kv_heads=1, biases=False, qk_norm=False, tied=False, experts=4)
    scores = torch.tensor([[0.5, 0.4, 0.05, 0.05], [0.4, 0.2, 0.35, 0.05], [0.36, 0.34, 0.1, 0.2], [0.34, 0.26, 0.3, 0.1]],
                          dtype=torch.float64)
    forward = models.Forward(model, {})
    choice = forward.choose(scores[None])
    check(choice[0].tolist() == [[0, 1], [0, 2], [0, 1], [0, 2]], f"choice {choice}")
    check(abs(forward.auxiliary.item() - 1.3) < 1e-12, f"auxiliary loss {forward.auxiliary}")


def check_balanced_choice():
    """Groups of two, the best one by score and bias; within it the best expert; a bias that moves by its rate."""
    model = models.Model("llama", ffn=1, kv_heads=1, biases=False, qk_norm=False, tied=False, experts=4,
                         experts_per_token=1, groups=2, groups_per_token=1, bias_rate=0.5)
    scores = torch.tensor([[0.9, 0.1, 0.6, 0.5], [0.9, 0.4, 0.6, 0.5]], dtype=torch.float64)
    bias = torch.tensor([0.0, 0.0, -0.2, 0.0], dtype=torch.float64)
    forward = models.Forward(model, {("router.bias", 0): bias})
    check(forward.choose(scores[None])[0].tolist() == [[0], [0]], "choice by group")
    forward.balance()
    check(bias.tolist() == [-0.5, 0.5, 0.3, 0.5], f"biases {bias}")
    check(forward.choose(scores[None])[0].tolist() == [[3], [3]], "choice by bias")


def adamw_by_hand(w, gradients, lr, beta1, beta2, epsilon, decay):
    """Loshchilov and Hutter 2019, algorithm 2: the decay is decoupled, epsilon is outside the root."""
    m = v = 0.0
    for t, g in enumerate(gradients, 1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        w = w * (1 - lr * decay) - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
    return w


def check_adamw_closed_form():
    """With a constant gradient the update is lr, so w_t = q^t - lr (1 - q^t)/(1 - q), q = 1 - lr decay."""
    expected = [0.989000, 0.978011, 0.967033, 0.956066, 0.945110]
    p = torch.ones(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.AdamW([p], lr=0.01, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, foreach=False)
    for t, value in enumerate(expected, 1):
        p.grad = torch.full_like(p, 0.5)
        optimizer.step()
        by_hand = adamw_by_hand(1.0, [0.5] * t, 0.01, 0.9, 0.95, 1e-8, 0.1)
        check(abs(by_hand - value) < 1e-6 and abs(p.item() - by_hand) < 1e-14, f"AdamW step {t}: {by_hand} {p.item()}")


def check_adamw_groups(make_optimizer):
    """Varying gradients, and the decay of matrices but not of vectors, as the steps use it."""
    parameters = {name: torch.full(shape, 0.7, dtype=torch.float64, requires_grad=True)
                  for name, shape in {"matrix": (1, 1), "vector": (1,)}.items()}
    optimizer, gradients = make_optimizer(parameters), [0.3, -0.2, 1e-9, 0.05, -4.0]
    for g in gradients:
        for p in parameters.values():
            p.grad = torch.full_like(p, g)
        optimizer.step()
    for name, decay in {"matrix": 0.1, "vector": 0.0}.items():
        expected = adamw_by_hand(0.7, gradients, 1e-3, 0.9, 0.95, 1e-8, decay)
        check(abs(parameters[name].item() - expected) < 1e-14, f"AdamW of a {name}")


def check_masks():
    """Some sample must have few counted targets, another nearly all, and none of the steps may be empty."""
    counts = formulas.mask(1).sum(1)
    check(counts.min() < 10 and counts.max() > 27, f"counts per sample {counts}")


def run_all(make_optimizer):
    check_generator()
    check_masks()
    check_auxiliary_loss()
    check_balanced_choice()
    check_adamw_closed_form()
    check_adamw_groups(make_optimizer)
    check_finite_differences()
