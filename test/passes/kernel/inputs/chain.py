#!/usr/bin/env python3
"""Prints a function with N elementwise kern operations. Each reads the previous
result or, with `apart`, the argument."""
import sys

count = int(sys.argv[1])
apart = sys.argv[2:] == ["apart"]
print("!x = !kern.buffer<[rows, 8] x f32>")
print("func.func @chain(%b0: !x) {")
for i in range(1, count + 1):
    print(f"""  %b{i} = kern.alloc : !x
  kern.elementwise ins(%b{0 if apart else i - 1}) outs(%b{i}) {{
  ^bb0(%p: f32):
    %q = kern.apply <relu> %p
    kern.yield %q : f32
  }} : (!x) -> !x""")
print("  return\n}")
