"""Prints an attention with N scales between the product and the softmax, or N casts after the softmax."""
import sys

count, side = int(sys.argv[1]), sys.argv[2]
x = "tensor<1x?x16xf32, #attn.shape<[1, seq, 16]>>"
s = "tensor<1x?x?xf32, #attn.shape<[1, seq, seq]>>"
print(f"func.func @attention(%q: {x}, %k: {x}, %v: {x}) -> {x} {{")
print(f"  %0 = attn.matmul %q, %k {{transpose_rhs}} : {x}")
last = 0
if side == "before":
    for i in range(count):
        print(f"  %{i + 1} = attn.scale %{i} by 2.0 : {s}")
    last = count
print(f"  %p0 = attn.softmax %{last} : {s}")
last = 0
if side == "after":
    for i in range(count):
        print(f"  %p{i + 1} = attn.cast %p{i} to f32 : {s}")
    last = count
print(f"  %c = attn.matmul %p{last}, %v : {s}, {x}")
print(f"  return %c : {x}")
print("}")
