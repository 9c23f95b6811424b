# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of the explain tests: graphs whose attention is not fused, explanations as JSON."""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from base import SOURCE, ToolTest

EXAMPLES = os.path.join(SOURCE, "examples")


def write_graph(folder, change):
    """Returns the path of the example with decomposed attention, whose nodes by name are changed by a function."""
    with open(os.path.join(EXAMPLES, "decomposed-attention", "graph.json"), encoding="utf-8") as file:
        graph = json.load(file)
    del graph["$schema"]
    change(graph, {node["name"]: node for node in graph["nodes"]})
    os.symlink(os.path.join(EXAMPLES, "decomposed-attention", "model.safetensors"), os.path.join(folder, "model.safetensors"))
    path = os.path.join(folder, "graph.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(graph, file)
    return path


def read_scores(graph, nodes):
    """The scores are read a second time, as an output."""
    graph["outputs"].append("scores")


class ExplainTest(ToolTest):
    def explain(self, *arguments, **options):
        return json.loads(self.succeed("explain", *arguments, "--json", **options).stdout)

    def example(self, name):
        return os.path.join(EXAMPLES, name)

    def write_nodes(self, nodes, outputs):
        """Returns the path of a graph on x [batch, seq, 16] with zero weights."""
        folder = self.path(str(len(os.listdir(self.folder))))
        os.mkdir(folder)
        shapes = {"q.weight": [16, 16], "in_proj.weight": [48, 16]}
        header, size = {}, 0
        for name, (rows, columns) in shapes.items():
            header[name] = {"dtype": "F32", "shape": [rows, columns], "data_offsets": [size, size + 4 * rows * columns]}
            size += 4 * rows * columns
        text = json.dumps(header).encode()
        with open(os.path.join(folder, "model.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + bytes(size))
        graph = {"transom": 1, "weights": ["model.safetensors"], "dims": {"batch": {}, "seq": {}},
                 "inputs": [{"name": "x", "dtype": "f32", "shape": ["batch", "seq", 16]}], "nodes": nodes, "outputs": outputs}
        with open(os.path.join(folder, "graph.json"), "w", encoding="utf-8") as file:
            json.dump(graph, file)
        return os.path.join(folder, "graph.json")
