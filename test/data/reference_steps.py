# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Ten training steps of tiny models in PyTorch, written to reference_steps.json. See README.md beside this file."""

import argparse
import json
import pathlib

import numpy as np
import torch

import reference_checks as checks
import reference_formulas as formulas
import reference_models as models

STEPS = 10
DTYPES = {"fp64": torch.float64, "fp32": torch.float32}
CLIPS = {"clip_off": None, "clip_0.5": 0.5}
OPTIMIZER = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.1}


def make_optimizer(parameters):
    """AdamW with decoupled decay of matrices (stacked ones too) and tables, none of gains and biases."""
    groups = [{"params": [p for p in parameters.values() if p.dim() >= 2], "weight_decay": OPTIMIZER["weight_decay"]},
              {"params": [p for p in parameters.values() if p.dim() == 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=OPTIMIZER["lr"], betas=(OPTIMIZER["beta1"], OPTIMIZER["beta2"]),
                             eps=OPTIMIZER["epsilon"], foreach=False)


def differentiated(parameters):
    """All but the biases of routers, which no loss moves."""
    return {name: p for name, p in parameters.items() if name[0] != "router.bias"}


def gradient_norm(parameters):
    return sum(p.grad.double().square().sum() for p in parameters.values()).sqrt().item()


def clip_gradients(parameters, norm, limit):
    factor = min(1.0, limit / (norm + 1e-6))
    for p in parameters.values():
        p.grad.mul_(factor)


def gradient_record(field, layer, gradient):
    """What step 1 leaves of a gradient: sums in double, and single elements by their row-major index."""
    g = gradient.double().flatten().numpy()
    samples = formulas.sampled_elements(field, layer, 3, g.size)
    return {"field": field, "layer": layer, "shape": list(gradient.shape), "sum": g.sum().item(),
            "sum_squares": np.square(g).sum().item(), "max_abs": np.abs(g).max().item(),
            "projection": (g * formulas.projection_weights(field, layer, g.size)).sum().item(),
            "samples": [{"element": int(i), "value": g[i].item()} for i in samples]}


def run(model, dtype, limit):
    """Returns the record of the steps, and the gradients of step 1."""
    parameters = models.make_parameters(model, dtype)
    trained = differentiated(parameters)
    optimizer = make_optimizer(trained)
    losses, norms, gradients, auxiliary = [], [], [], []
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        forward = models.Forward(model, parameters)
        loss = forward.loss(step)
        forward.total(loss).backward()
        losses.append(loss.item())
        if model.experts:
            auxiliary.append(forward.auxiliary.item())
            checks.check(forward.margin > 1e-9, f"two experts score nearly alike: {forward.margin}")
        norms.append(gradient_norm(trained))
        if step == 1:
            gradients = [gradient_record(*name, forward.load[name[1]] if p.grad is None else p.grad)
                         for name, p in parameters.items()]
        if limit is not None:
            clip_gradients(trained, norms[-1], limit)
        optimizer.step()
        if model.bias_rate:
            forward.balance()
    final = [{"field": field, "layer": layer, "norm": p.detach().double().norm().item()}
             for (field, layer), p in parameters.items()]
    mixture = {"auxiliary": auxiliary} if model.experts else {}
    if model.bias_rate:
        mixture["router_bias"] = [{"layer": layer, "values": p.tolist()}
                                  for (field, layer), p in parameters.items() if field == "router.bias"]
    return {"loss": losses, **mixture, "grad_norm": norms, "parameter_norms": final}, gradients


def model_record(name, model):
    record = {"parameters": sum(torch.Size(s).numel() for s in models.parameter_shapes(model).values())}
    for dtype_name, dtype in DTYPES.items():
        if model.experts and dtype != torch.float64:
            continue  # rounding may choose another expert, after which nothing is comparable
        record[dtype_name] = {}
        for clip_name, limit in CLIPS.items():
            record[dtype_name][clip_name], gradients = run(model, dtype, limit)
            print(name, dtype_name, clip_name, record[dtype_name][clip_name]["loss"][-1])
        record[dtype_name]["gradients"] = gradients
    return record


def golden_values():
    """A few values of each formula, for the unit test of the C++ side."""
    places = [("embedding", -1, 0), ("embedding", -1, 8383), ("attention.q", 0, 65), ("attention.k", 3, 2047),
              ("norm1.gain", 0, 0), ("norm2.gain", 2, 63), ("norm.gain", -1, 7), ("attention.q.bias", 1, 5),
              ("feed_forward.down", 2, 11263), ("norm.bias", -1, 63), ("head", -1, 131 * 64 - 1)]
    corners = [(1, 0, 0), (1, 23, 31), (2, 5, 17), (10, 11, 8), (7, 4, 30), (10, 23, 32)]
    return {
        "initial": [{"field": f, "layer": l, "element": e, "value": formulas.initial_values(f, l, e).item()}
                    for f, l, e in places],
        "projection": [{"field": f, "layer": l, "element": e,
                        "value": formulas.projection_weights(f, l, e + 1)[e].item()} for f, l, e in places[1:4]],
        "token": [{"step": t, "column": j, "position": p, "value": int(formulas.tokens(t)[j, p])} for t, j, p in corners],
        "mask": [{"step": t, "column": j, "position": p, "value": bool(formulas.mask(t)[j, p])}
                 for t, j, p in corners if p < formulas.SEQUENCE],
    }


def json_text(value, indent=0):
    """JSON with one line per object or list that fits, so that a change of one number is a change of one line."""
    line = json.dumps(value)
    if len(line) + indent <= 240 or not isinstance(value, (dict, list)):
        return line
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        items, ends = [f"{json.dumps(k)}: {json_text(v, indent + 1)}" for k, v in value.items()], "{}"
    else:
        items, ends = [json_text(v, indent + 1) for v in value], "[]"
    return ends[0] + "\n" + ",\n".join(pad + item for item in items) + "\n" + " " * indent + ends[1]


def main():
    here = pathlib.Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, default=here / "reference_steps.json")
    output = parser.parse_args().output
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    checks.run_all(make_optimizer)
    record = {
        "made_by": "test/data/reference_steps.py",
        "torch": torch.__version__,
        "dtypes": {name: str(dtype) for name, dtype in DTYPES.items()},
        "optimizer": OPTIMIZER,
        "global_batch": formulas.GLOBAL_BATCH,
        "valid_tokens": [int(formulas.mask(t).sum()) for t in range(1, STEPS + 1)],
        "golden": golden_values(),
        "models": {name: model_record(name, model) for name, model in models.MODELS.items()},
    }
    output.write_text(json_text(record) + "\n")


if __name__ == "__main__":
    main()
