# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""explain of two compiles: options, models, and explanations that were saved."""
import json
import unittest

from explains import ExplainTest, read_scores, write_graph


class Comparison(ExplainTest):
    def numbers(self, told, entry):
        return {each["name"]: (each["a"], each["b"]) for each in told["numbers"] if each["entry"] == entry}

    def test_equal_compiles(self):
        told = self.explain(self.example("tiny-bert"), self.example("tiny-bert"))
        for key in ["texts", "passes", "remarks", "phases"]:
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

    def test_disabled_pass_costs_barriers(self):
        told = self.explain(self.example("tiny-bert"), "--other-flags", "--disable-pass kern-fuse-norm")
        before, after = self.numbers(told, "encode")["barriers"]
        self.assertLess(before, after)
        self.assertIn({"name": "disabled passes", "a": "", "b": "kern-fuse-norm"}, told["texts"])
        self.assertIn("kern-fuse-norm", {each["category"] for each in told["remarks"] if each["in"] == "a"})

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
