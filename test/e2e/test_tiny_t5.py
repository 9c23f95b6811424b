# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/tiny-t5 translates the sentences that it was trained on: greedily and with beams, alone and together, in f32 and bf16,
on each instruction set."""
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools", "commands"))

from base import ALL_TARGETS, SOURCE, ToolTest, goldens  # noqa: E402

TASK = "translate English to German: "


def pairs():
    with open(os.path.join(SOURCE, "tools", "dev", "make-tiny-t5.py"), encoding="utf-8") as file:
        (texts,) = re.findall(r"^TEXTS = \[\n(.*?)^\]", file.read(), re.MULTILINE | re.DOTALL)
    return re.findall(r'^    \("(.*)", "(.*)"\),$', texts, re.MULTILINE)


class TinyT5(ToolTest):
    def artifact(self, *flags):
        return self.compiled(os.path.join(SOURCE, "examples", "tiny-t5"), *flags)

    def translate(self, model, sources, *flags, **options):
        """The objects that the tool prints for all sources in one call."""
        prompts = [flag for source in sources for flag in ("-p", TASK + source)]
        lines = self.succeed("generate", model, "-q", "--json", *prompts, *flags, **options).stdout.splitlines()
        return [json.loads(line) for line in lines]

    def test_sentences(self):
        self.assertEqual(len(pairs()), 10)
        sources, targets = zip(*pairs())
        for flags in ((), ("--dtype=bf16",)):
            for beams in ("1", "4"):
                found = self.translate(self.artifact(*flags), sources, "--num-beams", beams)
                self.assertEqual([row["text"] for row in found], list(targets), (flags, beams))

    def test_same_results_alone_and_together(self):
        sources = [source for source, _ in pairs()]
        flags = ("--num-beams", "4", "--num-return-sequences", "3")
        together = self.translate(self.artifact(), sources, *flags)
        for index, source in enumerate(sources):
            for row, alone in zip(together[3 * index:3 * index + 3], self.translate(self.artifact(), [source], *flags)):
                self.assertEqual((row["text"], row["score"]), (alone["text"], alone["score"]))

    def test_instruction_sets_and_threads(self):
        artifact = self.artifact(*ALL_TARGETS)
        (source, target) = pairs()[3]
        for isa in filter(goldens.runnable, json.loads(self.succeed("inspect", artifact, "--json").stdout)["isas"]):
            for threads in ("1", "2"):
                (row,) = self.translate(artifact, [source], "-t", threads, env={"TRANSOM_FORCE_ISA": isa})
                self.assertEqual(row["text"], target)


if __name__ == "__main__":
    unittest.main()
