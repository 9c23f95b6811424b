# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""embed: one JSON line with the embedding of each text."""
import json
import math
import unittest

from texts import TextsTest


class Embed(TextsTest):
    def test_embeddings_are_the_same_alone_and_together(self):
        texts = ["the cat sat on a mat", "", "a big dog", "cat " * 30]
        alone = [self.lines("embed", self.models["bert"], "--text", text)[0] for text in texts]
        for threads in ("1", "2"):
            together = self.lines("embed", self.models["bert"], "-", "-t", threads, input="\n".join(texts))
            self.assertEqual([line["embedding"] for line in together], [line["embedding"] for line in alone])
        for line in alone:
            self.assertAlmostEqual(math.hypot(*line["embedding"]), 1, places=5)

    def test_pooling_and_length(self):
        flags = {name: self.lines("embed", self.models["bert"], "--text", "the cat sat", *values)[0]["embedding"] for name, values in {"mean": [], "cls": ["--pooling", "cls"], "raw": ["--no-normalize"]}.items()}
        self.assertNotEqual(flags["mean"], flags["cls"])
        length = math.hypot(*flags["raw"])
        for raw, mean in zip(flags["raw"], flags["mean"]):
            self.assertAlmostEqual(raw / length, mean, places=5)

    def test_folder_says_how_to_embed(self):
        modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}, {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
        model = self.with_tokenizer("bert", "st", modules=modules, sentence_bert_config={"max_seq_length": 4, "do_lower_case": False})
        result = self.succeed("embed", model, "--text", "the cat sat on a mat", "--text", "cat")
        self.assertIn("1 text was cut to the model's 4 tokens", result.stderr)
        described = self.succeed("inspect", model).stdout
        for line in ("text limit         4 tokens", "pooling            mean", "normalization      no"):
            self.assertIn(line, described)
        self.assertEqual(json.loads(self.succeed("inspect", model, "--json").stdout)["text"], {"max_tokens": 4, "pooling": "mean", "normalize": False})
        raw = self.lines("embed", model, "--text", "cat", "--no-normalize")
        self.assertEqual(raw, self.lines("embed", model, "--text", "cat"))
        self.assertEqual(self.succeed("embed", model, "-q", "--text", "the cat sat on a mat").stderr, "")


if __name__ == "__main__":
    unittest.main()
