#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes test/goldens/encoder-decoders/graph: an encoder-decoder in graph.json that belongs to no family, with results that torch computes
in float64. Entries, inputs and dims have custom names, the mask comes first, and an encoder call takes two sources. Cross attention has
different key and value widths, fewer key heads than query heads, a scale and a cap; the decoder's self-attention has a window and ALiBi.
Needs torch and safetensors.

usage: make-graph-goldens.py [FOLDER]
"""
import json
import math
import pathlib
import sys

import torch
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens" / "encoder-decoders" / "graph"
SOURCES, TARGETS, START, END = 31, 23, 1, 2
STATE, WIDTH, WINDOW = 14, 10, 7
CROSS = {"heads": 6, "kv_heads": 2, "soft_cap": 4.0, "scale": 0.9}
SIZES = {  # [out, in] and gain for each weight in a layer
    "q": (12, WIDTH, 2), "k": (6, WIDTH, 2), "v": (8, WIDTH, 2), "o": (WIDTH, 16, 2), "cq": (18, WIDTH, 2),
    "ck": (6, STATE, 2), "cv": (10, STATE, 2), "co": (WIDTH, 30, 2)}


def node(name, op, inputs, **attrs):
    return {"name": name, "op": op, "inputs": inputs, **({"attrs": attrs} if attrs else {})}


def linear(name, of, weight=None):
    return node(name, "linear", [of], weight=weight or name)


def make_graph():
    layer = [linear("q", "x"), linear("k", "x"), linear("v", "x"),
             node("own", "attention", ["q", "k", "v"], heads=4, kv_heads=2, cache="kv", alibi=True),
             linear("o", "own"), node("y", "add", ["x", "o"]), linear("cq", "y"),
             node("read", "attention", ["cq"], cross="encoder", key_weight="ck", key_bias="ckb", value_weight="cv", **CROSS),
             linear("co", "read"), node("z", "add", ["y", "co"])]
    encoder = [node("seen", "cast", ["mask"], to="bool"), node("x", "embedding", ["words"], table="sources"),
               linear("q", "x", "eq"), linear("k", "x", "ek"), linear("v", "x", "ev"),
               node("mixed", "attention", ["q", "k", "v", "seen"], heads=2), node("y", "add", ["x", "mixed"])]
    decoder = [node("x", "embedding", ["tokens"], table="targets"),
               {"block": "layer", "repeat": 2, "weights": "layers.{i}.", "inputs": ["x"]},
               node("norm", "rms_norm", ["layer"], gamma="norm"), linear("scores", "norm", "head")]
    return {
        "transom": 1, "name": "graph", "weights": ["model.safetensors"], "dims": {"n": {"max": 2}, "length": {}, "rows": {}},
        "blocks": {"layer": {"inputs": ["x"], "nodes": layer, "outputs": ["z"],
                             "caches": [{"name": "kv", "heads": 2, "key": 3, "value": 4, "window": WINDOW}]}},
        "graphs": {
            "decoder": {"entry": "write", "inputs": [{"name": "tokens", "dtype": "i64", "shape": ["rows"]}],
                        "nodes": decoder, "outputs": ["scores"]},
            "encoder": {"entry": "read", "nodes": encoder, "outputs": [{"name": "states", "edge": "y"}],
                        "inputs": [{"name": "mask", "dtype": "i64", "shape": ["n", "length"], "mask_of": "words"},
                                   {"name": "words", "dtype": "i64", "shape": ["n", "length"]}]}}}


def make_weights(generator):
    def random(*shape, gain=1.0):
        return torch.randn(*shape, generator=generator) * gain

    weights = {"sources": random(SOURCES, STATE, gain=0.8), "targets": random(TARGETS, WIDTH, gain=0.8),
               "norm": 1 + random(WIDTH, gain=0.1), "head": random(TARGETS, WIDTH, gain=0.8)}
    for name in ("eq", "ek", "ev"):
        weights[name] = random(STATE, STATE, gain=0.4)
    for i in range(2):
        for name, (rows, columns, gain) in SIZES.items():
            weights[f"layers.{i}.{name}"] = random(rows, columns, gain=gain * columns ** -0.5)
        weights[f"layers.{i}.ckb"] = random(6)
    return weights


def heads(x, count, repeat=1):
    return x.reshape(*x.shape[:2], count, -1).transpose(1, 2).repeat_interleave(repeat, 1)


def mix(scores, value):
    return (torch.softmax(scores, -1) @ value).transpose(1, 2).flatten(2)


def hidden_where(visible):
    return torch.where(visible, 0.0, -math.inf).double()


class Model:
    """The graph as formulas."""

    def __init__(self, weights):
        self.weights = {name: tensor.double() for name, tensor in weights.items()}

    def project(self, x, name):
        return x @ self.weights[name].T

    def encode(self, words, mask):
        x = self.weights["sources"][words]
        query, key, value = (heads(self.project(x, name), 2) for name in ("eq", "ek", "ev"))
        scores = query @ key.transpose(-1, -2) / math.sqrt(STATE / 2)
        mixed = mix(scores + hidden_where(mask.bool()[:, None, None]), value)
        return (x + mixed) * mask[..., None]

    def logits(self, words, mask, tokens):
        states, x = self.encode(words, mask), self.weights["targets"][tokens]
        distance = torch.arange(tokens.shape[1])[:, None] - torch.arange(tokens.shape[1])
        slopes = torch.tensor([2.0 ** (-2 * (head + 1)) for head in range(4)]).double()[:, None, None]
        own = hidden_where((distance >= 0) & (distance < WINDOW)) - slopes * distance
        for i in range(2):
            layer = f"layers.{i}."
            query = heads(self.project(x, layer + "q"), 4)
            key, value = (heads(self.project(x, layer + name), 2, 2) for name in "kv")
            x = x + self.project(mix(query @ key.transpose(-1, -2) / math.sqrt(3) + own, value), layer + "o")
            query = heads(self.project(x, layer + "cq"), 6)
            key = heads(self.project(states, layer + "ck") + self.weights[layer + "ckb"], 2, 3)
            value = heads(self.project(states, layer + "cv"), 2, 3)
            scores = CROSS["soft_cap"] * torch.tanh(CROSS["scale"] / CROSS["soft_cap"] * (query @ key.transpose(-1, -2)))
            x = x + self.project(mix(scores + hidden_where(mask.bool()[:, None, None]), value), layer + "co")
        x = x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.weights["norm"]
        return self.project(x, "head")

    def generate(self, words, mask, count):
        """Returns the most likely tokens except the end token, and the smallest gap to the second."""
        tokens, gap = torch.full((len(words), 1), START), math.inf
        for _ in range(count):
            last = self.logits(words, mask, tokens)[:, -1]
            last[:, END] = -math.inf
            best = last.topk(2)
            gap = min(gap, float((best.values[:, 0] - best.values[:, 1]).min()))
            tokens = torch.cat((tokens, best.indices[:, :1]), 1)
        return tokens[:, 1:], gap


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    folder.mkdir(parents=True, exist_ok=True)
    lengths = (17, 3, 40, 1, 9)
    mask = torch.tensor([[int(i < length) for i in range(40)] for length in lengths])
    mask[2, 5] = mask[0, 3] = 0  # padding between tokens
    for seed in range(100):
        generator = torch.Generator().manual_seed(seed)
        weights = make_weights(generator)
        model = Model(weights)
        words = torch.randint(0, SOURCES, mask.shape, generator=generator)
        made, gap = model.generate(words, mask, 10)
        if gap > 2e-3 and len(set(made.flatten().tolist())) > 9:
            break
    target = torch.randint(0, TARGETS, (len(words), 12), generator=generator)
    begun = torch.cat((torch.full((len(words), 1), START), target[:, :-1]), 1)
    scores = torch.log_softmax(model.logits(words, mask, begun), -1).gather(2, target[..., None])[..., 0]
    given = {"input_ids": words, "attention_mask": mask}
    cases = []

    def add(entry, inputs, outputs, **more):
        names = [f"{entry}.0.{side}.safetensors" for side in ("in", "out")]
        for name, tensors in zip(names, (inputs, outputs)):
            save_file({key: (value.float() if value.is_floating_point() else value).contiguous()
                       for key, value in tensors.items()}, folder / name)
        cases.append({"entry": entry, "input": names[0], "expect": names[1], **more})

    save_file(weights, folder / "model.safetensors")
    add("read", {"words": words[:2], "mask": mask[:2]}, {"states": model.encode(words, mask)[:2]})
    add("logits", {**given, "decoder_input_ids": target}, {"logits": model.logits(words, mask, target)})
    add("score", {**given, "labels": target}, {"logprobs": scores})
    add("generate", given, {"output_ids": made}, max_new_tokens=10,
        sampling=f"greedy, the end token (id {END}) may not be chosen", smallest_top2_gap=gap)
    for name, content in (("graph.json", make_graph()), ("cases.json", {
            "kind": "graph", "oracle": "torch, float64", "atol": 0.0002, "rtol": 0.0002, "cases": cases}),
            ("generation_config.json", {"decoder_start_token_id": START, "eos_token_id": END, "pad_token_id": 0})):
        (folder / name).write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
