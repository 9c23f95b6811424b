# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transom score --target: log-probabilities for given targets, as in the entry 'score'."""
import json
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import goldens, write_tensors  # noqa: E402
from translations import LIMIT, WORDS, TranslationTest  # noqa: E402


class ScoreTargets(TranslationTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.with_words("bart")

    def write(self, name, lines):
        with open(self.path(name), "w") as file:
            file.write("".join(line + "\n" for line in lines))
        return self.path(name)

    def scored(self, sources, targets, *flags, model=None):
        result = self.succeed("score", model or self.model, "-", "--target", self.write("targets", targets), *flags, input="".join(line + "\n" for line in sources))
        return [json.loads(line) for line in result.stdout.splitlines()]

    def logprobs(self, ids, labels, model=None):
        """Returns one target's log-probabilities from the entry 'score'."""
        write_tensors(self.path("in"), {"input_ids": ("I64", [1, len(ids)], ids), "labels": ("I64", [1, len(labels)], labels)})
        self.succeed("run", model or self.model, "score", "--in", self.path("in"), "--out", self.path("out"))
        return goldens.rows_of(goldens.read_tensors(self.path("out"))["logprobs"])[0]

    def test_pairs_of_many_lengths(self):
        words = lambda count, first: " ".join(f"w{(first + 7 * k) % 36}" for k in range(count))
        sources = [words(1 + 5 * i % 17, i) for i in range(70)]
        targets = [words(1 + 11 * i % 13, 2 * i) for i in range(70)]
        got = self.scored(sources, targets)
        self.assertEqual([(line["source"], line["target"]) for line in got], list(zip(sources, targets)))
        for line in got[:70:9]:
            ids, labels = ([WORDS.index(word) for word in line[key].split()] + [2] for key in ("source", "target"))
            self.assertEqual(line["ids"], labels)
            self.assertEqual(line["logprobs"], self.logprobs(ids, labels))
        for line in got:
            self.assertEqual(line["tokens"], len(line["ids"]))
            self.assertAlmostEqual(line["sum"], sum(line["logprobs"]), delta=1e-9)
            self.assertAlmostEqual(line["perplexity"], math.exp(-line["sum"] / line["tokens"]), delta=1e-6 * line["perplexity"])

    def test_a_translation_has_its_score(self):
        lines = ["w1 w2 w3", "w9", "w30 w4 w17 w8"]
        result = self.succeed("translate", self.model, "--json", "--scores", *self.words_only(), "--min-new-tokens", "3", "--logit-bias", "2:1000", input="".join(line + "\n" for line in lines))
        for line in map(json.loads, result.stdout.splitlines()):
            self.assertEqual(line["finish_reason"], "end")
            (scored,) = self.scored([line["source"]], [line["text"]])
            self.assertEqual(scored["ids"], line["ids"])
            self.assertAlmostEqual(scored["sum"] / scored["tokens"], line["score"], delta=1e-5)

    def test_languages(self):
        languages = ("en_XX", "de_DE")
        en, de = len(WORDS), len(WORDS) + 1
        model = self.with_words("m2m-100", languages)
        (line,) = self.scored(["w1 w2"], ["w3"], "--source-lang", "de_DE", "--target-lang", "en_XX", model=model)
        self.assertEqual(line["ids"], [en, 7, 2])
        self.assertEqual(line["logprobs"], self.logprobs([de, 5, 6, 2], [en, 7, 2], model))
        self.fail_with(2, "score", model, "--text", "w1", "--target", self.path("targets"), "--target-lang", "xx_XX", says="unknown language 'xx_XX'")

    def test_no_tokens(self):
        # Without special tokens an empty target has no log-probabilities, and an empty source is an error.
        got = self.scored(["w1", "w2"], ["", "w3"], "--no-special")
        self.assertEqual([(line["tokens"], line["sum"]) for line in got[:1]], [(0, 0)])
        self.assertIsNone(got[0]["perplexity"])
        self.assertEqual(got[1]["logprobs"], self.logprobs([6], [7]))
        self.assertEqual(self.scored(["w1"], [""], "--no-special")[0]["logprobs"], [])
        self.fail_with(3, "score", self.model, "--no-special", "-", "--target", self.write("targets", ["w1", "w2"]), input="w1\n\n", says="stdin:2: the text has no tokens")

    def test_wrong_input(self):
        one = self.write("one", ["w1"])
        two = self.write("two", ["w1", "w2"])
        for code, flags, says in (
                (3, ("--file", two, "--target", one), "one: there is 1 line, fewer than those of the input"),
                (3, ("--file", one, "--target", two), "two: there are more than 1 line"),
                (2, ("--file", one), "'--target'"),
                (2, ("-", "--target", "-"), "both be stdin"),
                (2, ("--target", one), "no text given"),
                (2, ("--ids", "1", "--target", one), "'--target'"),
                (2, ("--file", one, "--target", one, "--top-logprobs", "2"), "exclude each other"),
                (6, ("--file", one, "--target", self.path("absent")), "absent")):
            self.fail_with(code, "score", self.model, *flags, says=says, input="")
        self.fail_with(2, "score", self.compiled("gpt2"), "--text", "x", "--target", one, says="'--target' needs an encoder-decoder")

    def test_lines_over_the_maximum(self):
        for name, lines in (("source", ["w1", "w1 " * LIMIT]), ("target", ["w1", "w2"])):
            self.write(name, lines)
        self.fail_with(5, "score", self.model, "--file", self.path("source"), "--target", self.path("target"), says=f"{self.path('source')}:2: ")


if __name__ == "__main__":
    unittest.main()
