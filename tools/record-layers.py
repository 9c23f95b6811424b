#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes each layer's output in a transformers model, for 'transom verify MODEL --expect FILE'.

Usage: record-layers.py MODEL FILE [--ids 5,7,9 | --text TEXT] [--decoder-ids 2,4] [--all]

MODEL is a model folder, FILE a safetensors file to write. It gets the call's inputs, and by module path the first tensor that each
layer (a module whose name ends with a number, such as encoder.layer.0) returns, as f32 [batch, seq, hidden]; with --all, the first
tensor from each module. Needs torch, transformers and safetensors; the model runs in float64.
"""
import argparse
import re

import torch
import transformers
from safetensors.torch import save_file


def parse_ids(text):
    return torch.tensor([[int(number) for number in text.split(",")]])


def get_tensor(output):
    """Returns the hidden states in a module's result."""
    if isinstance(output, (tuple, list)) and output:
        output = output[0]
    elif isinstance(output, dict) and output:
        output = next(iter(output.values()))
    return output if isinstance(output, torch.Tensor) and output.is_floating_point() else None


def load_model(folder):
    """Loads the class that config.json names, otherwise the bare model."""
    config = transformers.AutoConfig.from_pretrained(folder)
    name = (config.architectures or ["AutoModel"])[0]
    model_class = getattr(transformers, name, transformers.AutoModel)
    return model_class.from_pretrained(folder, dtype=torch.float64).eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("file")
    parser.add_argument("--ids", type=parse_ids)
    parser.add_argument("--text")
    parser.add_argument("--decoder-ids", type=parse_ids)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()

    if arguments.text is not None:
        inputs = dict(transformers.AutoTokenizer.from_pretrained(arguments.model)(arguments.text, return_tensors="pt"))
    else:
        ids = arguments.ids if arguments.ids is not None else torch.tensor([[5, 7, 9, 4]])
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if arguments.decoder_ids is not None:
        inputs["decoder_input_ids"] = arguments.decoder_ids

    tensors = {name: tensor.clone() for name, tensor in inputs.items()}
    model = load_model(arguments.model)

    def record(name):
        def hook(module, given, output):
            tensor = get_tensor(output)
            if tensor is not None:
                tensors[name] = tensor.detach().to(torch.float32).contiguous().clone()
        return hook

    for name, module in model.named_modules():
        if name and (arguments.all or re.search(r"\.\d+$", name)):
            module.register_forward_hook(record(name))
    with torch.no_grad():
        model(**inputs)
    save_file(tensors, arguments.file)
    print(f"wrote {len(tensors)} tensors to {arguments.file}")


main()
