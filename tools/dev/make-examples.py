#!/usr/bin/env python3
"""Writes the weights, inputs and expected results of the graph.json examples:
random weights from a seed, results computed in float64 from the definitions
in the papers. Needs torch and safetensors; the tests that read them do not."""
import json
import math
import pathlib

import torch
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parents[2] / "examples"


class Folder:
    """One example: its random weights and its cases."""

    def __init__(self, name, seed):
        self.path = ROOT / name
        self.generator = torch.Generator().manual_seed(seed)
        self.weights, self.cases = {}, []

    def random(self, *shape, scale=1.0):
        return torch.randn(*shape, generator=self.generator) * scale

    def linear(self, name, into, out):
        self.weights[name + ".weight"] = self.random(out, into, scale=into ** -0.5)
        self.weights[name + ".bias"] = self.random(out, scale=0.1)

    def norm(self, name, width):
        self.weights[name + ".gamma"] = 1 + self.random(width, scale=0.15)
        self.weights[name + ".beta"] = self.random(width, scale=0.1)

    def table(self, name, rows, width, scale=0.7):
        self.weights[name] = self.random(rows, width, scale=scale)

    def __getitem__(self, name):
        return self.weights[name].double()

    def apply_linear(self, x, name):
        return x @ self[name + ".weight"].T + self[name + ".bias"]

    def apply_norm(self, x, name, eps):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], self[name + ".gamma"], self[name + ".beta"], eps)

    def case(self, inputs, outputs, entry="run", **more):
        number = sum(case["entry"] == entry for case in self.cases)
        names = [f"{entry}.{number}.{end}.safetensors" for end in ("in", "out")]
        for name, tensors in zip(names, (inputs, outputs)):
            save_file({k: (v.float() if v.dtype == torch.float64 else v).contiguous() for k, v in tensors.items()},
                      self.path / name)
        self.cases.append({"entry": entry, "input": names[0], "expect": names[1], **more})

    def close(self):
        save_file(self.weights, self.path / "model.safetensors")
        (self.path / "cases.json").write_text(json.dumps(
            {"kind": "graph", "oracle": "torch, float64", "atol": 0.0002, "rtol": 0.0002, "cases": self.cases},
            indent=1) + "\n")


def heads(x, count):
    """[batch, seq, count * width] to [batch, count, seq, width]."""
    return x.reshape(*x.shape[:2], count, -1).transpose(1, 2)


def attend(query, key, value, added):
    """Scaled dot-product attention; a row without a visible key is zero."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]) + added
    mixed = torch.nan_to_num(torch.softmax(scores, -1)) @ value
    return mixed.transpose(1, 2).flatten(2)


def hidden_where(visible):
    """What is added to scores so that only visible ones count."""
    return torch.where(visible, 0.0, -math.inf).double()


def decomposed_attention():
    folder = Folder("decomposed-attention", 11)
    folder.table("tokens", 50, 24)
    folder.table("positions", 64, 24)
    for name in ("query", "key", "value", "out"):
        folder.linear(name, 24, 24)
    for batch, seq in ((1, 1), (3, 7), (2, 40)):
        ids = torch.randint(0, 50, (batch, seq), generator=folder.generator)
        query_mask = torch.rand(batch, seq, generator=folder.generator) < 0.8
        key_mask = torch.rand(batch, seq, generator=folder.generator) < 0.7
        tokens = folder["tokens"][ids]
        placed = tokens + folder["positions"][:seq]
        query, key, value = (heads(folder.apply_linear(x, name), 3)
                             for x, name in ((placed, "query"), (placed, "key"), (tokens, "value")))
        visible = query_mask[:, None, :, None] & key_mask[:, None, None, :]
        mixed = attend(query, key, value, hidden_where(visible))
        folder.case({"ids": ids, "query_mask": query_mask, "key_mask": key_mask},
                    {"sum": folder.apply_linear(mixed, "out") + tokens})
    folder.close()


def sinusoid(positions, width):
    """Section 3.5 of the paper: sine in even columns, cosine in odd ones."""
    angle = torch.arange(positions).double()[:, None] / 10000 ** (torch.arange(0, width, 2).double() / width)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


def transformer_encoder():
    folder = Folder("transformer-encoder", 12)
    folder.table("embedding", 60, 32, 0.2)
    for i in range(3):
        for name in ("query", "key", "value", "out"):
            folder.linear(f"layers.{i}.attention.{name}", 32, 32)
        folder.linear(f"layers.{i}.up", 32, 80)
        folder.linear(f"layers.{i}.down", 80, 32)
        for name in ("attention.norm", "norm"):
            folder.norm(f"layers.{i}.{name}", 32)
    for batch, seq in ((1, 1), (3, 9), (2, 70)):
        ids = torch.randint(0, 60, (batch, seq), generator=folder.generator)
        mask = torch.ones(batch, seq, dtype=torch.long)
        if batch > 1:
            mask[1, seq // 2:] = 0
        x = folder["embedding"][ids] * math.sqrt(32) + sinusoid(seq, 32)
        for i in range(3):
            layer = f"layers.{i}."
            query, key, value = (heads(folder.apply_linear(x, layer + "attention." + name), 4)
                                 for name in ("query", "key", "value"))
            mixed = attend(query, key, value, hidden_where(mask.bool()[:, None, None, :]))
            x = folder.apply_norm(x + folder.apply_linear(mixed, layer + "attention.out"),
                                  layer + "attention.norm", 1e-5)
            wide = torch.relu(folder.apply_linear(x, layer + "up"))
            x = folder.apply_norm(x + folder.apply_linear(wide, layer + "down"), layer + "norm", 1e-5)
        folder.case({"ids": ids, "mask": mask}, {"encoded": x * mask[..., None]})
    folder.close()


def pre_norm():
    folder = Folder("pre-norm", 13)
    for i in range(2):
        for name, out in (("query", 16), ("key", 16), ("value", 24)):
            folder.linear(f"layers.{i}.{name}", 20, out)
        folder.linear(f"layers.{i}.out", 24, 20)
        folder.linear(f"layers.{i}.up", 20, 52)
        folder.linear(f"layers.{i}.down", 52, 20)
        folder.norm(f"layers.{i}.norm1", 20)
        folder.norm(f"layers.{i}.norm2", 20)
    folder.norm("norm", 20)
    for batch, seq in ((1, 1), (3, 6), (2, 33)):
        x = folder.random(batch, seq, 20).double()
        added = folder.random(batch, seq, seq).double()
        hidden = torch.rand(batch, seq, seq, generator=folder.generator) < 0.2
        added = added.float().double().masked_fill(hidden, -math.inf)
        inputs = {"x": x.float(), "added": added}
        x = inputs["x"].double()
        for i in range(2):
            layer = f"layers.{i}."
            normed = folder.apply_norm(x, layer + "norm1", 1e-6)
            query, key, value = (heads(folder.apply_linear(normed, layer + name), 2)
                                 for name in ("query", "key", "value"))
            mixed = attend(query, key, value, added[:, None])
            x = x + folder.apply_linear(mixed, layer + "out")
            wide = torch.nn.functional.gelu(folder.apply_linear(folder.apply_norm(x, layer + "norm2", 1e-6),
                                                                layer + "up"))
            x = x + folder.apply_linear(wide, layer + "down")
        folder.case(inputs, {"encoded": folder.apply_norm(x, "norm", 1e-6)})
    folder.close()


def turned(x, width, theta=10000):
    """Rotary positions on pairs (2i, 2i+1) of the first `width` numbers of [heads, seq, numbers]."""
    angle = torch.arange(x.shape[1]).double()[:, None] * theta ** (-torch.arange(0, width, 2).double() / width)
    a, b = x[..., 0:width:2], x[..., 1:width:2]
    pairs = torch.stack((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1).flatten(-2)
    return torch.cat((pairs, x[..., width:]), -1)


def rms(folder, x, name):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * folder[name]


def decoder_layer(folder, x, layer, window):
    """Grouped heads over the last `window` positions, then a gated feed-forward."""
    normed = rms(folder, x, layer + "norm1")
    query, key, value = ((normed @ folder[layer + name].T).reshape(len(x), count, 8).transpose(0, 1)
                         for name, count in (("query", 4), ("key", 2), ("value", 2)))
    query, key = turned(query, 4), turned(key, 4).repeat_interleave(2, 0)
    distance = torch.arange(len(x))[:, None] - torch.arange(len(x))
    added = hidden_where((distance >= 0) & (distance < window))
    scores = query @ key.transpose(-1, -2) / math.sqrt(8) + added
    mixed = (torch.softmax(scores, -1) @ value.repeat_interleave(2, 0)).transpose(0, 1).flatten(1)
    x = x + mixed @ folder[layer + "out"].T
    normed = rms(folder, x, layer + "norm2")
    gate = torch.nn.functional.silu(normed @ folder[layer + "gate"].T)
    return x + (gate * (normed @ folder[layer + "up"].T)) @ folder[layer + "down"].T


def decoder():
    folder = Folder("decoder", 14)
    folder.table("embedding", 50, 24, 0.3)
    for i in range(2):
        for name, into, out in (("query", 24, 32), ("key", 24, 16), ("value", 24, 16), ("out", 32, 24),
                                ("gate", 24, 40), ("up", 24, 40), ("down", 40, 24)):
            folder.weights[f"layers.{i}.{name}"] = folder.random(out, into, scale=into ** -0.5)
        for name in ("norm1", "norm2"):
            folder.weights[f"layers.{i}.{name}"] = 1 + folder.random(24, scale=0.15)
    folder.weights["norm"] = 1 + folder.random(24, scale=0.15)

    def logits(ids):
        x = folder["embedding"][torch.tensor(ids)]
        for i in range(2):
            x = decoder_layer(folder, x, f"layers.{i}.", 12)
        return rms(folder, x, "norm") @ folder["embedding"].T

    def text(length):
        return torch.randint(0, 50, (length,), generator=folder.generator).tolist()

    for batch, seq in ((1, 1), (3, 9), (1, 60)):
        ids = [text(seq) for _ in range(batch)]
        folder.case({"input_ids": torch.tensor(ids)}, {"logits": torch.stack([logits(row) for row in ids])}, "logits")
    gap = 0
    while gap < 2e-3:
        prompt, gap = text(5), math.inf
        ids = list(prompt)
        for _ in range(20):
            best = torch.topk(logits(ids)[-1], 2)
            gap = min(gap, float(best.values[0] - best.values[1]))
            ids.append(int(best.indices[0]))
    folder.case({"input_ids": torch.tensor([prompt])}, {"output_ids": torch.tensor([ids[5:]])}, "generate",
                max_new_tokens=20, sampling="greedy, end token ignored", smallest_top2_gap=gap)
    ids = text(15)
    found = torch.log_softmax(logits(ids)[:-1], -1).gather(1, torch.tensor(ids[1:])[:, None]).T
    folder.case({"input_ids": torch.tensor([ids])}, {"logprobs": found}, "score")
    folder.close()


if __name__ == "__main__":
    decomposed_attention()
    transformer_encoder()
    pre_norm()
    decoder()
