# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transom score: log-probabilities for texts, perplexity for files."""
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from decoders import DecoderTest, golden, golden_ids, tokenizer  # noqa: E402


class Score(DecoderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ids = cls.compiled("gpt2")
        cls.text = cls.variant("gpt2", "text", tokenizer=tokenizer())

    def one(self, *arguments, **options):
        (line,) = self.lines("score", *arguments, **options)
        return line

    def logprobs(self, ids):
        return self.one(self.ids, "--ids", ",".join(map(str, ids)))["logprobs"]

    def test_golden(self):
        ids, expected = golden_ids("gpt2", "score.0"), golden("gpt2", "score.0")
        line = self.one(self.ids, "--ids", ",".join(map(str, ids)))
        self.assertEqual(line["ids"], ids)
        self.assertEqual(len(line["logprobs"]), len(expected))
        for got, wanted in zip(line["logprobs"], expected):
            self.assertAlmostEqual(got, wanted, delta=2e-4)
        self.assertAlmostEqual(line["sum"], sum(line["logprobs"]), delta=1e-9)
        self.assertAlmostEqual(line["perplexity"], math.exp(-line["sum"] / len(expected)), delta=1e-6)

    def test_threads_and_the_end_do_not_matter(self):
        ids = golden_ids("gpt2", "score.0")
        whole = self.logprobs(ids)
        self.assertEqual(self.logprobs(ids[:9]), whole[:8])
        self.assertEqual(self.one(self.ids, "--ids", ",".join(map(str, ids)), "-t", "3")["logprobs"], whole)

    def test_texts(self):
        (tokens,) = self.lines("tokenize", self.text, "--text", "the end")
        line = self.one(self.text, "--text", "the end")
        self.assertEqual((line["text"], line["ids"]), ("the end", tokens["ids"]))
        self.assertEqual(line["logprobs"], self.logprobs(tokens["ids"]))
        several = self.lines("score", self.text, "-", input="the end\nof\nall of it\n")
        self.assertEqual([one["text"] for one in several], ["the end", "of", "all of it"])
        self.assertEqual(several[0], line)

    def test_most_probable_tokens(self):
        line = self.one(self.text, "--text", "the end", "--top-logprobs", "211")
        for token, logprob, top in zip(line["ids"][1:], line["logprobs"], line["top_logprobs"]):
            self.assertEqual(len(top), 211)
            self.assertAlmostEqual(sum(math.exp(one["logprob"]) for one in top), 1, delta=1e-9)
            self.assertIn((token, logprob), [(one["id"], one["logprob"]) for one in top])
        self.assertEqual([one["token"] for one in line["top_logprobs"][0] if one["id"] == line["ids"][0]], ["the"])

    def test_one_token(self):
        line = self.one(self.ids, "--ids", "5")
        self.assertEqual((line["logprobs"], line["sum"], line["perplexity"]), ([], 0, None))

    def test_perplexity_of_a_file(self):
        text = " ".join(f"line {i} of the file" for i in range(40))
        path = self.path("text.txt")
        with open(path, "w") as file:
            file.write(text)
        ids = self.one(self.text, "--text", text[:100])["ids"]
        (tokens,) = self.lines("tokenize", self.text, "--text", text, "--no-truncation")
        ids = tokens["ids"]
        self.assertGreater(len(ids), 320)
        line = self.one(self.text, "--perplexity", path, "--stride", "50", "--window", "120")
        expected, scored = [], 1
        for begin in range(0, len(ids), 50):
            end = min(begin + 120, len(ids))
            expected += self.logprobs(ids[begin:end])[max(0, scored - begin - 1) :]
            scored = end
            if end == len(ids):
                break
        self.assertEqual((line["tokens"], line["scored"]), (len(ids), len(ids) - 1))
        self.assertEqual(len(expected), len(ids) - 1)
        self.assertAlmostEqual(line["sum"], sum(expected), delta=1e-8)
        self.assertAlmostEqual(line["perplexity"], math.exp(-sum(expected) / len(expected)), delta=1e-6)
        default = self.one(self.text, "--perplexity", path)
        self.assertEqual((default["window"], default["stride"]), (160, 80))

    def test_what_is_refused(self):
        self.fail_with(5, "score", self.ids, "--ids", ",".join(["5"] * 161), says="161 tokens, more than the model's context of 160")
        self.fail_with(3, "score", self.ids, "--ids", "", says="no tokens to score")
        self.fail_with(3, "score", self.ids, "--ids", "5,300", says="id 300 at position 1")
        self.fail_with(3, "score", self.ids, "--ids", "5,6", "--ids", "5,300", says="text 1: id 300 at position 1")
        self.fail_with(5, "score", self.ids, "--ids", "5", "--ids", ",".join(["5"] * 161), says="text 1 has 161 tokens, more than")
        bad = self.path("bad.txt")
        with open(bad, "wb") as file:
            file.write(b"the\n\xff\n")
        for command in ("score", "tokenize"):
            result = self.tool(command, self.text, "--file", bad)
            self.assertEqual((result.returncode, result.stdout.count("\n")), (3, 1))
            self.assertEqual(result.stderr, f"transom: error: {bad}:2: text is not UTF-8 at byte 0\n")
        self.fail_with(2, "score", self.text, "--perplexity", __file__, "--window", "1", says="expected a whole number, 2 to 1073741824, got '1'")
        self.fail_with(4, "score", self.ids, "--text", "a", says="no tokenizer")
        self.fail_with(4, "score", self.compiled("bert"), "--ids", "5")
        self.fail_with(2, "score", self.ids, says="no text given")
        self.fail_with(2, "score", self.ids, "--ids", "5", "--stride", "4", says="need '--perplexity'")
        self.fail_with(2, "score", self.ids, "--ids", "5", "--text", "a", says="exclude each other")
        self.fail_with(5, "score", self.text, "--perplexity", __file__, "--window", "161", says="a window of 161 tokens")
        self.fail_with(6, "score", self.text, "--perplexity", self.path("none"))


if __name__ == "__main__":
    unittest.main()
