# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""answer: the same spans as the question answering pipeline in transformers 4."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tasks import TASKS, TaskTest, count_bytes  # noqa: E402

FLAGS = {"top_k": "--top-k", "max_answer_len": "--max-answer-tokens", "max_seq_len": "--window", "doc_stride": "--overlap",
         "handle_impossible_answer": "--may-be-impossible", "align_to_words": "--cut-words"}


class Answer(TaskTest):
    task = "answers"

    def test_answers(self):
        for name, expected in self.expected.items():
            for kind, options in expected["options"].items():
                flags = [part for key, value in options.items() for part in ([FLAGS[key]] if isinstance(value, bool) else [FLAGS[key], str(value)])]
                together = self.lines("answer", self.models[name], "-", *flags, input="".join(f"{q}\t{c}\n" for q, c in expected["questions"]))
                for line, (question, context), wanted in zip(together, expected["questions"], expected["answers"][kind], strict=True):
                    (alone,) = self.lines("answer", self.models[name], "--question", question, "--text", context, *flags)
                    self.assertEqual(alone, line)
                    # The pipeline adds spans with probability 0 where a text has few.
                    wanted = [dict(a, start=count_bytes(context, a["start"]), end=count_bytes(context, a["end"])) for a in wanted if a["score"] > 0]
                    self.assert_like(line["answers"], wanted, f"{name} {kind} {question}")

    def test_errors(self):
        model = self.models["bert-answers"]
        self.fail_with(2, "answer", model, "--text", "a", says="--text needs a --question")
        self.fail_with(3, "answer", model, "-", input="a\tb\nno tab\n", says="stdin:2: expected a question, a tab")
        self.fail_with(3, "answer", model, "-", input=" \tb\n", says="stdin:1: the question is empty")
        self.fail_with(2, "answer", model, "--question", "a", "--text", "b", "--window", "65", says="maximum of 64")
        self.fail_with(2, "answer", model, "--question", "a", "--text", "b", "--window", "8", "--overlap", "8", says="cannot share 8")
        self.fail_with(5, "answer", model, "--question", "in " * 70, "--text", "b", says="leave no room in windows of 64 tokens")
        other = self.compiled(os.path.join(TASKS, "bert-tags"))
        self.fail_with(4, "answer", other, "--question", "a", "--text", "b", says="its head is 'token_classification'")


if __name__ == "__main__":
    unittest.main()
