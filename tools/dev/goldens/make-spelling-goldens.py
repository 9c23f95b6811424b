#!/usr/bin/env python3
"""Writes test/goldens/attention-spellings: attention graphs as PyTorch exporters write them, one per line in graphs.jsonl, and torch's
results. A graph that fuses is compared here with torch's scaled_dot_product_attention for the expected mask, scale and soft cap. Needs
torch and safetensors; the test that reads the files does not."""
import json
import math
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.manual_seed(11)
torch.set_default_dtype(torch.float64)
FOLDER = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens" / "attention-spellings"
BATCH, SEQ, HEADS, SIZE, MOST = 2, 5, 2, 8, 7
WIDTH = HEADS * SIZE
INF = math.inf
LEAST = -3.4028234663852886e38
ROOT = 1 / math.sqrt(SIZE)


def rounded(tensor):
    return tensor.to(torch.float32).to(torch.float64)


ones = torch.ones(MOST, MOST)
nearly = torch.tril(ones)
nearly[2, 4] = 1
holed = torch.tril(ones)
holed[5, 1] = 0
FILES = {
    "q.weight": torch.randn(WIDTH, WIDTH), "k.weight": torch.randn(WIDTH, WIDTH), "v.weight": torch.randn(WIDTH, WIDTH),
    "in_proj.weight": torch.randn(3 * WIDTH, WIDTH), "in_proj.bias": torch.randn(3 * WIDTH),
    "tril": torch.tril(ones), "tril4": torch.tril(ones)[None, None], "bool": torch.tril(ones)[None, None].bool(), "hides": torch.triu(ones, 1).bool(),
    "added": torch.triu(torch.full((MOST, MOST), -INF), 1), "low": torch.triu(torch.full((MOST, MOST), -1e9), 1),
    "least": torch.triu(torch.full((MOST, MOST), LEAST), 1), "triu": torch.triu(ones), "next": torch.tril(ones, 1), "nearly": nearly, "holed": holed,
    "nearly_bool": nearly.bool(), "two": torch.stack([torch.tril(ones), ones])[None], "scalar": torch.tensor([ROOT]),
}
FILES = {name: value if value.dtype == torch.bool else rounded(value / 4 if "weight" in name else value) for name, value in FILES.items()}
X = rounded(torch.randn(BATCH, SEQ, WIDTH))
KEEP = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
INPUTS = [{"name": "x", "dtype": "f32", "shape": ["batch", "seq", WIDTH]}, {"name": "keep", "dtype": "bool", "shape": ["batch", "seq"]}]
cases, results, texts = [], [], []


def shorten(value):
    """Returns compact JSON, integers without a decimal point."""
    def walk(one):
        if isinstance(one, dict):
            return {key: walk(each) for key, each in one.items()}
        if isinstance(one, list):
            return [walk(each) for each in one]
        return int(one) if isinstance(one, float) and one == int(one) and abs(one) < 1e6 else one
    return json.dumps(walk(value), separators=(",", ":"))


class Value:
    def __init__(self, name, tensor):
        self.name, self.tensor = name, tensor


class Graph:
    """Writes nodes and computes the same in torch."""

    def __init__(self):
        self.nodes = []
        self.x, self.keep = Value("x", X), Value("keep", KEEP)

    def add(self, op, inputs, result, **attrs):
        name = f"n{len(self.nodes)}"
        node = {"name": name, "op": op, "inputs": [value.name for value in inputs]}
        if attrs:
            node["attrs"] = attrs
        self.nodes.append(node)
        return Value(name, result)

    def constant(self, value):
        def spell(number):
            return [spell(each) for each in number] if isinstance(number, list) else "-inf" if number == -INF else number
        listed = value.tolist() if isinstance(value, torch.Tensor) else value
        tensor = rounded(torch.tensor(listed, dtype=torch.float64))
        return self.add("constant", [], tensor.reshape(1) if tensor.dim() == 0 else tensor, value=spell(listed))

    def weight(self, name):
        return self.add("weight", [], FILES[name], tensor=name)

    def linear(self, x, weight, bias=None):
        attrs = {"weight": weight} | ({"bias": bias} if bias else {})
        return self.add("linear", [x], F.linear(x.tensor, FILES[weight], FILES[bias] if bias else None), **attrs)

    def reshape(self, x, *shape):
        sizes = [{"batch": BATCH, "seq": SEQ}.get(size, size) for size in shape]
        return self.add("reshape", [x], x.tensor.reshape(sizes), shape=list(shape))

    def transpose(self, x, *permutation):
        return self.add("transpose", [x], x.tensor.permute(permutation), permutation=list(permutation))

    def slice(self, x, axis, start=0, size="seq"):
        count = SEQ if size == "seq" else size
        return self.add("slice", [x], x.tensor.narrow(axis, start, count), axis=axis, start=start, size=size)

    def cut(self, x, starts=(0, 0)):
        """Slices the first rows and columns to the sequence's token count."""
        rank = x.tensor.dim()
        return self.slice(self.slice(x, rank - 2, starts[0]), rank - 1, starts[1])

    def matmul(self, a, b, transposed=False):
        return self.add("matmul", [a, b], a.tensor @ (b.tensor.transpose(-1, -2) if transposed else b.tensor), **({"transpose_b": True} if transposed else {}))

    def scale(self, x, factor, offset=0):
        return self.add("scale", [x], x.tensor * factor + offset, factor=factor, **({"offset": offset} if offset else {}))

    def mask(self, x, mask, value="-inf"):
        return self.add("mask", [x, mask], x.tensor.masked_fill(~mask.tensor, float(value)), value=value)

    def where(self, condition, a, b):
        return self.add("where", [condition, a, b], torch.where(condition.tensor, a.tensor, b.tensor))

    def bool(self, x):
        return self.add("cast", [x], x.tensor != 0, to="bool")

    def float(self, x):
        return self.add("cast", [x], x.tensor.to(torch.float64), to="f32")

    def __getattr__(self, op):
        functions = {"add_": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "and_": torch.logical_and, "or_": torch.logical_or,
                     "not_": torch.logical_not, "tanh": torch.tanh, "relu": torch.relu, "gelu": F.gelu}
        return lambda *inputs: self.add(op.rstrip("_"), inputs, functions[op](*(value.tensor for value in inputs)))

    def softmax(self, x):
        return self.add("softmax", [x], torch.softmax(x.tensor, -1))

    # Parts of attentions.

    def heads(self, x):
        return self.transpose(self.reshape(x, "batch", "seq", HEADS, SIZE), 0, 2, 1, 3)

    def projected(self):
        return [self.linear(self.x, f"{name}.weight") for name in "qkv"]

    def merge(self, context):
        return self.reshape(self.transpose(context, 0, 2, 1, 3), "batch", "seq", WIDTH)

    def scores(self):
        """Returns scaled scores and the value."""
        q, k, v = (self.heads(x) for x in self.projected())
        return self.scale(self.matmul(q, k, True), ROOT), v

    def finish(self, scores, v):
        return self.merge(self.matmul(self.softmax(scores), v))

    def keys(self):
        return self.reshape(self.keep, "batch", 1, 1, "seq")


def case(build, fused=True, causal=False, mask="none", value=None, cap=0, scale=ROOT, factor=1, remark="", compare=True):
    """`build` makes the attention. The rest describes the expected result: the mask kind, the value of hidden scores, the soft cap, the
    factor after the attention, and a remark's name. `compare`: torch's scaled_dot_product_attention computes the same."""
    graph = Graph()
    out = build(graph)
    assert not out.tensor.isnan().any(), build.__name__
    if fused and compare:
        q, k, v = (F.linear(X, FILES[f"{name}.weight"]).reshape(BATCH, SEQ, HEADS, SIZE).transpose(1, 2) for name in "qkv")
        bias = torch.zeros(BATCH, 1, SEQ, SEQ)
        if mask == "keys":
            bias = bias.masked_fill(~KEEP[:, None, None], value or -INF)
        if causal:
            bias = bias.masked_fill(~torch.ones(SEQ, SEQ).bool().tril(), -INF)
        if cap:
            wanted = torch.softmax(cap * torch.tanh(q @ k.transpose(-1, -2) * scale / cap) + bias, -1) @ v
        else:
            wanted = F.scaled_dot_product_attention(q, k, v, bias, scale=scale)
        # In a row with visible columns, a low number has the same effect as minus infinity.
        difference = (wanted.transpose(1, 2).reshape(BATCH, SEQ, WIDTH) * factor - out.tensor).abs().max()
        assert difference < 1e-6, (build.__name__, difference)
    result = [round(number, 6) for number in out.tensor.flatten().tolist()]
    if result not in results:
        results.append(result)
    texts.append(shorten({"nodes": graph.nodes, "outputs": [{"name": "y", "edge": out.name}]}))
    cases.append({"name": build.__name__, "fused": fused, "causal": causal, "mask": mask, "value": value if value is not None else 0, "cap": cap,
                  "scale": scale, "factor": factor, "remark": remark, "result": results.index(result)})


def spelling(**expected):
    def take(build):
        case(build, **expected)
        return build
    return take


#===----------------------------------------------------------------------===#
# Scales
#===----------------------------------------------------------------------===#

def scaled(name, q=None, k=None, scores=None, early=None, **expected):
    """Functions on query and key with heads, on scores, and on the query before its heads are split."""
    def build(g):
        query, key, v = g.projected()
        query = early(g, query) if early else query
        query, key, v = g.heads(query), g.heads(key), g.heads(v)
        query = q(g, query) if q else query
        key = k(g, key) if k else key
        product = g.matmul(query, key, True)
        return g.finish(scores(g, product) if scores else product, v)
    build.__name__ = name
    case(build, **expected)


scaled("scores_divided_by_a_constant", scores=lambda g, s: g.div(s, g.constant(math.sqrt(SIZE))))
scaled("scores_times_a_constant", scores=lambda g, s: g.mul(s, g.constant(ROOT)))
scaled("constant_times_scores", scores=lambda g, s: g.mul(g.constant(ROOT), s))
scaled("scores_times_a_constant_of_rank_4", scores=lambda g, s: g.mul(s, g.constant([[[[ROOT]]]])))
scaled("scores_times_equal_constants", scores=lambda g, s: g.mul(s, g.constant([[[ROOT]], [[ROOT]]])))
scaled("scores_scaled", scores=lambda g, s: g.scale(s, ROOT))
for side in "qk":
    scaled(f"{side}_divided_by_a_constant", **{side: lambda g, x: g.div(x, g.constant(math.sqrt(SIZE)))})
    scaled(f"{side}_times_a_constant", **{side: lambda g, x: g.mul(x, g.constant(ROOT))})
    scaled(f"constant_times_{side}", **{side: lambda g, x: g.mul(g.constant(ROOT), x)})
    scaled(f"{side}_scaled", **{side: lambda g, x: g.scale(x, ROOT)})
scaled("query_divided_in_front_of_its_heads", early=lambda g, x: g.div(x, g.constant(math.sqrt(SIZE))))
scaled("query_and_key_times_the_root_of_the_scale", q=lambda g, x: g.mul(x, g.constant(SIZE ** -.25)), k=lambda g, x: g.mul(x, g.constant(SIZE ** -.25)))
scaled("key_divided_twice", k=lambda g, x: g.div(g.div(x, g.constant(2.0)), g.constant(4.0)), scale=1 / 8)
scaled("scores_without_a_scale", scale=1)
# Factors that vary, or that the files contain.
scaled("scores_times_a_constant_of_each_head", scores=lambda g, s: g.mul(s, g.constant([[[ROOT]], [[.5]]])), fused=False, remark="scale-is-not-constant")
scaled("scores_times_a_weight", scores=lambda g, s: g.mul(s, g.weight("scalar")), fused=False, remark="scale-is-not-constant")
scaled("constant_divided_by_scores", scores=lambda g, s: g.div(g.constant(1.0), s), fused=False, remark="scale-is-not-constant")
scaled("query_times_a_constant_vector", q=lambda g, x: g.mul(x, g.constant([ROOT, .5] * (SIZE // 2))), scale=1, compare=False)


#===----------------------------------------------------------------------===#
# Masks of keys
#===----------------------------------------------------------------------===#

def key_mask(name, spell, **expected):
    def build(g):
        scores, v = g.scores()
        return g.finish(spell(g, scores), v)
    build.__name__ = name
    case(build, **({"mask": "keys"} | expected))


key_mask("masked_fill_of_minus_infinity", lambda g, s: g.where(g.not_(g.keys()), g.constant(-INF), s))
key_mask("masked_fill_of_the_least_float", lambda g, s: g.where(g.not_(g.keys()), g.constant(LEAST), s))
key_mask("where_of_minus_infinity", lambda g, s: g.where(g.keys(), s, g.constant(-INF)))
key_mask("where_of_the_least_float", lambda g, s: g.where(g.keys(), s, g.constant(LEAST)))
for number, words in [(-1e9, "a_billion"), (-65504.0, "the_least_half"), (-1e4, "ten_thousand")]:
    key_mask(f"where_of_minus_{words}", lambda g, s, number=number: g.where(g.keys(), s, g.constant(number)), value=number)
key_mask("masked_fill_after_the_constant_factor", lambda g, s: g.mul(g.where(g.keys(), s, g.constant(-INF)), g.constant(2.0)), scale=2 * ROOT)
key_mask("added_zero_or_minus_infinity", lambda g, s: g.add_(s, g.where(g.keys(), g.constant(0.0), g.constant(-INF))))
key_mask("added_least_float", lambda g, s: g.add_(s, g.mul(g.sub(g.constant(1.0), g.float(g.keys())), g.constant(LEAST))))
key_mask("added_minus_ten_thousand", lambda g, s: g.add_(s, g.mul(g.sub(g.constant(1.0), g.float(g.keys())), g.constant(-1e4))), mask="additive", compare=False)
key_mask("where_of_a_constant_that_varies", lambda g, s: g.where(g.keys(), s, g.constant([[[-1e4]], [[-1e9]]])), fused=False, remark="masked-value-is-not-constant")


#===----------------------------------------------------------------------===#
# Causal masks
#===----------------------------------------------------------------------===#

def causal_mask(name, spell, **expected):
    key_mask(name, spell, **({"mask": "none", "causal": True} | expected))


def constant(matrix):
    return lambda g: g.cut(g.constant(matrix))


def stored(name):
    return lambda g: g.cut(g.weight(name))


LOWER = torch.tril(ones)
for kind, lower in [("constant", constant(LOWER)), ("constant_of_rank_4", constant(LOWER[None, None])), ("buffer", stored("tril")), ("buffer_of_rank_4", stored("tril4"))]:
    causal_mask(f"{kind}_chooses_minus_infinity", lambda g, s, lower=lower: g.where(g.bool(lower(g)), s, g.constant(-INF)))
    causal_mask(f"{kind}_masks", lambda g, s, lower=lower: g.mask(s, g.bool(lower(g))))
    causal_mask(f"masked_fill_where_the_{kind}_is_zero", lambda g, s, lower=lower: g.where(g.not_(g.bool(lower(g))), g.constant(-INF), s))
    causal_mask(f"{kind}_chooses_the_least_float", lambda g, s, lower=lower: g.where(g.bool(lower(g)), s, g.constant(LEAST)))
    causal_mask(f"{kind}_chooses_the_least_half", lambda g, s, lower=lower: g.where(g.bool(lower(g)), s, g.constant(-65504.0)), causal=False, mask="select", value=-65504.0, compare=False, remark="causal-mask-hides-with-number")
    causal_mask(f"{kind}_chooses_minus_a_billion", lambda g, s, lower=lower: g.where(g.bool(lower(g)), s, g.constant(-1e9)), causal=False, mask="select", value=-1e9, compare=False, remark="causal-mask-hides-with-number")
    causal_mask(f"added_least_float_where_the_{kind}_is_zero", lambda g, s, lower=lower: g.add_(s, g.mul(g.sub(g.constant(1.0), lower(g)), g.constant(LEAST))))
    causal_mask(f"added_choice_by_the_{kind}", lambda g, s, lower=lower: g.add_(s, g.where(g.bool(lower(g)), g.constant(0.0), g.constant(-INF))))
    causal_mask(f"{kind}_and_keys", lambda g, s, lower=lower: g.mask(s, g.and_(g.bool(lower(g)), g.keys())), mask="keys")
    causal_mask(f"{kind}_times_keys", lambda g, s, lower=lower: g.mask(s, g.bool(g.mul(lower(g), g.float(g.keys())))), mask="keys")
    causal_mask(f"hidden_by_the_{kind}_or_by_keys", lambda g, s, lower=lower: g.where(g.or_(g.not_(g.bool(lower(g))), g.not_(g.keys())), g.constant(-INF), s), mask="keys")
    causal_mask(f"{kind}_in_front_of_keys_that_hide_with_a_number", lambda g, s, lower=lower: g.where(g.keys(), g.mask(s, g.bool(lower(g))), g.constant(-1e9)), fused=False, remark="finite-masked-value-beside-mask")
    causal_mask(f"{kind}_after_keys_that_hide_with_a_number", lambda g, s, lower=lower: g.mask(g.where(g.keys(), s, g.constant(-1e9)), g.bool(lower(g))), mask="keys", value=-1e9)
    causal_mask(f"sum_of_the_{kind}_and_keys", lambda g, s, lower=lower: g.add_(s, g.add_(g.where(g.bool(lower(g)), g.constant(0.0), g.constant(-INF)), g.where(g.keys(), g.constant(0.0), g.constant(-INF)))), mask="keys")
    causal_mask(f"product_of_the_{kind}_and_keys_turned_into_the_least_float", lambda g, s, lower=lower: g.add_(s, g.mul(g.sub(g.constant(1.0), g.mul(lower(g), g.float(g.keys()))), g.constant(LEAST))), mask="keys")
causal_mask("bool_buffer_masks", lambda g, s: g.mask(s, g.cut(g.weight("bool"))))
causal_mask("bool_buffer_hides", lambda g, s: g.where(g.cut(g.weight("hides")), g.constant(-INF), s))
causal_mask("added_constant_of_minus_infinity", lambda g, s: g.add_(s, constant(torch.triu(torch.full((MOST, MOST), -INF), 1))(g)))
causal_mask("added_buffer_of_minus_infinity", lambda g, s: g.add_(s, stored("added")(g)))
causal_mask("added_buffer_of_the_least_float", lambda g, s: g.add_(stored("least")(g), s))
causal_mask("added_constant_times_the_least_float", lambda g, s: g.add_(s, g.scale(constant(torch.triu(ones, 1))(g), LEAST)))
causal_mask("upper_constant_turned", lambda g, s: g.mask(s, g.bool(g.transpose(constant(torch.triu(ones))(g), 1, 0))))
causal_mask("upper_buffer_turned", lambda g, s: g.mask(s, g.bool(g.transpose(stored("triu")(g), 1, 0))))
causal_mask("constant_cut_along_its_diagonal", lambda g, s: g.mask(s, g.bool(g.cut(g.constant(LOWER), (1, 1)))))
causal_mask("buffer_cut_along_its_diagonal", lambda g, s: g.mask(s, g.bool(g.cut(g.weight("tril"), (2, 2)))))
causal_mask("next_buffer_cut_one_column_later", lambda g, s: g.mask(s, g.bool(g.cut(g.weight("next"), (0, 1)))))
causal_mask("lower_constant_of_two_masks", lambda g, s: g.mask(g.mask(s, g.bool(constant(LOWER)(g))), g.bool(stored("tril")(g))))

# Nearly causal masks, and numbers that are data.
SELECT = {"causal": False, "mask": "select", "compare": False}
causal_mask("constant_with_one_key_too_many", lambda g, s: g.mask(s, g.bool(constant(nearly)(g))), remark="mask-is-nearly-causal", **SELECT)
causal_mask("constant_with_one_key_too_few", lambda g, s: g.mask(s, g.bool(constant(holed)(g))), remark="mask-is-nearly-causal", **SELECT)
causal_mask("buffer_with_one_key_too_many", lambda g, s: g.mask(s, g.bool(stored("nearly")(g))), **SELECT)
causal_mask("bool_buffer_with_one_key_too_many", lambda g, s: g.mask(s, g.cut(g.weight("nearly_bool"))), remark="mask-is-nearly-causal", **SELECT)
causal_mask("buffer_with_one_key_too_few", lambda g, s: g.mask(s, g.bool(stored("holed")(g))), **SELECT)
causal_mask("constant_that_shows_the_next_key", lambda g, s: g.mask(s, g.bool(constant(torch.tril(ones, 1))(g))), remark="mask-is-nearly-causal", **SELECT)
causal_mask("buffer_that_shows_the_next_key", lambda g, s: g.mask(s, g.bool(stored("next")(g))), **SELECT)
causal_mask("constant_cut_one_row_later", lambda g, s: g.mask(s, g.bool(g.cut(g.constant(LOWER), (1, 0)))), **SELECT)
causal_mask("buffer_cut_one_row_later", lambda g, s: g.mask(s, g.bool(g.cut(g.weight("tril"), (1, 0)))), **SELECT)
causal_mask("upper_constant", lambda g, s: g.mask(s, g.bool(constant(torch.triu(ones))(g))), **SELECT)
causal_mask("upper_buffer", lambda g, s: g.mask(s, g.bool(stored("triu")(g))), **SELECT)
causal_mask("lower_constant_turned", lambda g, s: g.mask(s, g.bool(g.transpose(constant(LOWER)(g), 1, 0))), **SELECT)
causal_mask("constant_with_a_window", lambda g, s: g.mask(s, g.bool(constant(torch.tril(ones) - torch.tril(ones, -3))(g))), **SELECT)
causal_mask("buffer_of_the_first_head_alone", lambda g, s: g.mask(s, g.bool(stored("two")(g))), **SELECT)
causal_mask("buffer_or_keys", lambda g, s: g.mask(s, g.or_(g.bool(stored("tril")(g)), g.keys())), **SELECT)
causal_mask("added_buffer_of_minus_a_billion", lambda g, s: g.add_(s, stored("low")(g)), causal=False, mask="additive", compare=False, remark="causal-mask-hides-with-number")
causal_mask("added_constant_of_minus_a_billion", lambda g, s: g.add_(s, constant(torch.triu(torch.full((MOST, MOST), -1e9), 1))(g)), causal=False, mask="additive", compare=False, remark="causal-mask-hides-with-number")
causal_mask("added_constant_that_varies", lambda g, s: g.add_(s, constant(torch.arange(MOST * MOST).reshape(MOST, MOST) / 8.0)(g)), causal=False, mask="additive", compare=False)


#===----------------------------------------------------------------------===#
# Soft caps
#===----------------------------------------------------------------------===#

CAP = {"mask": "none", "cap": 2}
key_mask("divided_tanh_times", lambda g, s: g.mul(g.tanh(g.div(s, g.constant(2.0))), g.constant(2.0)), **CAP)
key_mask("scaled_tanh_scaled", lambda g, s: g.scale(g.tanh(g.scale(s, .5)), 2.0), **CAP)
key_mask("times_tanh_times_on_the_left", lambda g, s: g.mul(g.constant(2.0), g.tanh(g.mul(g.constant(.5), s))), **CAP)
key_mask("tanh_divided", lambda g, s: g.div(g.tanh(g.div(s, g.constant(2.0))), g.constant(.5)), **CAP)
key_mask("soft_cap_of_50", lambda g, s: g.mul(g.tanh(g.div(s, g.constant(50.0))), g.constant(50.0)), mask="none", cap=50)
key_mask("tanh_alone", lambda g, s: g.tanh(s), mask="none", cap=1)
key_mask("tanh_between_negative_factors", lambda g, s: g.scale(g.tanh(g.scale(s, -.5)), -2.0), fused=False, remark="operation-before-softmax")
key_mask("tanh_of_unequal_factors", lambda g, s: g.scale(g.tanh(g.scale(s, .75)), 2.0), mask="none", cap=2, scale=1.5 * ROOT)
key_mask("soft_cap_in_front_of_keys", lambda g, s: g.mask(g.scale(g.tanh(g.scale(s, .5)), 2.0), g.keys()), mask="keys", cap=2)
key_mask("soft_cap_in_front_of_a_triangle", lambda g, s: g.where(g.bool(stored("tril")(g)), g.scale(g.tanh(g.scale(s, .5)), 2.0), g.constant(-INF)), mask="none", causal=True, cap=2)
key_mask("soft_cap_times_a_constant_after_the_mask", lambda g, s: g.mul(g.mask(g.tanh(g.scale(s, .5)), g.keys()), g.constant(2.0)), mask="keys", cap=2)
key_mask("mask_in_front_of_the_soft_cap", lambda g, s: g.scale(g.tanh(g.scale(g.mask(s, g.keys()), .5)), 2.0), fused=False, remark="mask-inside-soft-cap")
key_mask("tanh_twice", lambda g, s: g.tanh(g.tanh(s)), fused=False, remark="operation-before-softmax")
key_mask("gelu_between_factors", lambda g, s: g.scale(g.gelu(g.scale(s, .5)), 2.0), fused=False, remark="operation-before-softmax")
key_mask("tanh_with_an_offset", lambda g, s: g.scale(g.tanh(g.scale(s, .5, .25)), 2.0), fused=False, remark="scores-have-offset")


#===----------------------------------------------------------------------===#
# Factors after the softmax
#===----------------------------------------------------------------------===#

def mixed(name, shares=None, value=None, **expected):
    def build(g):
        scores, v = g.scores()
        probabilities = g.softmax(scores)
        probabilities = shares(g, probabilities) if shares else probabilities
        return g.merge(g.matmul(probabilities, value(g, v) if value else v))
    build.__name__ = name
    case(build, **expected)


mixed("probabilities_times_a_constant", lambda g, p: g.mul(p, g.constant(.8)), factor=.8)
mixed("constant_times_probabilities", lambda g, p: g.mul(g.constant(.8), p), factor=.8)
mixed("probabilities_divided_by_a_constant", lambda g, p: g.div(p, g.constant(1.25)), factor=.8)
mixed("probabilities_scaled", lambda g, p: g.scale(p, .8), factor=.8)
mixed("probabilities_times_one", lambda g, p: g.mul(p, g.constant(1.0)))
mixed("value_times_a_constant", value=lambda g, v: g.mul(v, g.constant(.5)), factor=.5)
mixed("probabilities_and_value_scaled", lambda g, p: g.scale(p, .5), lambda g, v: g.scale(v, 4.0), factor=2)
mixed("probabilities_with_an_offset", lambda g, p: g.scale(p, .5, .1), fused=False, remark="operation-after-softmax")
mixed("probabilities_times_a_constant_of_each_head", lambda g, p: g.mul(p, g.constant([[[.5]], [[.25]]])), fused=False, remark="operation-after-softmax")
mixed("probabilities_times_zero_and_one", lambda g, p: g.mul(p, g.constant([[[1.0]], [[0.0]]])), fused=False, remark="probabilities-are-masked")


#===----------------------------------------------------------------------===#
# No softmax, and packed projections
#===----------------------------------------------------------------------===#

@spelling(fused=False, remark="attention-without-softmax")
def linear_attention(g):
    scores, v = g.scores()
    return g.merge(g.matmul(scores, v))


@spelling(fused=False, remark="attention-without-softmax")
def relu_of_scores(g):
    scores, v = g.scores()
    return g.merge(g.matmul(g.div(g.relu(scores), g.constant(5.0)), v))


@spelling(compare=False)
def packed_projection_of_multihead_attention(g):
    packed = g.reshape(g.linear(g.x, "in_proj.weight", "in_proj.bias"), "batch", "seq", 3, WIDTH)
    turned = g.transpose(packed, 2, 0, 1, 3)
    q, k, v = (g.heads(g.reshape(g.slice(turned, 0, i, 1), "batch", "seq", WIDTH)) for i in range(3))
    return g.finish(g.scale(g.matmul(q, k, True), ROOT), v)


@spelling(compare=False)
def packed_heads_of_vision_transformers(g):
    packed = g.reshape(g.linear(g.x, "in_proj.weight", "in_proj.bias"), "batch", "seq", 3, HEADS, SIZE)
    turned = g.transpose(packed, 2, 0, 3, 1, 4)
    q, k, v = (g.reshape(g.slice(turned, 0, i, 1), "batch", HEADS, "seq", SIZE) for i in range(3))
    return g.finish(g.scale(g.matmul(q, k, True), ROOT), v)


FOLDER.mkdir(parents=True, exist_ok=True)
names = [one["name"] for one in cases]
assert len(set(names)) == len(names)
save_file({name: value if value.dtype == torch.bool else value.to(torch.float32).contiguous() for name, value in FILES.items()}, FOLDER / "model.safetensors")
save_file({"x": X.to(torch.float32), "keep": KEEP}, FOLDER / "in.safetensors")
with open(FOLDER / "cases.json", "w", encoding="utf-8") as file:
    file.write('{"results": [\n' + ",\n".join(map(shorten, results)) + '],\n"cases": [\n' + ",\n".join(map(shorten, cases)) + "]}\n")
with open(FOLDER / "graphs.jsonl", "w", encoding="utf-8") as file:
    # The first line begins all graphs.
    file.write(shorten({"transom": 1, "weights": ["model.safetensors"], "dims": {"batch": {}, "seq": {"max": MOST - 2}}, "inputs": INPUTS})[:-1] + ",\n")
    file.writelines(text[1:] + "\n" for text in texts)
for path in FOLDER.iterdir():
    path.chmod(0o644)
print(len(cases), "cases", len(results), "results")
