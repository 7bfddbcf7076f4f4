# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the loss that PyTorch finds for the weights of a checkpoint on samples of a text whose ids are its bytes.

    python torch_loss.py --model gpt2_124m --checkpoint run/checkpoints/step-00000001 --text text.txt --sequence 256
"""

import argparse
import json
import pathlib

import numpy
import torch

from torch_models import Decoder, read_model

END_OF_DOCUMENT = 256


def tensors(checkpoint):
    """{name: tensor} of the model, by the offsets of the manifest."""
    manifest = json.loads((checkpoint / "manifest.json").read_text(encoding="utf-8"))
    found = {}
    for entry in manifest["tensors"]:
        if not entry["path"].startswith("/model/") or entry["dtype"] != "f32":
            continue
        shape = entry["shape"]
        rows = [numpy.fromfile(checkpoint / segment["file"], numpy.float32, offset=segment["offset"],
                               count=segment["rows"] * int(numpy.prod(shape[1:])))
                for segment in entry.get("segments") or [{"file": entry["file"], "rows": shape[0], "offset": entry["offset"]}]]
        found[entry["path"].removeprefix("/model/").replace("/", ".")] = torch.from_numpy(
            numpy.concatenate(rows).reshape(shape))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--checkpoint", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--sequence", type=int, required=True)
    arguments = parser.parse_args()
    decoder = Decoder(read_model(arguments.model), arguments.sequence)
    decoder.load(tensors(arguments.checkpoint))
    ids = torch.tensor([*arguments.text.read_bytes(), END_OF_DOCUMENT])
    samples = ids.unfold(0, arguments.sequence + 1, arguments.sequence)
    with torch.no_grad():
        print(decoder(samples).item())


if __name__ == "__main__":
    main()
