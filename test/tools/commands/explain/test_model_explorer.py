# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""explain --model-explorer: graphs in the format of Google's Model Explorer, checked with its package's classes if it is
installed (PyPI: ai-edge-model-explorer)."""
import dataclasses
import importlib.util
import json
import os
import sys
import types
import typing
import unittest

from explains import ExplainTest


def load_classes():
    """Loads graph_builder.py without the rest of the package, which imports a server; returns None if it is not installed."""
    try:
        package = importlib.util.find_spec("model_explorer")
    except (ImportError, ValueError):
        return None
    if package is None or not package.submodule_search_locations:
        return None
    path = os.path.join(list(package.submodule_search_locations)[0], "graph_builder.py")
    spec = importlib.util.spec_from_file_location("graph_builder", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["graph_builder"] = module
    spec.loader.exec_module(module)
    return module


def check(test, value, kind, path):
    """Checks that a JSON value has a type from the package."""
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind):
        test.assertIsInstance(value, dict, path)
        hints = typing.get_type_hints(kind)
        test.assertLessEqual(set(value), set(hints), path)
        for field in dataclasses.fields(kind):
            if field.name in value:
                check(test, value[field.name], hints[field.name], f"{path}.{field.name}")
            else:
                test.assertFalse(field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING, f"{path}.{field.name}")
    elif origin is list:
        test.assertIsInstance(value, list, path)
        for index, item in enumerate(value):
            check(test, item, typing.get_args(kind)[0], f"{path}[{index}]")
    elif origin is dict:
        for key, item in value.items():
            check(test, item, typing.get_args(kind)[1], f"{path}.{key}")
    elif origin is typing.Literal:
        test.assertIn(value, typing.get_args(kind), path)
    elif origin in (typing.Union, getattr(types, "UnionType", None)):
        test.assertTrue(any(accepts(value, one) for one in typing.get_args(kind)), path)
    else:
        test.assertIsInstance(value, kind, path)


def accepts(value, kind):
    try:
        check(unittest.TestCase(), value, kind, "")
    except AssertionError:
        return False
    return True


class ModelExplorer(ExplainTest):
    def write(self, *arguments):
        path = self.path("graphs.json")
        self.succeed("explain", *arguments, "--model-explorer", path)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_graphs_are_those_of_the_passes(self):
        written = self.write(self.example("tiny-bert"))
        told = self.explain(self.example("tiny-bert"), "--ir")
        names = ["import", *(one["name"] for one in told["passes"] if one["ir"])]
        self.assertEqual([graph["id"] for graph in written["graphs"]], [f"{index:02} {name}" for index, name in enumerate(names)])
        self.assertEqual(written["label"], "tiny-bert")
        (first, *_, last) = written["graphs"]
        by_label = {}
        for node in first["nodes"]:
            by_label.setdefault(node["label"], []).append(node)
        (softmax, _) = by_label["attn.softmax"]
        self.assertEqual(softmax["namespace"], "encode/encoder/layer.0/attention/self")
        self.assertIn({"key": "in the model", "value": "config.json: /num_attention_heads"}, softmax["attrs"])
        self.assertIn("encode.0.gather_rows", " ".join(node["namespace"] for node in last["nodes"]))

    def test_edges_are_the_operands(self):
        (first, *_) = self.write(self.example("tiny-bert"))["graphs"]
        nodes = {node["id"]: node for node in first["nodes"]}
        self.assertEqual(len(nodes), len(first["nodes"]))
        for node in first["nodes"]:
            for edge in node["incomingEdges"]:
                self.assertIn(edge["sourceNodeId"], nodes)
        (softmax, _) = [node for node in first["nodes"] if node["label"] == "attn.softmax"]
        (edge,) = softmax["incomingEdges"]
        self.assertEqual(nodes[edge["sourceNodeId"]]["label"], "attn.mask")

    def test_form_is_that_of_the_package(self):
        classes = load_classes()
        if classes is None:
            self.skipTest("ai-edge-model-explorer is not installed")
        for model in ["tiny-bert", "tiny-llama"]:
            check(self, self.write(self.example(model)), classes.GraphCollection, model)

    def test_flags(self):
        path = self.path("saved.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.succeed("explain", self.example("tiny-bert"), "--json").stdout)
        self.fail_with(2, "explain", path, "--model-explorer", self.path("x.json"), says="--json --ir")
        self.fail_with(2, "explain", path, path, "--model-explorer", self.path("x.json"), says="'--model-explorer'")


if __name__ == "__main__":
    unittest.main()
