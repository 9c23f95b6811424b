# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compile --shortlist: translations equal the complete head's translations with unselected logits set to -inf."""
import json
import unittest

from base import SOURCE
from translations import VOCABULARY, WORDS, TranslationTest

FIRST, BEST, END = 5, 3, 2
# For the word w{i} three targets count, and the fourth does not.
PAIRS = [(f"w{(7 * i + 5 * k) % 36}", f"w{i}", 0.4 / (k + 1)) for i in range(36) for k in range(4)]
TEXTS = ["w1 w2 w3", "w9", "w30 w4 w4 w17 w8", "w35 w0"]


def listed(text):
    """Returns the ids that a translation can have, by the documented rules."""
    words = text.split()
    best = [WORDS.index(target) for i, (target, source, _) in enumerate(PAIRS) if source in words and i % 4 < BEST]
    return {*range(FIRST), *best, *map(WORDS.index, words), END}


def without_others(text):
    return [flag for token in range(VOCABULARY) if token not in listed(text) for flag in ("--logit-bias", f"{token}:-inf")]


class Shortlist(TranslationTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = cls.with_words("marian", name="whole")
        cls.lex = cls.shared + "/lex.s2t"
        with open(cls.lex, "w", encoding="utf-8") as file:
            file.writelines(f"{target} {source} {probability}\n" for target, source, probability in PAIRS)
        cls.translator = cls.shared + "/whole"
        cls.model = cls.compiled(cls.translator, "--shortlist", cls.lex, "--shortlist-first", str(FIRST), "--shortlist-best", str(BEST))

    def test_greedy_and_beams_are_those_of_the_restricted_head(self):
        for flags in ((), ("--num-beams", "3", "--num-return-sequences", "3")):
            # With beams, scores use the probabilities among the selected tokens.
            expected = [line for text in TEXTS for line in self.translated([text], *flags, "--renormalize-logits", "true",
                                                                          *without_others(text), model=self.whole)]
            found = self.translated(TEXTS, *flags)
            self.assertEqual([line["ids"] for line in found], [line["ids"] for line in expected])
            for one, two in zip(found, expected):
                self.assertTrue(set(one["ids"]) <= listed(one["source"]))
                self.assertAlmostEqual(one.get("score", 0), two.get("score", 0), places=5)
        self.assertNotEqual([line["ids"] for line in self.translated(TEXTS)],
                            [line["ids"] for line in self.translated(TEXTS, model=self.whole)])

    def test_a_list_is_that_of_one_text(self):
        together = self.translated(TEXTS, "--num-beams", "2")
        self.assertEqual(together, [line for text in TEXTS for line in self.translated([text], "--num-beams", "2")])
        self.assertEqual(together, self.translated(TEXTS, "--num-beams", "2", "-t", "1"))

    def test_all_tokens_can_come_on_demand(self):
        for flags in ((), ("--num-beams", "3")):
            self.assertEqual(self.translated(TEXTS, "--use-shortlist", "false", *flags), self.translated(TEXTS, *flags, model=self.whole))

    def test_the_entry_generate_has_the_list(self):
        for text in TEXTS:
            self.assertEqual(self.generated(text)[0], self.translated([text])[0]["ids"])

    def test_log_probabilities_are_of_the_listed_tokens(self):
        ids = ",".join(str(WORDS.index(word)) for word in TEXTS[0].split()) + f",{END}"
        (line,) = self.succeed("generate", self.model, "--ids", ids, "--json", "--top-logprobs", str(VOCABULARY), "-n", "1").stdout.splitlines()
        top = json.loads(line)["top_logprobs"][0]
        self.assertEqual({one["id"] for one in top}, listed(TEXTS[0]))
        self.assertAlmostEqual(sum(2.718281828459045 ** one["logprob"] for one in top), 1, places=6)

    def test_the_option_is_in_the_artifact(self):
        options = json.loads(self.succeed("inspect", self.model, "--json").stdout)["options"]
        self.assertEqual((options["shortlist"], options["shortlist-first"], options["shortlist-best"]), ("lex.s2t", str(FIRST), str(BEST)))

    def get_step(self, model):
        return next(entry for entry in json.loads(self.succeed("inspect", model, "--json").stdout)["entries"] if entry["name"] == "step")

    def test_steps_give_the_logits_of_listed_tokens(self):
        step, whole = self.get_step(self.model), self.get_step(self.whole)
        self.assertEqual([(one["name"], one["shape"]) for one in step["inputs"]][2:], [("columns", ["listed"])])
        self.assertEqual([(one["name"], one["shape"]) for one in step["outputs"]][:2], [("logits", ["wanted", VOCABULARY]), ("listed_logits", ["wanted", "listed"])])
        # Column panels are not in the arena.
        self.assertEqual(step["arena_bytes"], whole["arena_bytes"])
        self.assertEqual((step["kept_bytes"], whole.get("kept_bytes")), (2 * (12 * 128 + 128 + 256), None))
        self.assertIn("kept bytes   3.8 KiB from call to call", self.succeed("inspect", self.model).stdout)

    def test_code_is_verified_without_the_file(self):
        self.succeed("verify", self.model, "--model", self.translator, "-s", "4")

    def test_passes_are_verified_with_listed_tokens(self):
        report = self.succeed("verify", self.translator, "--shortlist", self.lex).stdout
        self.assertIn("step: tokens [6], wanted [6], columns [6]", report)
        self.assertIn("no difference found", report)

    def test_formats_of_the_head(self):
        """Machine code for all columns and for selected columns follows one bit definition, so both have the same bits."""
        for flags in (("--dtype", "bf16"), ("--quantize", "int8", "--group-size", "32"), ("--quantize", "int4"),
                      ("--quantize", "int8", "--group-size", "32", "--activations", "f32"), ("--attention",)):
            with self.subTest(flags=flags):
                model = self.compiled(self.translator, "--shortlist", self.lex, "--shortlist-first", str(FIRST), "--shortlist-best", str(BEST), *flags)
                self.succeed("verify", model, "--model", self.translator, "-s", "4")
                whole = self.compiled(self.translator, *flags)
                for more in ((), ("--num-beams", "3")):
                    expected = [line for text in TEXTS for line in self.translated([text], *more, "--renormalize-logits", "true",
                                                                                  *without_others(text), model=whole)]
                    self.assertEqual([line["ids"] for line in self.translated(TEXTS, *more, model=model)], [line["ids"] for line in expected])
                    self.assertEqual(self.translated(TEXTS, "--use-shortlist", "false", *more, model=model), self.translated(TEXTS, *more, model=whole))

    def test_bench_counts_listed_columns(self):
        def work(model):
            (row,) = json.loads(self.succeed("bench", model, "-b", "1", "-s", "3", "-n", "9", "-r", "1", "--format", "json").stdout)
            return row["gflops"] * row["ms_min"] * 1e6
        # In each of 9 steps a row omits columns with 2 * 12 operations. The values are rounded.
        left_out = (work(self.whole) - work(self.model)) / (9 * 2 * 12)
        self.assertGreater(left_out, VOCABULARY - FIRST - 3 * (BEST + 1) - 3)
        self.assertLess(left_out, VOCABULARY - FIRST + 3)

    def test_a_backend_without_listed_tokens(self):
        flags = ("--shortlist", self.lex, "--shortlist-first", str(FIRST), "--shortlist-best", str(BEST), "--backend", "onednn")
        self.assertEqual(len(self.get_step(self.compiled(self.translator, *flags))["inputs"]), 2)
        notes = self.succeed("compile", self.translator, *flags, "-o", self.path("x.so")).stderr
        self.assertIn("note: translations multiply the whole output head: only '--backend native' multiplies listed columns", notes)

    def test_what_is_refused(self):
        out = ("-o", self.path("x.so"))
        bad = self.path("bad.s2t")
        with open(bad, "w", encoding="utf-8") as file:
            file.write("w1 w2 0.5\nw1 w2\n")
        self.fail_with(3, "compile", self.translator, *out, "--shortlist", bad, says="bad.s2t:2: expected 'target source probability', got 'w1 w2'")
        self.fail_with(6, "compile", self.translator, *out, "--shortlist", self.path("missing"), says="missing")
        self.fail_with(4, "compile", SOURCE + "/examples/tiny-llama", *out, "--shortlist", self.lex, says="encoder-decoders that generate")
        self.fail_with(2, "compile", self.translator, *out, "--shortlist-best", "5", says="'--shortlist-first' and '--shortlist-best' need '--shortlist'")
        self.fail_with(2, "compile", self.translator, *out, "--shortlist", self.lex, "--shortlist-best", "0", says="--shortlist-best")


if __name__ == "__main__":
    unittest.main()
