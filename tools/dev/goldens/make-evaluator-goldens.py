#!/usr/bin/env python3
"""Writes test/goldens/evaluator/cases.json: small modules in the attn dialect, inputs, and torch's float64 results. Needs torch; the
tests that read the file do not."""
import json
import math
import pathlib
import re

import torch
import torch.nn.functional as F

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
NAMES = {torch.float64: "f32", torch.int64: "i64", torch.bool: "i1"}
cases = []


def rand(*shape):
    return torch.randn(*shape)


def kind(tensor):
    return "tensor<" + "".join(f"{s}x" for s in tensor.shape) + NAMES[tensor.dtype] + ">"


def entry(tensor):
    return {"shape": list(tensor.shape), "dtype": NAMES[tensor.dtype],
            "values": [str(v) if isinstance(v, float) and not math.isfinite(v) else int(v) if isinstance(v, bool) else v
                       for v in tensor.flatten().tolist()]}


def short(tensor):
    return f"[{', '.join(str(s) for s in tensor.shape)}] {NAMES[tensor.dtype]}"


def case(name, body, inputs, result, types=None, result_type=None):
    """Adds a case; `body` computes %r from %a, %b, ..."""
    types = types or [kind(t) for t in inputs]
    result_type = result_type or kind(result)
    arguments = ", ".join(f'%{"abcdefg"[i]}: {t} {{attn.name = "{"abcdefg"[i]}"}}' for i, t in enumerate(types))
    module = (f"func.func @run({arguments}) -> ({result_type} {{attn.name = \"r\"}}) {{\n{body}\n"
              f"return %r : {result_type}\n}}\n")
    cases.append({"name": name, "module": module,
                  "inputs": [dict(entry(t), name="abcdefg"[i]) for i, t in enumerate(inputs)],
                  "result": entry(result)})


def op(name, text, inputs, result):
    """Adds an operation on %a, %b, ...; a mask is the last input, with its type in a clause."""
    types = [short(t) for t in inputs]
    if " mask %" in text:
        text = re.sub(r" mask (%\w+)", rf" mask(\1 : {types.pop()})", text)
    if len(set(types)) == 1 and not text.startswith("concat"):
        types = types[:1]
    case(name, f"%r = attn.{text} : {', '.join(types)}", inputs, result)


def elementwise():
    x, y = rand(2, 3), rand(3)
    n, m = torch.tensor([[-7, 8, 9], [3, -4, 5]]), torch.tensor([2, -3, 4])
    p, q = torch.tensor([[True, False, True]]), torch.tensor([[True], [False]])
    for name, f in {"add": torch.add, "sub": torch.sub, "mul": torch.mul}.items():
        op(name, f"{name} %a, %b", [x, y], f(x, y))
        op(name + "_integers", f"{name} %a, %b", [n, m], f(n, m))
    op("div", "div %a, %b", [x, y], x / y)
    op("div_integers", "div %a, %b", [n, m], torch.div(n, m, rounding_mode="trunc"))
    op("and", "and %a, %b", [p, q], p & q)
    op("or", "or %a, %b", [p, q], p | q)
    op("not", "not %a", [p], ~p)
    op("cast_to_float", "cast %a to f32", [n], n.double())
    op("cast_to_bool", "cast %a to i1", [torch.tensor([0.0, 0.5, -2.0])], torch.tensor([False, True, True]))
    op("cast_to_integer", "cast %a to i64", [torch.tensor([0.9, -1.9, 2.0])], torch.tensor([0, -1, 2]))
    op("scale", "scale %a by 0.375 {offset = -1.25}", [x], 0.375 * x - 1.25)
    op("where", "where %a, %b, %c", [q, x, y], torch.where(q, x, y))
    op("mask_finite", "mask %a, %b with -1.0e9", [x, p], torch.where(p, x, torch.tensor(-1e9)))
    wide = torch.cat([3 * rand(12), torch.tensor([0.0, -30.0, 30.0])])
    functions = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda v: F.gelu(v, approximate="tanh"), "silu": F.silu,
                 "tanh": torch.tanh, "sigmoid": torch.sigmoid, "exp": torch.exp, "neg": torch.neg,
                 "quick_gelu": lambda v: v * torch.sigmoid(1.702 * v),
                 "log1p_relu": lambda v: v.relu().log1p()}
    for name, f in functions.items():
        op(name, f"activation <{name}> %a", [wide], f(wide))
    op("sqrt", "activation <sqrt> %a", [wide.abs()], wide.abs().sqrt())
    op("rsqrt", "activation <rsqrt> %a", [wide.abs() + 1], (wide.abs() + 1).rsqrt())


def products_and_norms():
    a, b = rand(2, 1, 3, 4), rand(5, 4, 6)
    op("matmul", "matmul %a, %b", [a, b], a @ b)
    at, bt = a.transpose(-1, -2).contiguous(), b.transpose(-1, -2).contiguous()
    op("matmul_transposed", "matmul %a, %b {transpose_lhs, transpose_rhs}", [at, bt], a @ b)
    x, w, c = rand(2, 3, 4), rand(5, 4), rand(5)
    op("linear", "linear %a, %b, %c", [x, w, c], F.linear(x, w, c))
    op("linear_without_bias", "linear %a, %b", [x, w], F.linear(x, w))
    g, beta = rand(4), rand(4)
    op("layer_norm", "layer_norm %a, %b, %c eps 1.0e-5", [x, g, beta], F.layer_norm(x, (4,), g, beta, 1e-5))
    op("layer_norm_without_beta", "layer_norm %a, %b eps 1.0e-5", [x, g], F.layer_norm(x, (4,), g, None, 1e-5))
    op("rms_norm", "rms_norm %a, %b eps 1.0e-6", [x, g], x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * g)
    s = rand(3, 5)
    s[0, 2] = -math.inf
    hidden = s.clone()
    hidden[1] = -math.inf
    op("softmax", "softmax %a", [s], F.softmax(s, -1))
    op("softmax_of_hidden_row", "softmax %a", [hidden], F.softmax(hidden, -1).nan_to_num(0.0))
    op("softmax_of_large_scores", "softmax %a", [s * 500], F.softmax(s * 500, -1))


def summaries():
    x = 3 * rand(2, 70)
    groups = x.split(64, -1)
    maxima = torch.stack([g.amax(-1) for g in groups], 1)
    sums = torch.stack([(g - g.amax(-1, keepdim=True)).exp().sum(-1) for g in groups], 1)
    case("row_summary_maxima", f"%r, %s = attn.row_summary %a : {short(x)}", [x], maxima)
    case("row_summary_sums", f"%m, %r = attn.row_summary %a : {short(x)}", [x], sums)


def shapes():
    x = rand(2, 3, 4)
    op("transpose", "transpose %a [2, 0, 1]", [x], x.permute(2, 0, 1))
    op("reshape", "reshape %a to <[4, 6]>", [x], x.reshape(4, 6))
    op("slice", 'slice %a axis 1 from 1 size 2', [x], x[:, 1:3])
    y = rand(2, 2, 4)
    op("concat", "concat %a, %b axis 1", [x, y], torch.cat([x, y], 1))
    table, ids = rand(7, 4), torch.tensor([[6, 0], [3, 3]])
    op("gather", "gather %a, %b", [table, ids], table[ids])
    op("embedding", "embedding %a, %b {scale = 2.0}", [ids, table], table[ids] * 2)
    ids = torch.tensor([[1, 5, 1, 7, 8], [4, 4, 1, 1, 1]])
    op("position_column", "position <column> %a", [ids], torch.arange(5).expand(2, 5))
    keep = (ids != 1).long()
    op("position_nonpad_rank", "position <nonpad_rank> %a {pad = 1 : i64}", [ids], keep.cumsum(1) * keep + 1)
    mask = torch.tensor([[True, False, True], [False, True, False]])
    op("pool_first", "pool <first> %a mask %b", [x, mask], x[:, 0])
    op("pool_last", "pool <last> %a mask %b", [x, mask], torch.stack([x[0, 2], x[1, 1]]))
    op("pool_mean", "pool <mean> %a mask %b", [x, mask], torch.stack([(x[0, 0] + x[0, 2]) / 2, x[1, 1]]))
    op("pool_first_key", "pool <first_key> %a mask %b", [x, mask], torch.stack([x[0, 0], x[1, 1]]))
    op("pool_sum", "pool <sum> %a mask %b", [x, mask], torch.stack([x[0, 0] + x[0, 2], x[1, 1]]))
    op("pool_max", "pool <max> %a mask %b", [x, mask], torch.stack([torch.maximum(x[0, 0], x[0, 2]), x[1, 1]]))
    op("pool_mean_sqrt", "pool <mean_sqrt> %a mask %b", [x, mask],
       torch.stack([(x[0, 0] + x[0, 2]) / math.sqrt(2), x[1, 1]]))
    op("pool_weighted_mean", "pool <weighted_mean> %a mask %b", [x, mask],
       torch.stack([(x[0, 0] + 3 * x[0, 2]) / 4, x[1, 1]]))
    op("pool_max_of_nothing", "pool <max> %a mask %b", [x, mask & False], torch.zeros(2, 4))
    op("pool_of_nothing", "pool <mean> %a mask %b", [x, mask & False], torch.zeros(2, 4))
    case("symbols", '%s = attn.reshape %a to <[2*seq, 2]> : [seq, 4] f32\n'
         '%r = attn.slice %s axis 0 from 1 size 2*seq-1 : [2*seq, 2] f32',
         [x[0]], x[0].reshape(6, 2)[1:], ["tensor<?x4xf32, #attn.shape<[seq, 4]>>"],
         "tensor<?x2xf32, #attn.shape<[2*seq-1, 2]>>")


def heads_of(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def attention(q, k, v, heads, kv_heads, scale, bias=None, cap=0.0):
    """softmax(scale Q K^T + bias) V; a row without a visible key gives zeros."""
    q, k, v = heads_of(q, heads), heads_of(k, kv_heads), heads_of(v, kv_heads)
    k, v = (t.repeat_interleave(heads // kv_heads, 1) for t in (k, v))
    scores = scale * q @ k.transpose(-1, -2)
    if cap:
        scores = cap * torch.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias
    return (F.softmax(scores, -1).nan_to_num(0.0) @ v).transpose(1, 2).flatten(2)


def hide(visible):
    return torch.where(visible, 0.0, -math.inf)


def attentions():
    q, k, v = rand(2, 3, 8), rand(2, 5, 8), rand(2, 5, 6)
    qi, kj = torch.arange(3)[:, None] + 2, torch.arange(5)[None]
    keys = torch.tensor([[True, True, False, True, True], [False] * 5])
    additive, select = rand(1, 1, 3, 5), torch.rand(2, 2, 3, 5) > 0.3

    def sdpa(name, text, result, *mask):
        op("sdpa_" + name, "sdpa %a, %b, %c " + ("mask %d " if mask else "") + "heads 2 kv_heads 2 scale 0.3 " + text,
           [q, k, v, *mask], result)

    sdpa("plain", "<none>", attention(q, k, v, 2, 2, 0.3))
    sdpa("keys", "<keys>", attention(q, k, v, 2, 2, 0.3, hide(keys[:, None, None])), keys)
    sdpa("additive", "<additive>", attention(q, k, v, 2, 2, 0.3, additive), additive)
    sdpa("select", "<select>", attention(q, k, v, 2, 2, 0.3, hide(select)), select)
    sdpa("causal", "<none> {causal}", attention(q, k, v, 2, 2, 0.3, hide(kj <= qi)))
    sdpa("causal_window", "<none> {causal, window = 2 : i64}",
         attention(q, k, v, 2, 2, 0.3, hide((kj <= qi) & (kj > qi - 2))))
    sdpa("window", "<none> {window = 2 : i64}", attention(q, k, v, 2, 2, 0.3, hide((kj < qi + 2) & (kj > qi - 2))))
    sdpa("soft_cap", "<none> {soft_cap = 0.5}", attention(q, k, v, 2, 2, 0.3, cap=0.5))
    everywhere = torch.where(keys[:, None, None], 0.0, 1.0).expand(2, 2, 3, 5).bool()
    plain = heads_of(q, 2) @ heads_of(k, 2).transpose(-1, -2) * 0.3
    replaced = F.softmax(torch.where(everywhere, torch.tensor(-1.5), plain), -1) @ heads_of(v, 2)
    sdpa("finite_mask", "<keys> {mask_value = -1.5}", replaced.transpose(1, 2).flatten(2), keys)
    k, v = rand(2, 5, 4), rand(2, 5, 6)
    op("sdpa_groups", "sdpa %a, %b, %c heads 4 kv_heads 2 scale 0.7 <none>", [rand_q := rand(2, 3, 8), k, v],
       attention(rand_q, k, v, 4, 2, 0.7))


def ragged():
    x = rand(3, 4, 8)
    mask = torch.tensor([[1, 1, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]])
    visible = mask.bool()
    full = attention(x, x, x, 2, 2, 0.5, hide(visible[:, None, None]))
    begin = ("%s = attn.ragged_batch %b KEEP: [3, 4] i64 -> <rows, keys>\n"
             "%x = attn.gather_rows %a, %s : [3, 4, 8] f32, <rows, keys>\n"
             "%y = attn.sdpa %x, %x, %x ragged(%s : <rows, keys>) heads 2 kv_heads 2 scale 0.5 <ragged> : [rows, 8] f32\n")
    end = "%r = attn.scatter_rows %y, %s to 3 x 4 : [rows, 8] f32, <rows, keys>"
    for keep in ("", "{keep_first} "):
        case("ragged_attention" + ("_keep_first" if keep else ""), begin.replace("KEEP", keep) + end, [x, mask],
             full * mask[:, :, None])
    pool = "%r = attn.pool <first> %y ragged(%s : <rows, keys>) batch 3 : [rows, 8] f32"
    case("ragged_pool_first", begin.replace("KEEP", "{keep_first} ") + pool, [x, mask], full[:, 0])
    case("ragged_pool_mean", begin.replace("KEEP", "{keep_first} ") + pool.replace("<first>", "<mean>"), [x, mask],
         torch.stack([full[0, [0, 1, 3]].mean(0), full[1, 1], torch.zeros(8)]))
    weights = torch.tensor([1, 2, 4])[:, None]
    case("ragged_pool_weighted_mean", begin.replace("KEEP", "{keep_first} ") + pool.replace("<first>", "<weighted_mean>"),
         [x, mask], torch.stack([(full[0, [0, 1, 3]] * weights).sum(0) / 7, full[1, 1], torch.zeros(8)]))
    ids = torch.zeros(3, 4, dtype=torch.int64)
    position = ("%s = attn.ragged_batch %b : [3, 4] i64 -> <rows, keys>\n"
                "%i = attn.gather_rows %a, %s : [3, 4] i64, <rows, keys>\n"
                "%p = attn.position <column> %i ragged(%s : <rows, keys>) : [rows] i64\n"
                "%r = attn.scatter_rows %p, %s to 3 x 4 : [rows] i64, <rows, keys>")
    case("ragged_position", position, [ids, mask], torch.arange(4).expand(3, 4) * mask)


def buckets(distances, count, largest):
    """Returns the row for each distance in a table with `count` positions, as in transformers' DeBERTa-v2."""
    span, exact = count // 2, count // 4
    far = distances.abs().clamp(min=exact) / exact
    shared = torch.ceil(torch.log(far.float()) / math.log((largest - 1) / exact) * (exact - 1)).long() + exact if largest else None
    bucket = torch.where(distances.abs() <= exact, distances, shared * distances.sign()) if largest else distances
    return (span + bucket).clamp(0, count - 1)


def positions():
    """GEMMs on content and relative positions, and neighbors."""
    x, mask = rand(2, 9, 8), torch.tensor([[1, 1, 0, 1, 1, 1, 1, 0, 1], [0, 1, 1, 1, 0, 0, 0, 0, 1]])
    hidden = hide(mask.bool()[:, None, None])
    distances = torch.arange(9)[:, None] - torch.arange(9)
    for name, count, largest in (("linear", 6, 0), ("wide", 40, 0), ("buckets", 10, 9)):
        keys, queries = rand(2 * count, 4), rand(2 * count, 4)
        rows, heads = buckets(distances, count, largest), heads_of(x, 2)
        to, of = (torch.einsum("bhid,hrd->bhir", heads, table.reshape(2, count, 4)) for table in (keys, queries))
        rows = rows.expand(2, 2, 9, 9)
        first = to.gather(3, rows)
        second = of.gather(3, rows.transpose(2, 3)).transpose(2, 3)
        clauses = ((" position_keys(%c : KIND)", first, [keys]), (" position_queries(%c : KIND)", second, [queries]),
                   (" position_keys(%c : KIND) position_queries(%d : KIND)", first + second, [keys, queries]))
        for number, (clause, added, tables) in enumerate(clauses):
            attrs = f" {{max_distance = {largest} : i64}}" if largest else ""
            clause = clause.replace("KIND", short(keys)) + " heads 2 kv_heads 2 scale 0.5 "
            result = attention(x, x, x, 2, 2, 0.5, 0.5 * added + hidden)
            case(f"sdpa_positions_{name}_{number}",
                 "%m = attn.cast %b to i1 : [2, 9] i64\n"
                 f"%r = attn.sdpa %a, %a, %a mask(%m : [2, 9] i1){clause}<keys>{attrs} : [2, 9, 8] f32", [x, mask, *tables], result)
            case(f"ragged_positions_{name}_{number}",
                 "%s = attn.ragged_batch %b : [2, 9] i64 -> <rows, keys>\n"
                 "%x = attn.gather_rows %a, %s : [2, 9, 8] f32, <rows, keys>\n"
                 f"%y = attn.sdpa %x, %x, %x ragged(%s : <rows, keys>){clause}<ragged>{attrs} : [rows, 8] f32\n"
                 "%r = attn.scatter_rows %y, %s to 2 x 9 : [rows, 8] f32, <rows, keys>", [x, mask, *tables],
                 result * mask[:, :, None])
    for reach in (0, 1, 3):
        padded = F.pad(x * mask[:, :, None], (0, 0, reach, reach))
        result = torch.cat([padded[:, i:i + 9] for i in range(2 * reach + 1)], -1)
        op(f"neighbors_{reach}", f"neighbors %a mask %b reach {reach}", [x, mask.bool()], result)
        case(f"ragged_neighbors_{reach}",
             "%s = attn.ragged_batch %b : [2, 9] i64 -> <rows, keys>\n"
             "%x = attn.gather_rows %a, %s : [2, 9, 8] f32, <rows, keys>\n"
             f"%y = attn.neighbors %x ragged(%s : <rows, keys>) reach {reach} : [rows, 8] f32\n"
             f"%r = attn.scatter_rows %y, %s to 2 x 9 : [rows, {8 * (2 * reach + 1)}] f32, <rows, keys>", [x, mask],
             result * mask[:, :, None])


if __name__ == "__main__":
    elementwise()
    products_and_norms()
    shapes()
    attentions()
    ragged()
    summaries()
    positions()
    path = pathlib.Path(__file__).resolve().parents[3] / "test/goldens/evaluator/cases.json"
    lines = ",\n".join(json.dumps(c) for c in cases)
    path.write_text('{"cases": [\n' + lines + "\n]}\n")
