# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attention: the entry of `compile --attention`, pages and pictures of models, selections, errors."""
import json
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from base import GOLDENS, SOURCE, ToolTest, goldens, write_tensors

TINY_BERT = os.path.join(SOURCE, "examples", "tiny-bert")


def flatten(rows):
    return [value for row in rows for value in row]


class EntryTest(ToolTest):
    """The entry `attention` by `run`."""

    def run_entry(self, model, entry, ids, mask):
        shape = [len(ids), len(ids[0])]
        tensors = {"input_ids": ("I64", shape, flatten(ids))}
        if not all(flatten(mask)):
            tensors["attention_mask"] = ("I64", shape, flatten(mask))
        write_tensors(self.path("in"), tensors)
        self.succeed("run", model, entry, "--in", self.path("in"), "--out", self.path("out"))
        return goldens.read_tensors(self.path("out"))

    def test_weights_are_those_of_transformers(self):
        with open(os.path.join(GOLDENS, "attention.json"), encoding="utf-8") as file:
            cases = json.load(file)
        for name, case in cases.items():
            model = self.compiled(name, "--attention")
            results = self.run_entry(model, "attention", case["input_ids"], case["attention_mask"])
            for layer, expected in enumerate(case["attentions"]):
                shape, weights = results[f"attentions.{layer}"]
                self.assertEqual(shape, case["shape"])
                self.assertLess(max(abs(a - b) for a, b in zip(weights, expected)), 1e-5, f"{name}, layer {layer}")
            self.assertNotIn(f"attentions.{len(case['attentions'])}", results)

    def test_other_results_keep_their_bits(self):
        with open(os.path.join(GOLDENS, "attention.json"), encoding="utf-8") as file:
            cases = json.load(file)
        for name, entry in (("bert", "encode"), ("modernbert", "encode"), ("llama-gqa", "logits"), ("gemma2", "logits")):
            case = cases[name]
            given = case["input_ids"], case["attention_mask"]
            plain = self.run_entry(self.compiled(name), entry, *given)
            model = self.compiled(name, "--attention")
            self.assertEqual(plain, self.run_entry(model, entry, *given))
            results = self.run_entry(model, "attention", *given)
            self.assertEqual(plain, {result: results[result] for result in plain})

    def test_bits_do_not_depend_on_the_batch(self):
        with open(os.path.join(GOLDENS, "attention.json"), encoding="utf-8") as file:
            case = json.load(file)["bert"]
        model = self.compiled("bert", "--attention")
        together = self.run_entry(model, "attention", case["input_ids"], case["attention_mask"])["attentions.1"][1]
        size = len(together) // 3
        for row in range(3):
            alone = self.run_entry(model, "attention", case["input_ids"][row:row + 1], case["attention_mask"][row:row + 1])
            self.assertEqual(alone["attentions.1"][1], together[row * size:(row + 1) * size])

    def test_sizes_have_limits(self):
        model = self.compiled("bert", "--attention")
        for rows, columns in ((5, 4), (1, 97)):
            write_tensors(self.path("in"), {"input_ids": ("I64", [rows, columns], [5] * rows * columns)})
            self.fail_with(5, "run", model, "attention", "--in", self.path("in"), "--out", self.path("out"))

    def test_models_without_weights_are_refused(self):
        self.fail_with(4, "compile", os.path.join(SOURCE, "examples", "pre-norm"), "--attention", "-q", "-o", self.path("m.so"), says="supported: encoders and decoders")


class CommandTest(ToolTest):
    """The command on a small BERT with a tokenizer."""

    def show(self, *flags, code=0, says="", model=None):
        arguments = ["attention", model or self.compiled(TINY_BERT, "--attention"), *flags]
        return self.fail_with(code, *arguments, says=says) if code else self.succeed(*arguments)

    def get_json(self, *flags):
        groups = json.loads(self.show(*flags, "--format", "json", "-o", "-").stdout)["attention"]
        self.assertEqual(len(groups), 1)
        return groups[0]

    def test_json(self):
        group = self.get_json("--text", "the cat sat")
        self.assertEqual(group["queries"], ["[CLS]", "the", "cat", "s", "##a", "##t", "[SEP]"])
        self.assertEqual(group["keys"], group["queries"])
        self.assertEqual((group["layers"], group["heads"]), ([0, 1], [0, 1]))
        for layer in group["weights"]:
            for head in layer:
                for row in head:
                    self.assertAlmostEqual(sum(row), 1, places=5)

    def test_json_is_exact(self):
        group = self.get_json("--text", "the cat sat")
        ids = json.loads(self.succeed("tokenize", self.compiled(TINY_BERT, "--attention"), "--text", "the cat sat").stdout)["ids"]
        write_tensors(self.path("in"), {"input_ids": ("I64", [1, 7], ids)})
        self.succeed("run", self.compiled(TINY_BERT, "--attention"), "attention", "--in", self.path("in"), "--out", self.path("out"))
        results = goldens.read_tensors(self.path("out"))
        as_f32 = lambda value: struct.unpack("<f", struct.pack("<f", value))[0]
        for layer in range(2):
            expected = [as_f32(value) for value in results[f"attentions.{layer}"][1]]
            self.assertEqual([as_f32(value) for head in group["weights"][layer] for row in head for value in row], expected)
        self.assertEqual(group["weights"], self.get_json("--ids", ",".join(map(str, ids)))["weights"])

    def test_layers_and_heads(self):
        every = self.get_json("--text", "a cat")
        for layers, heads, expected in (("1", "0", ([1], [0])), ("0-1", "1", ([0, 1], [1])), ("1,0,1", "0,1", ([0, 1], [0, 1]))):
            group = self.get_json("--text", "a cat", "--layers", layers, "--heads", heads)
            self.assertEqual((group["layers"], group["heads"]), expected)
            self.assertEqual(group["weights"], [[every["weights"][layer][head] for head in expected[1]] for layer in expected[0]])
        for wrong in ("2", "x", "1-0", "0,,1", "-1", "0-9", "99999999999"):
            self.show("--text", "a", "-o", self.path("p"), f"--layers={wrong}", code=2, says="--layers")
            self.assertFalse(os.path.exists(self.path("p")))

    def test_pairs(self):
        group = self.get_json("--text", "the cat", "--pair", "a dog")
        self.assertEqual(group["queries"], ["[CLS]", "the", "cat", "[SEP]", "a", "dog", "[SEP]"])
        self.assertNotEqual(group["weights"], self.get_json("--ids", "1,2,3,4,5,6,7")["weights"])

    def test_page_and_picture(self):
        self.show("--text", "the </script> cat", "-o", self.path("page.html"))
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertEqual(page.count('<script type="text/plain"'), 4)
        self.show("--text", "the cat", "--format", "png", "-o", self.path("page.png"))
        with open(self.path("page.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_errors(self):
        out = ("-o", self.path("page.html"))
        self.show("--text", "a", "--ids", "1", *out, code=2, says="--ids")
        self.show(*out, code=2, says="--text")
        self.show("--pair", "a", "--ids", "1", *out, code=2, says="--pair")
        self.show("--text", "a", *out, "--format", "svg", code=2, says="html")
        self.show("--text", "a", *out, "--target", "b", code=4, says="--target")
        self.show("--text", "a", *out, code=2, says="--attention", model=self.compiled(TINY_BERT))
        self.show("--text", "a", *out, code=4, says="no tokenizer", model=self.compiled("bert", "--attention"))
        self.show("--ids", "999999", *out, code=3)
        self.show("--text", "a", "-o", self.path("missing/page.html"), code=6, says="missing")
        self.assertEqual(os.listdir(self.folder), [])


unittest.main()
