# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""translate and summarize: one output line per input line, with the results from the entry 'generate'."""
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import GOLDENS, SOURCE, set_weight  # noqa: E402
from translations import LIMIT, WORDS, TranslationTest, word_tokenizer  # noqa: E402


class Translate(TranslationTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.with_words("bart")

    def test_lines_have_the_results_of_generate_in_their_order(self):
        lines = ["w1 w2 w3", "w9", "w30 w4 w4 w4 w4 w4 w17 w8", "w9", "w5 w6"]
        for flags in ((), ("--num-beams", "3")):
            got = self.translated(lines, *flags)
            self.assertEqual([line["source"] for line in got], lines)
            for line in got:
                self.assertEqual([line["ids"]], self.generated(line["source"], *flags))
        self.assertEqual(self.translated(lines, command="summarize"), self.translated(lines))

    def test_text_is_printed_without_special_tokens(self):
        (line,) = self.translated(["w1 w2 w3"])
        words = [WORDS[i] for i in line["ids"] if i > 3]
        self.assertEqual(line["text"].split(), words)
        self.assertEqual(self.succeed("translate", self.model, input="w1 w2 w3\n").stdout, line["text"] + "\n")

    def test_blank_lines_stay_blank(self):
        result = self.succeed("translate", self.model, input="\nw1\n \t\nw2\n")
        lines = result.stdout.split("\n")
        self.assertEqual([bool(line) for line in lines], [False, True, False, True, False])
        self.assertEqual(self.succeed("translate", self.model, input="").stdout, "")

    def test_several_results_a_line_with_scores(self):
        flags = ("--num-beams", "4", "--num-return-sequences", "3")
        got = self.translated(["w1 w2", "", "w7 w8 w9"], *flags)
        self.assertEqual([line["source"] for line in got], ["w1 w2"] * 3 + [""] * 3 + ["w7 w8 w9"] * 3)
        for at in (0, 6):
            self.assertEqual([line["ids"] for line in got[at:at + 3]], self.generated(got[at]["source"], *flags))
            scores = [line["score"] for line in got[at:at + 3]]
            self.assertEqual(scores, sorted(scores, reverse=True))
        text = self.succeed("translate", self.model, "--scores", *flags, input="w1 w2\n").stdout.splitlines()
        for line, (score, words) in zip(got, (line.split("\t") for line in text)):
            self.assertAlmostEqual(float(score), line["score"], places=5)
            self.assertEqual(words, line["text"])

    def test_several_samples_a_line(self):
        sampled = self.translated(["w1 w2"], "--temperature", "5", "--num-return-sequences", "3")
        self.assertEqual(len({tuple(line["ids"]) for line in sampled}), 3)
        self.assertEqual(self.translated(["w1 w2"], "--top-k", "20", "--num-return-sequences", "2")[0]["continuation"], 0)

    def test_generate_says_nothing_about_the_length_of_sources(self):
        result = self.succeed("generate", self.model, "-p", "w1 w2 w3 w4")
        self.assertEqual((result.stdout, result.stderr), (self.succeed("translate", self.model, "--text", "w1 w2 w3 w4").stdout, ""))

    def test_a_line_that_is_too_long_is_reported_and_the_others_are_done(self):
        long = " ".join(["w1"] * LIMIT)
        with open(self.path("lines"), "w") as file:
            file.write(f"w1\n{long}\nw2\n")
        result = self.tool("translate", self.model, "--file", self.path("lines"))
        self.assertEqual(result.returncode, 3)
        first, last = result.stderr.splitlines()
        self.assertIn(f"{self.path('lines')}:2: the text has {LIMIT + 1} tokens, more than the model's maximum of {LIMIT}; '--truncate' cuts it", first)
        self.assertIn("1 line has no result", last)
        self.assertEqual([bool(line) for line in result.stdout.splitlines()], [True, False, True])
        cut = self.succeed("translate", self.model, "--truncate", "--file", self.path("lines"))
        self.assertIn("1 text was cut", cut.stderr)
        self.assertEqual([bool(line) for line in cut.stdout.splitlines()], [True, True, True])

    def test_a_line_whose_logits_are_not_finite_is_reported_and_the_others_are_done(self):
        # Sources with a token at position 10 are not finite: BART's positions follow two unused rows.
        path = shutil.copytree(os.path.join(self.shared, "text-bart"), os.path.join(self.shared, "broken-bart"))
        set_weight(path, "model.encoder.embed_positions.weight", 12 * 8, float("nan"))
        broken = self.compiled(path)
        lines = [" ".join(f"w{(5 * i + k) % 30}" for k in range(1 + 7 * i % 18)) for i in range(40)]
        wrong = [i for i, line in enumerate(lines) if len(line.split()) >= 10]
        self.assertGreater(len(wrong), 4)
        with open(self.path("lines"), "w") as file:
            file.write("".join(line + "\n" for line in lines))
        for flags in ((), ("--num-beams", "3"), ("--temperature", "2", "--num-return-sequences", "2")):
            result = self.tool("translate", broken, "--json", *flags, "--progress", "json", "--file", self.path("lines"))
            self.assertEqual(result.returncode, 3)
            errors = [line for line in result.stderr.splitlines() if line.startswith("transom: error: ")]
            says = "continuation 0: " * ("--temperature" in flags) + "non-finite logit at position 0: the weights or the input give NaN or infinity"
            self.assertEqual(sorted(errors), sorted([f"transom: error: {self.path('lines')}:{i + 1}: {says}" for i in wrong] + [f"transom: error: {len(wrong)} lines have no result"]))
            self.assertEqual(json.loads(next(line for line in reversed(result.stderr.splitlines()) if line.startswith("{")))["texts"], len(lines))
            # The other lines have the same results as without the invalid lines.
            got = [json.loads(line) for line in result.stdout.splitlines()]
            results = len(got) // len(lines)
            for i, line in enumerate(lines):
                for made in got[i * results:][:results]:
                    self.assertEqual((made["source"], made["text"] == "", made.get("error")), (line, i in wrong, says if i in wrong else None))
            if "--temperature" not in flags:
                self.assertEqual([line for line in got if "error" not in line], self.translated([line for i, line in enumerate(lines) if i not in wrong], *flags))
        alone = self.tool("translate", broken, "--text", "w1", "--text", lines[wrong[0]])
        self.assertIn("text 1: non-finite logit at position 0: ", alone.stderr)

    def test_config_json_does_not_force_an_end_next_to_the_other_file(self):
        folder = os.path.join(self.shared, "lists")
        shutil.copytree(os.path.join(GOLDENS, "random-beams", "bart"), folder)
        for name, content in (("tokenizer", word_tokenizer()), ("generation_config", {"max_length": 14, "decoder_start_token_id": [3]})):
            with open(os.path.join(folder, name + ".json"), "w") as file:
                json.dump(content, file)
        with open(os.path.join(folder, "config.json")) as file:
            self.assertEqual(json.load(file)["forced_eos_token_id"], 2)
        lines = ["w1 w2 w3", "w9", "w5 w6"]
        self.assertEqual(self.translated(lines, model=self.compiled(folder)), self.translated(lines))

    def test_other_models_are_refused(self):
        self.fail_with(2, "translate", self.compiled(os.path.join(SOURCE, "examples", "tiny-llama")), input="x\n", says="is not an encoder-decoder; use 'generate'")
        self.fail_with(2, "translate", self.compiled(os.path.join(SOURCE, "examples", "tiny-bert")), input="x\n", says="is not an encoder-decoder")
        self.fail_with(4, "translate", self.compiled("gpt2"), input="x\n", says="no tokenizer")

    def test_wrong_flags(self):
        for code, flags, says in (
                (2, ("--num-beams", "0"), "'--num-beams'"),
                (2, ("--num-beams", "2", "--num-return-sequences", "3"), "num_return_sequences"),
                (2, ("--num-beams", "1", "--num-return-sequences", "3"), "'num_return_sequences' 3 is more than 'num_beams' 1"),
                (2, ("--temperature", "0", "--num-return-sequences", "2"), "'num_return_sequences' 2 is more than 'num_beams' 1"),
                (4, ("--target-lang", "en_XX"), "the tokenizer has no languages"),
                (2, ("--target-prefix", "w1", "--target-prefix-file", "x"), "'--target-prefix'"),
                (3, ("--target-prefix", "w1 w99"), "target prefix 'w1 w99': the tokenizer has no token for 'w99'"),
                (6, ("--target-prefix-file", self.path("absent")), "absent")):
            self.fail_with(code, "translate", self.model, *flags, input="w1\n", says=says)
        # An error that affects all lines is reported without a line.
        self.fail_with(3, "translate", self.model, "--target-prefix", "w99", input="", says="w99")

    def test_text_that_is_not_utf8(self):
        with open(self.path("lines"), "wb") as file:
            file.write(b"w1\nw2 \xff\nw3\n")
        result = self.tool("translate", self.model, "--file", self.path("lines"))
        self.assertEqual(result.returncode, 3)
        self.assertIn(f"{self.path('lines')}:2: text is not UTF-8 at byte 3", result.stderr)
        self.assertEqual([bool(line) for line in result.stdout.splitlines()], [True, False, True])

    def test_scores_without_beams(self):
        (line,) = self.translated(["w1 w2"], "--scores")
        generated = json.loads(self.succeed("generate", self.model, "-p", "w1 w2", "--json", "--top-logprobs", "0").stdout)
        self.assertAlmostEqual(line["score"], sum(generated["logprobs"]) / len(generated["ids"]), places=6)
        self.assertNotIn("score", self.translated(["w1 w2"])[0])

    def test_progress(self):
        with open(self.path("lines"), "w") as file:
            file.write("w1 w2\n" * 50)
        result = self.succeed("translate", self.model, "--progress", "json", "--file", self.path("lines"))
        report = json.loads(result.stderr.splitlines()[-1])
        self.assertEqual((report["texts"], report["seconds_left"]), (50, 0))
        self.assertGreater(report["texts_per_s"], 0)


if __name__ == "__main__":
    unittest.main()
