"""Prints an attention with N chained operations at one location: `before` or `after` the softmax, `add` and `where` with the scores as
second operand or first choice, `query` and `turned` in front of the matmul, `mask`, `affine` and `triangle` in a mask."""
import sys

count, side = int(sys.argv[1]), sys.argv[2]
x = "tensor<1x6x6xf32>"  # also for the scores
low = "-3.0e38"
lines = []


def chain(first, operation):
    """N operations, each on the previous one's result, which replaces `{}` in their text."""
    last = first
    for i in range(count):
        lines.append(f"%{first[1:]}{i} = " + operation(i).format(last))
        last = f"%{first[1:]}{i}"
    return last


def add_to_scores(operand, kind=x):
    lines.append(f"%t = attn.add %s, {operand} : {x}, {kind}")
    return "%t"


query = "%q"
if side == "query":
    query = chain("%q", lambda i: f"attn.scale {{}} by 2.0 : {x}")
if side == "turned":
    for number in range(count):
        lines.append(f"%q{2 * number} = attn.scale {query} by 2.0 : {x}")
        lines.append(f"%q{2 * number + 1} = attn.transpose %q{2 * number} [0, 2, 1] : {x}")
        query = f"%q{2 * number + 1}"
lines.append(f"%s = attn.matmul {query}, %k {{transpose_rhs}} : {x}")
scores = "%s"
if side == "before":
    scores = chain("%s", lambda i: f"attn.scale {{}} by 2.0 : {x}")
if side == "add":
    scores = chain("%s", lambda i: f"attn.cast {{}} to f32 : {x}")
    lines.append(f"%t = attn.add %a, {scores} : {x}")
    scores = "%t"
if side == "where":
    lines.append("%number = attn.constant dense<-1.0e9> : tensor<1xf32>")
    scores = chain("%s", lambda i: f"attn.where %m, {{}}, %number : tensor<1x1x6xi1>, {x}, tensor<1xf32>")
    lines.append(f"%t = attn.add %a, {scores} : {x}")
    scores = "%t"
if side == "mask":
    mask = chain("%i", lambda i: "attn.cast {} to i64 : tensor<1x1x6xi64>")
    lines.append(f"%f = attn.cast {mask} to f32 : tensor<1x1x6xi64>")
    lines.append("%n = attn.scale %f by 3.0e38 {offset = -3.0e38 : f64} : tensor<1x1x6xf32>")
    scores = add_to_scores("%n", "tensor<1x1x6xf32>")
if side == "affine":
    lines.append("%f = attn.cast %m to f32 : tensor<1x1x6xi1>")
    mask = chain("%f", lambda i: "attn.scale {} by 3.0e38 {{offset = -3.0e38 : f64}} : tensor<1x1x6xf32>" if i == 0 else
                 "attn.scale {} by 1.0 : tensor<1x1x6xf32>")
    scores = add_to_scores(mask, "tensor<1x1x6xf32>")
if side == "triangle":
    rows = ", ".join("[" + ", ".join(str(j <= i).lower() for j in range(6)) + "]" for i in range(6))
    lines.append(f"%c = attn.constant dense<[[{rows}]]> : tensor<1x6x6xi1>")
    mask = chain("%c", lambda i: "attn.slice {} axis 1 from 0 size 6 : tensor<1x6x6xi1>")
    lines.append(f"%t = attn.mask %s, {mask} with {low} : {x}, tensor<1x6x6xi1>")
    scores = "%t"
lines.append(f"%p = attn.softmax {scores} : {x}")
probabilities = "%p"
if side == "after":
    probabilities = chain("%p", lambda i: f"attn.cast {{}} to f32 : {x}")
lines.append(f"%r = attn.matmul {probabilities}, %v : {x}")
print(f"func.func @attention(%q: {x}, %k: {x}, %v: {x}, %a: {x}, %m: tensor<1x1x6xi1>,")
print(f"                     %i: tensor<1x1x6xi64> {{attn.role = \"mask\"}}) -> {x} {{")
print("".join(f"  {line}\n" for line in [*lines, f"return %r : {x}"]) + "}")
