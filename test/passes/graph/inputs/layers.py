"""Prints a module with N equal feed-forward layers and locations, as an importer makes them."""
import sys

count = int(sys.argv[1])
x = "tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>"
w = "tensor<8x8xf32>"
print("module {")
for i in range(count):
    print(f'  attn.weight @"h.{i}.w" : {w} = #weight.expr<file("h.{i}.w")> loc("h.{i}")')
print(f"  func.func @run(%x: {x}) -> {x} {{")
last = "%x"
for i in range(count):
    print(f'    %w{i} = attn.get_weight @"h.{i}.w" : {w} loc("h.{i}.dense")')
    print(f'    %a{i} = attn.linear {last}, %w{i} : {x}, {w} loc("h.{i}.dense")')
    print(f'    %b{i} = attn.activation <relu> %a{i} : {x} loc("h.{i}.act")')
    print(f'    %c{i} = attn.add %b{i}, {last} : {x} loc("h.{i}.add")')
    last = f"%c{i}"
print(f"    return {last} : {x}")
print("  }")
print("}")
