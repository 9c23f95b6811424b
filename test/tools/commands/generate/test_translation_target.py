# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The start of translations: the language token, and a given prefix."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import GOLDENS  # noqa: E402
from translations import LIMIT, WORDS, TranslationTest  # noqa: E402


class TranslationTarget(TranslationTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.with_words("bart")

    def test_target_prefixes(self):
        (line,) = self.translated(["w1 w2"], "--target-prefix", "w5 w6")
        self.assertEqual(line["text"].split()[:2], ["w5", "w6"])
        self.assertEqual(line["text"].split()[2:], [WORDS[i] for i in line["ids"] if i > 3])
        # The results continue the target generated for the source alone.
        (whole,) = self.translated(["w1 w2"])
        words = whole["text"].split()
        self.assertGreater(len(words), 2)
        (rest,) = self.translated(["w1 w2"], "--target-prefix", " ".join(words[:2]))
        self.assertEqual(rest["text"], whole["text"])
        self.assertEqual(rest["ids"], whole["ids"][2:])
        # One for each line; the source for an invalid one has no result.
        with open(self.path("prefixes"), "w") as file:
            file.write("w5 w6\n\nw99\n")
        result = self.tool("translate", self.model, "--json", "--target-prefix-file", self.path("prefixes"), input="w1 w2\nw1 w2\nw3\n")
        self.assertEqual(result.returncode, 3)
        self.assertIn("stdin:3: target prefix 'w99': the tokenizer has no token for 'w99'", result.stderr)
        got = [json.loads(text) for text in result.stdout.splitlines()]
        self.assertEqual(got[:2], [line, whole])
        self.assertEqual(got[2]["text"], "")
        self.fail_with(3, "translate", self.model, "--target-prefix-file", self.path("prefixes"), input="w1\n\n\n\n", says="there are 3 lines, fewer than")

    def test_a_prefix_over_the_context_is_of_its_line(self):
        with open(self.path("prefixes"), "w") as file:
            file.write("w5\n" + "w5 " * LIMIT + "\n")
        result = self.tool("translate", self.model, "--target-prefix-file", self.path("prefixes"), input="w1\nw2\n")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("stdin:2: ", result.stderr)
        self.assertEqual([bool(line) for line in result.stdout.splitlines()], [True, False])

    def test_a_prefix_that_is_longer_than_a_block_of_the_cache(self):
        model, prefix = self.with_words("t5"), " ".join(["w5", "w6"] * 150)
        for flags in (("-n", "3"), ("-n", "3", "--num-beams", "2")):
            (line,) = self.translated(["w1 w2"], *flags, "--target-prefix", prefix, model=model)
            self.assertTrue(line["text"].startswith(prefix))
            self.assertIn(line["finish_reason"], ("length", "end"))

    def test_prefixes_give_the_results_of_transformers(self):
        with open(os.path.join(GOLDENS, "target-prefixes.json")) as file:
            expected = json.load(file)
        count = 0
        for family, cases in expected.items():
            for number, case in enumerate(cases):
                model = self.with_words(family, name=f"{family}-{number}", **case["generation_config"])
                for run in case["runs"]:
                    count += self.check_run(model, run, (family, number, run))
        self.assertEqual(count, 144)

    def check_run(self, model, run, what):
        """Checks the source count in a run."""
        text = lambda ids: " ".join(WORDS[id] for id in ids)
        with open(self.path("prefixes"), "w") as file:
            file.write("".join(text(source["prefix"]) + "\n" for source in run["sources"]))
        flags = [f"--{key.replace('_', '-')}={str(value).lower()}" for key, value in run["flags"].items()]
        got = self.translated([text(source["source"]) for source in run["sources"]], "--target-prefix-file", self.path("prefixes"), *flags, model=model)
        self.assertEqual([line["ids"] for line in got], [ids for source in run["sources"] for ids in source["ids"]], what)
        for line, score in zip(got, [score for source in run["sources"] for score in source.get("scores", ())]):
            self.assertLess(abs(line["score"] - score), 1e-4, what)
        return len(run["sources"])

    def test_the_target_language_is_the_first_token(self):
        languages = ("en_XX", "de_DE", "fr_XX")
        en, de, fr = range(len(WORDS), len(WORDS) + 3)
        # Another start token, and one that is a language.
        forced = self.with_words("m2m-100", languages)
        start = self.with_words("mbart", languages, after=True, decoder_start_token_id=de)
        for model, source, flag in ((forced, [fr, 5, 6, 2], "--forced-bos-token-id"), (start, [5, 6, 2, fr], "--decoder-start-token-id")):
            for beams in ("1", "3"):
                flags = ("--num-beams", beams)
                got = self.translated(["w1 w2"], "--source-lang", "fr_XX", "--target-lang", "en_XX", *flags, model=model)
                self.assertEqual([got[0]["ids"]], self.generated("", flag, str(en), *flags, ids=source, model=model))
            self.assertNotIn("XX", got[0]["text"])
        self.assertEqual(self.translated(["w1"], model=start), self.translated(["w1"], "--source-lang", "en_XX", "--target-lang", "de_DE", model=start))
        # A prefix comes after the language.
        flags = ("--target-lang", "fr_XX", *self.words_only())
        (line,) = self.translated(["w1 w2"], *flags, model=forced)
        self.assertEqual(line["ids"][0], fr)
        (rest,) = self.translated(["w1 w2"], *flags, "--target-prefix", line["text"].split()[0], model=forced)
        self.assertEqual((rest["text"], rest["ids"]), (line["text"], line["ids"][2:]))
        self.fail_with(2, "translate", forced, "--target-lang", "en", input="", says="unknown language 'en'; did you mean 'en_XX'?")
        self.fail_with(2, "translate", forced, "--source-lang", "xx", input="", says="unknown language 'xx'")


if __name__ == "__main__":
    unittest.main()
