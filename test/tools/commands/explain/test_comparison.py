# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""explain on two compiles: options, models, and saved explanations."""
import json
import unittest

from explains import ExplainTest, read_scores, write_graph


class Comparison(ExplainTest):
    def numbers(self, told, entry):
        return {each["name"]: (each["a"], each["b"]) for each in told["numbers"] if each["entry"] == entry}

    def test_equal_compiles(self):
        told = self.explain(self.example("tiny-bert"), self.example("tiny-bert"))
        for key in ["notes", "texts", "passes", "remarks", "phases"]:
            self.assertEqual(told[key], [])
        for each in told["numbers"]:
            self.assertEqual(each["a"], each["b"])
        text = self.succeed("explain", self.example("tiny-bert"), self.example("tiny-bert")).stdout
        self.assertIn("Both compiles make the same code", text)

    def test_other_type(self):
        told = self.explain(self.example("tiny-bert"), "--other-flags", "--dtype bf16")
        self.assertIn({"name": "--dtype", "a": "", "b": "bf16"}, told["texts"])
        read, bf16 = (self.numbers(told, "encode")[name] for name in ["weights read", "of them in bf16"])
        self.assertLess(read[1], 0.6 * read[0])
        self.assertEqual(bf16[0], 0)
        self.assertGreater(bf16[1], 0)
        self.assertIn({"name": "kern-choose-precision", "a": "no change", "b": "changed"}, told["passes"])

    def test_whole_numbers(self):
        told = self.explain(self.example("tiny-bert"), "--other-flags", "--quantize int8")
        read, whole = (self.numbers(told, "encode")[name] for name in ["weights read", "of them of whole numbers"])
        self.assertLess(read[1], 0.4 * read[0])
        self.assertEqual(whole[0], 0)
        self.assertGreater(whole[1], 0.5 * self.numbers(told, "encode")["operations of a call"][1])

    def test_disabled_pass_costs_barriers(self):
        told = self.explain(self.example("tiny-bert"), "--other-flags", "--disable-pass kern-fuse-norm")
        before, after = self.numbers(told, "encode")["barriers"]
        self.assertLess(before, after)
        self.assertIn({"name": "disabled passes", "a": "", "b": "kern-fuse-norm"}, told["texts"])
        self.assertIn("kern-fuse-norm", {each["category"] for each in told["remarks"] if each["in"] == "a"})

    def test_a_batch_shows_what_leaving_padding_out_saves(self):
        told = self.explain(self.example("tiny-bert"), "--other-flags", "--disable-pass attn-remove-padding")
        numbers = self.numbers(told, "encode")
        # Sequences with 64 and 16 tokens are 128 rows with padding, and 80 without.
        without, padded = numbers["operations of 2 sequences of 64 and 16 tokens"]
        alone, _ = numbers["operations of a call"]
        self.assertLess(without, 0.625 * padded)
        self.assertLess(abs(padded - 2 * alone), 0.01 * padded)
        for name in ["weights and buffers moved by 2 sequences of 64 and 16 tokens", "memory of 2 sequences of 64 and 16 tokens"]:
            self.assertLess(*numbers[name])

    def test_steps_have_no_padding(self):
        told = self.explain(self.example("tiny-llama"))
        self.assertEqual([entry["padded"] for entry in told["entries"]], [None])

    def test_an_explanation_of_another_format(self):
        saved = self.path("old.json")
        old = self.explain(self.example("tiny-bert"))
        old["format"], old["new"] = 1, 7
        del old["code"]
        for entry in old["entries"]:
            del entry["padded"], entry["barriers"]
        with open(saved, "w", encoding="utf-8") as file:
            json.dump(old, file)
        told = self.explain(saved, self.example("tiny-bert"), "--other-flags", "--dtype bf16")
        self.assertEqual(told["notes"], ["A: this explanation has format 1, and this transom knows format 3: what both know is shown; "
                                         "it does not have code, entries.barriers, entries.padded; not known here: new"])
        numbers = self.numbers(told, "encode")
        # A number that one explanation lacks is shown for neither.
        self.assertEqual(numbers["barriers"], (0, 0))
        self.assertNotIn("memory of 2 sequences of 64 and 16 tokens", numbers)
        self.assertLess(*reversed(numbers["weights read"]))
        for arguments in ([saved], [saved, self.example("tiny-bert")], [saved, "-v"]):
            self.assertIn("this explanation has format 1", " ".join(self.succeed("explain", *arguments).stdout.split()))
        page = self.path("page.html")
        self.succeed("explain", saved, self.example("tiny-bert"), "--html", page)

    def test_passes_that_the_environment_disables(self):
        done = self.tool("explain", self.example("tiny-bert"), "--json", "--other-flags", "--disable-pass none",
                         env={"TRANSOM_DISABLE_PASS": "kern-fuse-norm"})
        self.assertIn({"name": "disabled passes", "a": "kern-fuse-norm", "b": ""}, json.loads(done.stdout)["texts"])

    def test_other_model(self):
        told = self.explain(self.example("decomposed-attention"), write_graph(self.folder, read_scores))
        (missed,) = [each for each in told["remarks"] if each["kind"] == "missed" and each["category"] == "attn-fuse-attention"]
        self.assertEqual(missed["in"], "b")

    def test_saved_explanations(self):
        saved = self.path("saved.json")
        with open(saved, "w", encoding="utf-8") as file:
            file.write(self.succeed("explain", self.example("tiny-bert"), "--json").stdout)
        self.assertEqual(self.explain(saved, self.example("tiny-bert")), self.explain(self.example("tiny-bert"), self.example("tiny-bert")))
        self.assertEqual(self.succeed("explain", saved).stdout, self.succeed("explain", self.example("tiny-bert")).stdout)

    def test_wrong_flags(self):
        self.fail_with(2, "explain", self.example("tiny-bert"), "--other-flags", "--dtipe bf16", says="'--other-flags'")
        self.fail_with(2, "explain", self.example("tiny-bert"), "--other-flags", "--dtype f64", says="'--other-flags'")

    def test_text(self):
        text = self.succeed("explain", self.example("tiny-bert"), "--other-flags", "--dtype bf16").stdout
        for line in ["What was compared", "--dtype", "What it costs", "kern-choose-precision", "Phases that differ"]:
            self.assertIn(line, text)


if __name__ == "__main__":
    unittest.main()
