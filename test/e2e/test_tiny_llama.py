# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/tiny-llama goes on with the sentences that it was trained on, in f32 and bf16, on each instruction set."""
import importlib.util
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools", "commands"))

from base import ALL_TARGETS, SOURCE, ToolTest, goldens  # noqa: E402


def sentences():
    with open(os.path.join(SOURCE, "tools", "dev", "make-tiny-llama.py"), encoding="utf-8") as file:
        (texts,) = re.findall(r"^TEXTS = \[\n(.*?)^\]", file.read(), re.MULTILINE | re.DOTALL)
    return re.findall(r'^    "(.*)",$', texts, re.MULTILINE)


class TinyLlama(ToolTest):
    def artifact(self, *flags):
        return self.compiled(os.path.join(SOURCE, "examples", "tiny-llama"), *flags)

    def complete(self, model, text, *flags, **options):
        prompt = " ".join(text.split(" ")[:3])
        self.assertEqual(prompt + self.succeed("generate", model, "-q", "-p", prompt, *flags, **options).stdout, text + "\n")

    def test_sentences(self):
        self.assertEqual(len(sentences()), 7)
        for flags in ((), ("--dtype=bf16",)):
            for text in sentences():
                self.complete(self.artifact(*flags), text)

    def test_instruction_sets_and_threads(self):
        artifact = self.artifact(*ALL_TARGETS)
        for isa in filter(goldens.runnable, json.loads(self.succeed("inspect", artifact, "--json").stdout)["isas"]):
            for threads in ("1", "2"):
                self.complete(artifact, sentences()[5], "-t", threads, env={"TRANSOM_FORCE_ISA": isa})

    def test_its_sentences_are_likely(self):
        def logprob(text):
            found = json.loads(self.succeed("score", self.artifact(), "--text", text).stdout)
            return found["sum"] / len(found["logprobs"])
        known, other = (logprob(text) for text in (sentences()[0], "Faster the same does that one another writes and program a reads"))
        self.assertGreater(known, 0.2 * other)


if __name__ == "__main__":
    unittest.main()
