#!/usr/bin/env python3
"""Prints a function of N elementwise operations of the kern dialect, each of
which reads the result of the one before."""
import sys

count = int(sys.argv[1])
print("!x = !kern.buffer<[rows, 8] x f32>")
print("func.func @chain(%b0: !x) {")
for i in range(1, count + 1):
    print(f"""  %b{i} = kern.alloc : !x
  kern.elementwise ins(%b{i - 1}) outs(%b{i}) {{
  ^bb0(%p: f32):
    %q = kern.apply <relu> %p
    kern.yield %q : f32
  }} : (!x) -> !x""")
print("  return\n}")
