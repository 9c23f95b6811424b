# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""explain for a compile that fails after the import: the explanation up to the failure, its remark, and the error."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["TRANSOM_SOURCE_DIR"], "test", "tools", "commands", "explain"))
from explains import ExplainTest


class ExplainFailure(ExplainTest):
    def run_failing(self, status, *arguments):
        """Returns explain's output, and the error."""
        run = self.tool("explain", *arguments)
        self.assertEqual(run.returncode, status, run.stderr)
        return run.stdout, run.stderr.strip()

    def test_a_pass_that_fails(self):
        flags = [self.example("tiny-bert"), "--load-pass-plugin", os.environ["TRANSOM_FAILING_PASS"]]
        text, error = self.run_failing(3, *flags, "--json")
        told = json.loads(text)
        # The completed passes, then the failed pass, and no later one.
        flags_of_passes = [each["pass"] for each in told["passes"]]
        self.assertEqual(flags_of_passes[-1], "extension-attn-fused")
        self.assertIn("attn-fuse-attention", flags_of_passes)
        self.assertNotIn("kern-plan-memory", flags_of_passes)
        self.assertEqual((told["entries"], told["weights"], told["kernels"]), ([], [], []))
        (remark,) = [each for each in told["remarks"] if each["kind"] == "failure"]
        self.assertEqual((remark["category"], remark["name"]), ("extension-attn-fused", "pass-failed"))
        self.assertEqual(remark["place"], {"location": "encoder.layer.1.attention.self", "file": "config.json", "pointer": "/num_attention_heads"})
        self.assertIn("attention is refused", remark["message"])
        self.assertEqual(told["passes"][-1]["remarks"], [told["remarks"].index(remark)])
        self.assertEqual({key: told["failure"][key] for key in ("pass", "isa", "status")},
                         {"pass": "extension-attn-fused", "isa": "", "status": 3})
        self.assertIn(told["failure"]["message"], error)

        text, again = self.run_failing(3, *flags)
        self.assertEqual(again.split("; reproducer")[0], error.split("; reproducer")[0])
        words = " ".join(text.split())
        self.assertIn("Where the compile stops", words)
        self.assertIn("attention is refused (config.json /num_attention_heads)", words)
        self.assertNotIn("reproducer", words)
        self.assertIn("fused 5 operations into attn.sdpa", words)
        self.assertRegex(text, r"extension-attn-fused +\d+ +failed, see above")

        # A saved explanation fails in the same way; it has no page and no comparison.
        saved = self.path("saved.json")
        with open(saved, "w", encoding="utf-8") as file:
            json.dump(told, file)
        self.assertEqual(self.run_failing(3, saved)[0], self.run_failing(3, saved)[0])
        self.fail_with(3, "explain", saved, "--html", self.path("page.html"), says="attention is refused")
        self.assertFalse(os.path.exists(self.path("page.html")))
        self.fail_with(3, "explain", self.example("tiny-bert"), saved, says="attention is refused")

    def test_an_error_of_no_pass(self):
        text, error = self.run_failing(4, self.example("pre-norm"), "--attention", "--json")
        told = json.loads(text)
        self.assertEqual((told["failure"]["pass"], told["failure"]["status"]), ("", 4))
        self.assertIn(told["failure"]["message"], error)
        self.assertIn("attn-add-attention-entry", {each["category"] for each in told["remarks"] if each["kind"] == "missed"})

    def test_no_story_without_a_model(self):
        text, _ = self.run_failing(6, self.path("absent"), "--json")
        self.assertEqual(text, "")


if __name__ == "__main__":
    unittest.main()
