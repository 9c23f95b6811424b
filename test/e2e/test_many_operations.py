# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with many operations, whose equal operations share their code."""
import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools", "commands"))

from base import ToolTest, goldens, write_tensors  # noqa: E402

WIDTH = 24
PRODUCTS = 8


class Graph:
    """A chain of random operations on [batch, WIDTH]."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes, self.last, self.older = [], "x", "x"

    def add(self, op, inputs=None, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append({"name": name, "op": op, "inputs": inputs or [self.last], "attrs": attributes})
        self.last = name
        return name

    def add_any(self):
        kind = self.random.randrange(8)
        if kind < 2:
            self.add("linear", weight=f"w{self.random.randrange(PRODUCTS)}")
        elif kind == 2:
            self.add(self.random.choice(["rms_norm", "layer_norm"]), gamma="g")
        elif kind == 3:
            self.add(self.random.choice(["add", "sub"]), [self.last, self.older])
            self.older = self.last
        elif kind == 4:
            self.add("transpose", permutation=[1, 0])
            self.add("sigmoid")
            self.add("transpose", permutation=[1, 0])
        elif kind == 5:
            whole, half = self.last, WIDTH // 2
            first = self.add("slice", [whole], axis=1, start=0, size=half)
            second = self.add("slice", [whole], axis=1, start=half, size=half)
            self.add("concat", [second, first], axis=1)
        else:
            self.add(self.random.choice(["relu", "gelu", "silu", "tanh", "softmax"]))

    def write(self, folder, outputs):
        numbers = random.Random(0)
        tensors = {f"w{i}": ("F32", [WIDTH, WIDTH], [numbers.uniform(-0.5, 0.5) for _ in range(WIDTH * WIDTH)]) for i in range(PRODUCTS)}
        tensors["g"] = ("F32", [WIDTH], [numbers.uniform(0.5, 1.5) for _ in range(WIDTH)])
        os.makedirs(folder)
        write_tensors(os.path.join(folder, "model.safetensors"), tensors)
        graph = {"transom": 1, "name": "chain", "weights": ["model.safetensors"], "dims": {"batch": {}},
                 "inputs": [{"name": "x", "dtype": "f32", "shape": ["batch", WIDTH]}],
                 "nodes": self.nodes, "outputs": [{"name": f"out{i}", "edge": edge} for i, edge in enumerate(outputs)]}
        with open(os.path.join(folder, "graph.json"), "w", encoding="utf-8") as file:
            json.dump(graph, file)


class ManyOperations(ToolTest):
    def run_model(self, name, numbers):
        write_tensors(self.path("in"), {"x": ("F32", [len(numbers) // WIDTH, WIDTH], numbers)})
        self.succeed("run", self.path(name + ".so"), "run", "--in", self.path("in"), "--out", self.path("out"))
        return goldens.read_tensors(self.path("out"))

    def test_shared_code_gives_the_same_bits(self):
        # The small model is a prefix of the large one.
        graph, outputs = Graph(seed=7), []
        for count in (200, 1800):
            while len(graph.nodes) < count:
                graph.add_any()
            outputs.append(graph.last)
            name = f"{count}"
            graph.write(self.path(name), outputs)
            optimized = {"TRANSOM_OPT_LEVEL": "2", "TRANSOM_TARGET": "native"}
            self.succeed("compile", self.path(name), "-q", "-o", self.path(name + ".so"), env=optimized)
            code = self.succeed("compile", self.path(name), "--emit", "llvm-ir").stdout
            self.assertEqual("@transom.o." in code, count == 1800)
        for rows in (1, 37):
            numbers = [graph.random.uniform(-1, 1) for _ in range(rows * WIDTH)]
            small, large = (self.run_model(name, numbers) for name in ("200", "1800"))
            self.assertEqual(small["out0"], large["out0"])
            self.assertTrue(all(abs(value) < 1e9 for value in large["out1"][-1]))

    def test_twenty_thousand_additions(self):
        graph = Graph(seed=0)
        for _ in range(20_000):
            graph.add("add", [graph.last, "x"])
        graph.write(self.path("sums"), [graph.last])
        self.succeed("compile", self.path("sums"), "-q", "-o", self.path("sums.so"))
        # 0.5 and its multiples are exact.
        self.assertEqual(self.run_model("sums", [0.5] * WIDTH)["out0"][-1], (20_001 * 0.5,) * WIDTH)


if __name__ == "__main__":
    unittest.main()
