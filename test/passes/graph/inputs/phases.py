"""Prints two layers with N operations and N - 1 operations from a third one. The second result is also read later, so that a layer must
begin at the first operation."""
import sys

count = int(sys.argv[1])
x, w = "tensor<4x8xf32>", "tensor<8x8xf32>"
for layer in range(3):
    print(f'attn.weight @w{layer} : {w} = #weight.expr<file("w{layer}")>')
print(f"func.func @layers(%x: {x}) -> {x} {{")
for layer in range(3):
    print(f"  %w{layer} = attn.get_weight @w{layer} : {w}")
last = "%x"
for i in range(3 * count - 1):
    layer, step = divmod(i, count)
    print(f"  %{i} = " + (f"attn.linear {last}, %w{layer} : {x}, {w}" if step == 0 else f"attn.scale {last} by {step}.5 : {x}"))
    last = f"%{i}"
print(f"  %{3 * count - 1} = attn.add {last}, %{2 * count - 1} : {x}")
print(f"  return %{3 * count - 1} : {x}")
print("}")
