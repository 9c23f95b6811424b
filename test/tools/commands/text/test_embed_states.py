# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""embed --tokens and --layers: hidden states as in transformers with output_hidden_states."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import GOLDENS, ToolTest  # noqa: E402

FOLDER = os.path.join(GOLDENS, "hidden-states")


class EmbedStates(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.expected = {}
        for name in sorted(os.listdir(FOLDER)):
            if os.path.isdir(os.path.join(FOLDER, name)):
                with open(os.path.join(FOLDER, name, "expected.json")) as file:
                    cls.expected[name] = json.load(file)
        assert len(cls.expected) >= 3

    def lines(self, *arguments, **options):
        return [json.loads(line) for line in self.succeed(*arguments, **options).stdout.splitlines()]

    def assert_close(self, got, wanted, where):
        self.assertEqual([len(rows) for rows in got], [len(rows) for rows in wanted], where)
        for a, b in zip(got, wanted):
            for x, y in zip(a, b):
                self.assertAlmostEqual(x, y, delta=1e-5, msg=where)

    def test_layers_of_models(self):
        for name, expected in self.expected.items():
            model = self.path(name + ".so")
            self.succeed("compile", os.path.join(FOLDER, name), "--layers", ",".join(expected["layers"]), "-o", model)
            texts = [flag for case in expected["texts"] for flag in ("--text", case["text"])]
            asked = self.lines("embed", model, "--layers", ",".join(expected["layers"]), *texts)
            for line, case in zip(asked, expected["texts"], strict=True):
                self.assertEqual((line["text"], line["ids"]), (case["text"], case["ids"]), name)
                self.assertEqual(list(line["layers"]), expected["layers"])
                for layer, rows in case["layers"].items():
                    self.assert_close(line["layers"][layer], rows, f"{name} {layer} {case['text']}")
            # A text by itself, and one layer, have the same bits.
            last = expected["layers"][-1]
            one = self.lines("embed", model, "--layers", last, "--text", expected["texts"][0]["text"])[0]
            self.assertEqual(one["layers"][last], asked[0]["layers"][last])

    def test_tokens(self):
        expected = self.expected["bert"]
        model = self.compiled(os.path.join(FOLDER, "bert"))
        case = expected["texts"][0]
        line = self.lines("embed", model, "--tokens", "--text", case["text"])[0]
        self.assertEqual(list(line), ["text", "ids", "embeddings"])
        self.assert_close(line["embeddings"], case["layers"]["-1"], "tokens")
        texts = [case["text"] for case in expected["texts"]] * 12 + ["a", "", "a b a b a"]
        together = self.lines("embed", model, "--tokens", "-", input="\n".join(texts) + "\n")
        self.assertEqual(together, self.lines("embed", model, "--tokens", *(flag for text in texts for flag in ("--text", text))))
        for text, found in zip(texts, together, strict=True):
            self.assertEqual(found, self.lines("embed", model, "--tokens", "--text", text)[0])
        prompted = self.lines("embed", model, "--tokens", "--text", "b", "--prompt", "a ")[0]
        self.assertEqual(prompted["embeddings"], self.lines("embed", model, "--tokens", "--text", "a b")[0]["embeddings"])
        output = self.path("states.jsonl")
        self.succeed("embed", model, "--tokens", "--text", "a", "--text", "b", "-o", output)
        with open(output) as file:
            self.assertEqual([json.loads(line)["text"] for line in file], ["a", "b"])

    def test_errors(self):
        folder = os.path.join(FOLDER, "bert")
        model = self.compiled(folder)
        self.fail_with(4, "embed", model, "--layers", "0", "--text", "a", says="compile it with '--layers 0'")
        self.fail_with(2, "embed", model, "--tokens", "--dim", "4", "--text", "a", says="not for '--tokens' or '--layers'")
        self.fail_with(2, "embed", model, "--tokens", "-o", self.path("a.npy"), "--text", "a", says="embeddings of tokens are lines of JSON")
        self.fail_with(2, "embed", model, "--tokens", "--prompt-name", "query", "--text", "a", says="the model has no prompt 'query'")
        self.fail_with(2, "compile", folder, "--layers", "9", "-o", self.path("a.so"), says="no layer 9; the model has 0 to 3, or -1 to -4")
        self.fail_with(2, "compile", folder, "--layers", "1,x", "-o", self.path("a.so"), says="'x' is not a number")
        some = self.path("some.so")
        self.succeed("compile", folder, "--layers", "2", "-o", some)
        self.fail_with(2, "embed", some, "--layers", "1", "--text", "a", says="without layer '1'; it has: 2")
        masked = self.compiled(os.path.join(GOLDENS, "tasks", "bert-masks"))
        self.fail_with(4, "embed", masked, "--tokens", "--text", "a", says="compile it with '--layers -1'")


if __name__ == "__main__":
    unittest.main()
