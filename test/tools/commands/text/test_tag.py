# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tag: the same spans as the token classification pipeline in transformers."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import GOLDENS  # noqa: E402
from tasks import TaskTest, count_bytes  # noqa: E402


class Tag(TaskTest):
    task = "tags"

    def test_all_aggregations(self):
        for name, expected in self.expected.items():
            for strategy, entities in expected["entities"].items():
                lines = self.on_texts("tag", self.models[name], expected["texts"], "--aggregation", strategy)
                for line, text, wanted in zip(lines, expected["texts"], entities, strict=True):
                    for entity in wanted:
                        entity["start"], entity["end"] = (count_bytes(text, entity[end]) for end in ("start", "end"))
                    self.assertEqual(line["text"], text)
                    for got, entity in zip(line["entities"], wanted):
                        if "\ufffd" in entity["word"]:  # the pipeline splits a word within a character
                            entity["word"] = got["word"]
                    self.assert_like(line["entities"], wanted, f"{name} {strategy} {text}")

    def test_labels_that_are_left_out(self):
        name = "bert-tags"
        text = self.expected[name]["texts"][0]
        both = self.lines("tag", self.models[name], "--text", text, "--aggregation", "none", "--ignore", "none")[0]["entities"]
        kept = self.lines("tag", self.models[name], "--text", text, "--aggregation", "none", "--ignore", "I-LOC", "--ignore", "MISC")[0]["entities"]
        self.assertTrue({"B-LOC", "I-LOC", "MISC"} <= {e["entity"] for e in both})
        self.assertEqual(kept, [e for e in both if e["entity"] not in ("I-LOC", "MISC")])

    def test_words_keep_their_spaces(self):
        # The pipeline builds them from tokens, which the setting does not affect.
        name, text = "deberta-v2-tags", "ada lives in new york , near the river . s ! ( she ) ?"
        spaced = self.lines("tag", self.models[name], "--text", text)
        self.assertIn("the river . s !", [entity["word"] for entity in spaced[0]["entities"]])
        self.assertEqual(self.lines("tag", self.with_settings(name, clean_up_tokenization_spaces=True), "--text", text), spaced)

    def test_errors(self):
        self.fail_with(4, "tag", self.compiled(os.path.join(GOLDENS, "tasks", "bert-masks")), "--text", "a", says="its head is 'masked_lm'")
        self.fail_with(2, "tag", self.models["bert-tags"], "--text", "a", "--aggregation", "mean", says="--aggregation")
        self.fail_with(2, "tag", self.models["bert-tags"], says="--text")
        self.assertEqual(self.lines("tag", self.models["bert-tags"], "--text", ""), [{"text": "", "entities": []}])


if __name__ == "__main__":
    unittest.main()
