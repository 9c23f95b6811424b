#!/usr/bin/env python3
"""Writes test/goldens/operations.json: small graphs for each graph.json operation, their inputs and weights, and the results that NumPy
computes in float64 from the definitions. Needs numpy; the test that reads the file does not."""
import json
import math
import pathlib

import numpy as np

PATH = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens" / "operations.json"
BATCH, SEQ = 2, 5
rng = np.random.default_rng(1)


def rounded(values):
    """Returns float32 values, so that files store them exactly."""
    return np.asarray(values, np.float32).astype(np.float64)


W = {"w": rounded(rng.normal(size=(8, 8))), "b": rounded(rng.normal(size=8)),
     "g": rounded(1 + 0.1 * rng.normal(size=8)), "table": rounded(rng.normal(size=(16, 8))),
     "v": rounded(rng.normal(size=(8, 4)))}
x, y = (rounded(rng.normal(size=(BATCH, SEQ, 8))) for _ in range(2))
p = rounded(np.abs(rng.normal(size=(BATCH, SEQ, 8))) + 0.1)
ids = rng.integers(0, 16, size=(BATCH, SEQ))
keep = rng.random((BATCH, SEQ)) < 0.7
keep[:, 0] = True
keep[1, 3] = False
CAUSAL = np.tril(np.ones((SEQ, SEQ)))


def node(name, op, inputs=(), **attrs):
    return {"name": name, "op": op, "inputs": list(inputs), "attrs": attrs}


def out(op, *inputs, **attrs):
    return [node("o", op, inputs, **attrs)]


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normed(z):
    return (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + 1e-5)


def hide(visible):
    return np.where(visible, 0, -np.inf)


def rotated(z, positions, interleaved):
    """Rotates two heads with 4 elements; frequencies 1 and 0.1."""
    angle = positions[..., None] * np.array([1, 0.1])
    c, s = np.cos(angle)[..., None, :], np.sin(angle)[..., None, :]
    z = z.reshape(BATCH, SEQ, 2, 4)
    a, b = (z[..., 0::2], z[..., 1::2]) if interleaved else (z[..., :2], z[..., 2:])
    parts = [a * c - b * s, b * c + a * s]
    turned = np.stack(parts, -1) if interleaved else np.concatenate(parts, -1)
    return turned.reshape(BATCH, SEQ, 8)


def attention(query, key, value, added=0, kv_heads=2, cap=0):
    def split(z, heads):
        z = z.reshape(BATCH, SEQ, heads, -1).transpose(0, 2, 1, 3)
        return np.repeat(z, 2 // heads, 1)
    query, key, value = split(query, 2), split(key, kv_heads), split(value, kv_heads)
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1])
    scores = cap * np.tanh(scores / cap) if cap else scores
    return (softmax(scores + added) @ value).transpose(0, 2, 1, 3).reshape(BATCH, SEQ, -1)


def sinusoid(halves):
    angle = np.arange(16)[:, None] / 10000 ** (np.arange(0, 8, 2) / 8)
    parts = [np.sin(angle), np.cos(angle)]
    return np.concatenate(parts, -1) if halves else np.stack(parts, -1).reshape(16, 8)


def rows(table):
    return np.broadcast_to(table[:SEQ], (BATCH, SEQ, 8))


def nonpad_ranks(pad):
    real = ids != pad
    return np.where(real, np.cumsum(real, -1) + pad, pad)


def cases():
    weight = {name: node(name + "_", "weight", tensor=name) for name in W}
    wide_keep = node("k", "reshape", ["keep"], shape=["batch", "seq", 1])
    swapped = x.transpose(0, 2, 1)
    erf = np.vectorize(math.erf)
    yield "linear", out("linear", "x", weight="w", bias="b"), x @ W["w"].T + W["b"]
    yield "linear-transposed", out("linear", "x", weight="v", transposed=True), x @ W["v"]
    yield "matmul-by-weight", [weight["w"], *out("matmul", "x", "w_")], x @ W["w"]
    yield "matmul-of-weight", [weight["w"], *out("matmul", "w_", "x", transpose_b=True)], W["w"] @ swapped
    yield "matmul-transpose-b", out("matmul", "x", "y", transpose_b=True), x @ y.transpose(0, 2, 1)
    yield "matmul-transpose-a", out("matmul", "x", "y", transpose_a=True), swapped @ y
    yield "matmul", [node("a", "matmul", "xy", transpose_b=True), *out("matmul", "a", "y")], x @ y.transpose(0, 2, 1) @ y
    yield "constant", [node("c", "constant", value=[1, 2, 3, 4, 5, 6, 7, 8]), *out("add", "x", "c")], x + np.arange(1, 9)
    yield "constant-number", [node("c", "constant", value=2.5), *out("mul", "x", "c")], x * 2.5
    yield "add-weight", [weight["b"], *out("add", "x", "b_")], x + W["b"]
    yield "add", out("add", "x", "y"), x + y
    yield "sub", out("sub", "x", "y"), x - y
    yield "mul", out("mul", "x", "y"), x * y
    yield "div", out("div", "x", "p"), x / p
    yield "scale", out("scale", "x", factor=2, offset=1), 2 * x + 1
    yield "relu", out("relu", "x"), np.maximum(x, 0)
    yield "gelu", out("gelu", "x"), x * 0.5 * (1 + erf(x / math.sqrt(2)))
    yield ("gelu-tanh", out("gelu_tanh", "x"),
           0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))))
    yield "quick-gelu", out("quick_gelu", "x"), x / (1 + np.exp(-1.702 * x))
    yield "silu", out("silu", "x"), x / (1 + np.exp(-x))
    yield "tanh", out("tanh", "x"), np.tanh(x)
    yield "sigmoid", out("sigmoid", "x"), 1 / (1 + np.exp(-x))
    yield "exp", out("exp", "x"), np.exp(x)
    yield "neg", out("neg", "x"), -x
    yield "sqrt", out("sqrt", "p"), np.sqrt(p)
    yield "rsqrt", out("rsqrt", "p"), 1 / np.sqrt(p)
    yield "log1p-relu", out("log1p_relu", "x"), np.log1p(np.maximum(x, 0))
    yield "cast-bool", out("cast", "keep", to="f32"), keep * 1.0
    yield "cast-integer", out("cast", "ids", to="f32"), ids * 1.0
    yield "not", [node("n", "not", ["keep"]), *out("cast", "n", to="f32")], ~keep * 1.0
    either = [node("i", "cast", ["ids"], to="bool"), node("e", "or", ["keep", "i"])]
    yield "or", [*either, *out("cast", "e", to="f32")], (keep | (ids != 0)) * 1.0
    outer = [node("r", "reshape", ["keep"], shape=["batch", "seq", 1]),
             node("c", "reshape", ["keep"], shape=["batch", 1, "seq"]), node("a", "and", ["r", "c"])]
    yield "and", [*outer, *out("cast", "a", to="f32")], (keep[:, :, None] & keep[:, None]) * 1.0
    yield "where", [wide_keep, *out("where", "k", "x", "y")], np.where(keep[..., None], x, y)
    yield "transpose", out("transpose", "x", permutation=[0, 2, 1]), swapped
    yield "transpose-batch", out("transpose", "x", permutation=[1, 0, 2]), x.transpose(1, 0, 2)
    yield "reshape", out("reshape", "x", shape=["batch*seq", 8]), x.reshape(-1, 8)
    yield "concat", out("concat", "x", "y", axis=-1), np.concatenate([x, y], -1)
    yield "concat-rows", out("concat", "x", "y", axis=1), np.concatenate([x, y], 1)
    yield "slice", out("slice", "x", axis=-1, start=2, size=3), x[..., 2:5]
    yield "slice-rows", out("slice", "x", axis=1, size=1), x[:, :1]
    yield ("slice-of-weight", [weight["table"], node("c", "slice", ["table_"], axis=0, size="seq"),
                               *out("add", "x", "c")], x + W["table"][:SEQ])
    yield "split", [node("s", "split", ["x"], axis=-1, parts=2), *out("mul", "s:1", "s")], x[..., 4:] * x[..., :4]
    yield "gather", [weight["table"], *out("gather", "table_", "ids")], W["table"][ids]
    yield ("gather-computed", [weight["table"], node("a", "scale", ["table_"], factor=2), *out("gather", "a", "ids")],
           2 * W["table"][ids])
    yield "embedding", out("embedding", "ids", table="table", scale=2), 2 * W["table"][ids]
    for name, source, attrs, wanted in (("column", "ids", {}, rows(W["table"])), ("of-bool", "keep", {}, rows(W["table"])),
                                        ("nonpad-rank", "ids", {"kind": "nonpad_rank", "pad": int(ids[0, 1])},
                                         W["table"][nonpad_ranks(ids[0, 1])])):
        yield ("position-" + name, [node("q", "position", [source], **attrs),
                                    *out("embedding", "q", table="table")], wanted)
    for halves in (False, True):
        name = "sinusoid" + ("-halves" if halves else "")
        yield name, out("sinusoid", "ids", width=8, positions=16, halves=halves), rows(sinusoid(halves))
    yield ("sinusoid-table", [node("t", "sinusoid", width=8, positions=16), node("c", "slice", ["t"], axis=0, size="seq"),
                              *out("add", "x", "c")], x + sinusoid(False)[:SEQ])
    places = node("q", "position", ["ids"])
    columns = np.broadcast_to(np.arange(SEQ), (BATCH, SEQ))
    angle = columns[..., None] * np.array([1, 0.01])
    yield ("rotation", [places, *out("rotation", "q", positions=12, width=4, factor=1.5)],
           1.5 * np.concatenate([np.cos(angle), np.sin(angle)], -1))
    turns = node("r", "rotation", ["q"], positions=12, frequencies=[1, 0.1])
    for interleaved in (False, True):
        yield ("rotary" + ("-interleaved" if interleaved else ""),
               [places, turns, *out("rotary", "x", "r", heads=2, interleaved=interleaved)], rotated(x, columns, interleaved))
    yield "softmax", out("softmax", "x"), softmax(x)
    yield "mask", [wide_keep, *out("mask", "x", "k", value=-3)], np.where(keep[..., None], x, -3)
    scores = [node("s", "matmul", "xy", transpose_b=True), node("c", "reshape", ["keep"], shape=["batch", 1, "seq"])]
    yield ("mask-softmax", [*scores, node("m", "mask", ["s", "c"]), *out("softmax", "m")],
           softmax(x @ y.transpose(0, 2, 1) + hide(keep[:, None])))
    yield "mask-float", out("mask", "x", "y"), x + y
    yield "layer-norm", out("layer_norm", "x", gamma="g", beta="b"), normed(x) * W["g"] + W["b"]
    yield "layer-norm-plain", out("layer_norm", "x", gamma="g"), normed(x) * W["g"]
    yield "rms-norm", out("rms_norm", "x", gamma="g"), x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * W["g"]
    yield "attention", out("attention", "x", "y", "p", heads=2), attention(x, y, p)
    yield ("attention-keys", out("attention", "x", "y", "p", "keep", heads=2),
           attention(x, y, p, hide(keep)[:, None, None]))
    yield "attention-causal", out("attention", "x", "y", "p", heads=2, causal=True), attention(x, y, p, hide(CAUSAL))
    yield ("attention-window", out("attention", "x", "y", "p", heads=2, causal=True, window=2),
           attention(x, y, p, hide(CAUSAL * np.triu(np.ones((SEQ, SEQ)), -1))))
    yield ("attention-cap", out("attention", "x", "y", "p", heads=2, soft_cap=1.5), attention(x, y, p, cap=1.5))
    distance = np.arange(SEQ) - np.arange(SEQ)[:, None]
    yield ("attention-alibi", out("attention", "x", "y", "p", heads=2, causal=True, alibi=True),
           attention(x, y, p, hide(CAUSAL) + np.array([2.0 ** -4, 2.0 ** -8])[:, None, None] * distance))
    table, places = W["table"].reshape(16, 2, 4).transpose(1, 0, 2), np.clip(8 - distance, 0, 15)
    to, of = (np.einsum("bihd,hrd->bhir", z.reshape(BATCH, SEQ, 2, 4), table) for z in (x, y))
    first = np.take_along_axis(to, np.broadcast_to(places, (BATCH, 2, SEQ, SEQ)), 3)
    second = np.take_along_axis(of, np.broadcast_to(places.T, (BATCH, 2, SEQ, SEQ)), 3).transpose(0, 1, 3, 2)
    yield ("attention-positions",
           out("attention", "x", "y", "p", heads=2, position_keys="table", position_queries="table", positions=16),
           attention(x, y, p, (first + second) / 2))
    yield ("attention-position-queries", out("attention", "x", "y", "p", heads=2, position_queries="table", positions=16),
           attention(x, y, p, second / 2))
    near = np.pad(x * keep[..., None], ((0, 0), (1, 1), (0, 0)))
    yield ("neighbors", out("neighbors", "x", "keep", reach=1),
           np.concatenate([near[:, i:i + SEQ] for i in range(3)], -1))
    halved = [node("h", "slice", ["y"], axis=-1, size=4), node("i", "slice", ["p"], axis=-1, size=4)]
    yield ("attention-shared-keys", [*halved, *out("attention", "x", "h", "i", heads=2, kv_heads=1)],
           attention(x, y[..., :4], p[..., :4], kv_heads=1))
    yield "pool-first", out("pool", "x", kind="first"), x[:, 0]
    yield "pool-mean", out("pool", "x", kind="mean"), x.mean(1)
    yield ("pool-mean-mask", out("pool", "x", "keep", kind="mean"),
           (x * keep[..., None]).sum(1) / keep.sum(1)[:, None])
    last = np.stack([x[b][np.nonzero(keep[b])[0][-1]] for b in range(BATCH)])
    yield "pool-last", out("pool", "x", "keep", kind="last"), last
    kept = x * keep[..., None]
    yield "pool-sum", out("pool", "x", "keep", kind="sum"), kept.sum(1)
    yield "pool-max", out("pool", "x", "keep", kind="max"), np.where(keep[..., None], x, -np.inf).max(1)
    yield ("pool-mean-sqrt", out("pool", "x", "keep", kind="mean_sqrt"),
           kept.sum(1) / np.sqrt(keep.sum(1))[:, None])
    first = np.stack([x[b][np.nonzero(keep[b])[0][0]] for b in range(BATCH)])
    yield "pool-first-key", out("pool", "x", "keep", kind="first_key"), first
    weights = keep * np.arange(1, SEQ + 1)
    yield ("pool-weighted-mean", out("pool", "x", "keep", kind="weighted_mean"),
           (kept * weights[..., None]).sum(1) / weights.sum(1)[:, None])


def stored(values):
    """Returns shape and elements."""
    values = np.asarray(values)
    return {"shape": list(values.shape), "values": [v.item() for v in values.astype(
        np.float32 if values.dtype == np.float64 else values.dtype).flatten()]}


def main():
    content = {"inputs": {name: stored(v) for name, v in dict(x=x, y=y, p=p, ids=ids, keep=keep).items()},
               "weights": {name: stored(v) for name, v in W.items()},
               "cases": [{"name": name, "nodes": nodes, "expect": stored(want)} for name, nodes, want in cases()]}
    lines = [json.dumps({key: content[key]})[1:-1] for key in ("inputs", "weights")]
    lines.append('"cases": [\n' + ",\n".join(json.dumps(case) for case in content["cases"]) + "\n]")
    PATH.write_text("{" + ",\n".join(lines) + "}\n")


main()
