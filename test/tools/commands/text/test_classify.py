# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""classify: one JSON line with the labels for each text, pair or token."""
import json
import math
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import GOLDENS, QUICK, SOURCE, ToolTest, write_tensors  # noqa: E402
from tasks import TaskTest  # noqa: E402
from texts import TextsTest  # noqa: E402


class Classify(TextsTest):
    def test_classify_texts_and_pairs(self):
        (line,) = self.lines("classify", self.models["bert-classify"], "--text", "the cat", "--pair", "the dog")
        self.assertEqual(line["pair"], "the dog")
        self.assertAlmostEqual(sum(line["scores"].values()), 1, places=5)
        self.assertEqual(line["label"], max(line["scores"], key=line["scores"].get))
        self.assertEqual(line["score"], line["scores"][line["label"]])
        self.assertEqual([line], self.lines("classify", self.models["bert-classify"], "-", input="the cat\tthe dog\n"))
        single = self.lines("classify", self.models["bert-classify"], "--text", "the cat")[0]
        self.assertNotIn("pair", single)
        self.assertNotEqual(single["scores"], line["scores"])
        mixed = self.lines("classify", self.models["bert-classify"], "-", input="the cat\nthe cat\tthe dog\n")
        self.assertEqual(mixed, [single, line])

    def test_classify_by_regression(self):
        with open(os.path.join(GOLDENS, "bert-classify", "config.json")) as file:
            config = dict(json.load(file), problem_type="regression")
        model = self.with_tokenizer("bert-classify", "regression", config=config)
        (raw,) = self.lines("classify", model, "--text", "the cat")
        (line,) = self.lines("classify", self.models["bert-classify"], "--text", "the cat")
        total = sum(math.exp(value) for value in raw["scores"].values())
        for label, value in raw["scores"].items():
            self.assertAlmostEqual(math.exp(value) / total, line["scores"][label], places=5)
        self.assertNotAlmostEqual(sum(raw["scores"].values()), 1, places=3)

    def test_classify_tokens(self):
        (line,) = self.lines("classify", self.models["bert-tokens"], "--text", "the cats")
        self.assertEqual([(t["token"], t["start"], t["end"]) for t in line["tokens"]], [("the", 0, 3), ("cat", 4, 7), ("s", 7, 8)])
        for token in line["tokens"]:
            self.assertTrue(0 < token["score"] <= 1)


class ClassifyByDecoders(TaskTest):
    """A decoder's head reads the last token that is not the padding id; labels have Python's spelling."""

    task = "classes"

    def test_scores_are_those_of_transformers(self):
        for name, expected in self.expected.items():
            lines = self.on_texts("classify", self.models[name], [text for text in expected["texts"] if text])
            lines += [line for text in expected["texts"] if not text for line in self.lines("classify", self.models[name], "--text", text)]
            self.assert_like([line["scores"] for line in lines], expected["scores"], name)


class ClassifyByGraphs(ToolTest):
    """A graph.json with 'labels' classifies texts or their tokens by the output 'logits'."""

    def compile_graph(self, edge):
        folder = self.path(edge)
        os.mkdir(folder)
        shutil.copy(os.path.join(SOURCE, "examples", "tiny-bert", "tokenizer.json"), folder)
        table = [(7 * i % 11 - 5) / 8 for i in range(186 * 2)]
        write_tensors(os.path.join(folder, "model.safetensors"), {"table": ("F32", [186, 2], table)})
        nodes = [{"name": "visible", "op": "cast", "inputs": ["attention_mask"], "attrs": {"to": "bool"}},
                 {"name": "tokens", "op": "embedding", "inputs": ["input_ids"], "attrs": {"table": "table"}},
                 {"name": "texts", "op": "pool", "inputs": ["tokens", "visible"], "attrs": {"kind": "mean"}}]
        inputs = [{"name": "input_ids", "dtype": "i64", "shape": ["batch", "seq"]},
                  {"name": "attention_mask", "dtype": "i64", "shape": ["batch", "seq"], "mask_of": "input_ids"}]
        with open(os.path.join(folder, "graph.json"), "w", encoding="utf-8") as file:
            json.dump({"transom": 1, "weights": ["model.safetensors"], "dims": {"batch": {}, "seq": {"max": 64}}, "inputs": inputs,
                       "nodes": nodes if edge == "texts" else nodes[:2], "labels": ["low", "high"],
                       "outputs": [{"name": "logits", "edge": edge}]}, file)
        artifact = self.path(edge + ".so")
        self.succeed("compile", folder, "-o", artifact, env=QUICK)
        return artifact, [table[2 * i : 2 * i + 2] for i in range(186)]

    def get_ids(self, artifact, text):
        return json.loads(self.succeed("tokenize", artifact, "--text", text).stdout)["ids"]

    def test_scores_of_texts(self):
        artifact, table = self.compile_graph("texts")
        rows = [table[id] for id in self.get_ids(artifact, "the cat")]
        logits = [sum(column) / len(rows) for column in zip(*rows)]
        line = json.loads(self.succeed("classify", artifact, "--text", "the cat").stdout)
        total = sum(math.exp(value) for value in logits)
        for label, value in zip(("low", "high"), logits):
            self.assertAlmostEqual(line["scores"][label], math.exp(value) / total, places=5)

    def test_labels_of_tokens(self):
        artifact, table = self.compile_graph("tokens")
        ids = self.get_ids(artifact, "the cat")
        line = json.loads(self.succeed("classify", artifact, "--text", "the cat").stdout)
        expected = [("low", "high")[table[id][1] > table[id][0]] for id in ids[1:-1]]
        self.assertEqual([token["label"] for token in line["tokens"]], expected)


if __name__ == "__main__":
    unittest.main()
