# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""similarity: the similarity between texts."""
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import GOLDENS  # noqa: E402
from texts import TextsTest  # noqa: E402

TEXTS = ["the cat sat", "a big dog", "", "the cat sat"]


class Similarity(TextsTest):
    def check(self, model, compare):
        vectors = [line["embedding"] for text in TEXTS for line in self.lines("embed", model, "--text", text)]
        lines = self.lines("similarity", model, "-", input="\n".join(TEXTS) + "\n")
        self.assertEqual([line["text"] for line in lines], TEXTS)
        for line, a in zip(lines, vectors, strict=True):
            for got, b in zip(line["similarities"], vectors, strict=True):
                self.assertAlmostEqual(got, compare(a, b), delta=1e-5)
        self.assertEqual(lines, self.lines("similarity", model, *[flag for text in TEXTS for flag in ("--text", text)]))

    def test_cosines(self):
        self.check(self.models["bert"], lambda a, b: math.sumprod(a, b) if hasattr(math, "sumprod") else math.fsum(x * y for x, y in zip(a, b)))

    def test_the_function_of_the_folder(self):
        model = self.with_tokenizer("bert", "euclidean", modules=[
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}],
            config_sentence_transformers={"similarity_fn_name": "euclidean"},
            **{"1_Pooling/config": {"word_embedding_dimension": 64, "pooling_mode_mean_tokens": True}})
        self.check(model, lambda a, b: -math.dist(a, b))

    def test_errors(self):
        self.fail_with(4, "similarity", self.compiled(os.path.join(GOLDENS, "tasks", "bert-masks")), "--text", "a", says="its head is 'masked_lm'")
        self.fail_with(2, "similarity", self.models["bert"], says="--text")
        self.fail_with(5, "similarity", self.models["bert"], "-", input="a\n" * 4097, says="4096 texts at most")


if __name__ == "__main__":
    unittest.main()
