# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""classify --candidate: the same results as the zero-shot classification pipeline in transformers."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tasks import TASKS, TaskTest  # noqa: E402


class ZeroShot(TaskTest):
    task = "entailment"

    def test_candidates(self):
        for name, expected in self.expected.items():
            flags = [flag for label in expected["labels"] for flag in ("--candidate", label)]
            kinds = {"exclusive": flags, "independent": [*flags, "--multi-label"], "phrased": [*flags, "--hypothesis", expected["hypothesis"]],
                     "single": flags[:2]}
            for kind, given in kinds.items():
                lines = self.on_texts("classify", self.models[name], expected["texts"], *given)
                for line, wanted in zip(lines, expected[kind], strict=True):
                    self.assertEqual(list(line["scores"]), wanted["labels"])
                    self.assert_like(list(line["scores"].values()), wanted["scores"], f"{name} {kind}")
                    self.assertEqual((line["label"], line["score"]), (wanted["labels"][0], line["scores"][wanted["labels"][0]]))

    def test_errors(self):
        model = self.models["bert-entailment"]
        self.fail_with(2, "classify", model, "--text", "a", "--multi-label", says="--multi-label needs labels")
        self.fail_with(2, "classify", model, "--text", "a", "--hypothesis", "is {}", says="--hypothesis needs labels")
        self.fail_with(2, "classify", model, "--text", "a", "--candidate", "b", "--hypothesis", "is", says="has no {}")
        self.fail_with(2, "classify", model, "--text", "a", "--pair", "c", "--candidate", "b", says="--candidate and --pair exclude each other")
        other = self.compiled(os.path.join(TASKS, "bert-rerank"))
        self.fail_with(4, "classify", other, "--text", "a", "--candidate", "b", says="a label 'entailment'")


if __name__ == "__main__":
    unittest.main()
