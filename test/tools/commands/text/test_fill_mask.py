# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fill-mask: the same tokens as the fill-mask pipeline in transformers."""
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tasks import TASKS, TaskTest  # noqa: E402


class FillMask(TaskTest):
    task = "masks"

    def test_fills(self):
        for name, expected in self.expected.items():
            lines = self.on_texts("fill-mask", self.models[name], expected["texts"], "--top-k", "4")
            for line, text, wanted in zip(lines, expected["texts"], expected["masks"], strict=True):
                self.assertEqual(line["text"], text)
                self.assert_like(line["masks"], wanted, f"{name} {text}")
            five = self.lines("fill-mask", self.models[name], "--text", expected["texts"][0])[0]["masks"][0]
            self.assertEqual(len(five), 5)
            self.assertEqual(five[:4], lines[0]["masks"][0])

    def test_candidates(self):
        for name, expected in self.expected.items():
            flags = [flag for candidate in expected["candidates"] for flag in ("--candidate", candidate)]
            (line,) = self.lines("fill-mask", self.models[name], "--text", expected["texts"][0], *flags)
            self.assert_like(line["masks"], [expected["chosen"]], name)

    def test_more_masks_than_room(self):
        text = "[MASK] " * 9
        (line,) = self.lines("fill-mask", self.models["bert-masks"], "--text", text, "--top-k", "2")
        self.assertEqual([len(fills) for fills in line["masks"]], [2] * 9)

    def test_spaces_before_punctuation(self):
        def sequences(model):
            (line,) = self.lines("fill-mask", model, "--text", "ada <mask> in new york , the river . s !", "--top-k", "2")
            return [fill["sequence"] for fill in line["masks"][0]]

        spaced = sequences(self.models["camembert-masks"])
        self.assertIn(" in new york , the river . s !", spaced[0])
        cleaned = sequences(self.with_settings("camembert-masks", clean_up_tokenization_spaces=True))
        self.assertEqual(cleaned, [text.replace(" ,", ",").replace(" .", ".").replace(" !", "!") for text in spaced])

    def test_the_mask_token_of_the_settings(self):
        folder = self.path("other")
        shutil.copytree(os.path.join(TASKS, "bert-masks"), folder)
        settings = os.path.join(folder, "tokenizer_config.json")
        with open(settings) as file:
            config = dict(json.load(file), mask_token="park")
        with open(settings, "w") as file:
            json.dump(config, file)
        model = self.path("other.so")
        self.succeed("compile", folder, "-o", model)
        (line,) = self.lines("fill-mask", model, "--text", "ada lives in park york.")
        self.assertEqual(len(line["masks"]), 1)
        with open(settings, "w") as file:
            json.dump(dict(config, mask_token=None), file)
        self.succeed("compile", folder, "-o", model)
        self.fail_with(4, "fill-mask", model, "--text", "a [MASK]", says="mask_token")

    def test_errors(self):
        model = self.models["bert-masks"]
        self.fail_with(3, "fill-mask", model, "--text", "no mask", says="the text has no mask token '[MASK]'")
        self.fail_with(3, "fill-mask", model, "--text", "in " * 80 + "[MASK]", says="before it is cut")
        self.fail_with(3, "fill-mask", model, "-", input="[MASK]\nnothing\n", says="stdin:2: the text has no mask token")
        self.fail_with(2, "fill-mask", model, "--text", "[MASK]", "--candidate", "qqq", says="--candidate 'qqq' is not a token")
        self.fail_with(2, "fill-mask", model, "--text", "[MASK]", "--top-k", "0", says="--top-k")
        self.fail_with(4, "fill-mask", self.compiled(os.path.join(TASKS, "bert-tags")), "--text", "[MASK]", says="its head is 'token_classification'")


if __name__ == "__main__":
    unittest.main()
