# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Encoder-decoders for the comparison: the checkpoint, and tasks by engine.

`greedy` and `beams` translate SENTENCES sources with LENGTH tokens into NEW_TOKENS tokens each, `beams` with BEAMS beams;
`first` stops after the first token, so it is the encoder's time. `mixed` is `greedy` on MIXED sources with mixed lengths.
Standard library only; rival_translator.py has the rest. All times are milliseconds for the complete task.
"""
import os

from compare import HERE, Checkpoint, output_of, prefix, succeed
from decoders import decoders_python

MODELS = ("marian",)
RIVALS = ["ctranslate2", "ctranslate2-int8", "ctranslate2-bf16"]
SENTENCES, LENGTH, NEW_TOKENS, BEAMS, MIXED = 8, 20, 32, 4, 64
# For each task: its sources file, new tokens per source, beams.
TASKS = {
    "first": ("sources", 1, 1),
    "greedy": ("sources", NEW_TOKENS, 1),
    "beams": ("sources", NEW_TOKENS, BEAMS),
    "mixed": ("mixed", NEW_TOKENS, 1),
}


def tokens_of(task):
    """Returns the new tokens that a task's time covers; None if it is not an encoder-decoder task."""
    if task not in TASKS:
        return None
    file, tokens, _ = TASKS[task]
    return tokens * (MIXED if file == "mixed" else SENTENCES)


class TranslatorModel(Checkpoint):
    """`marian`."""

    script = "rival_translator.py"

    def __init__(self, name, flags):
        self.flags = flags
        python = decoders_python(flags)
        super().__init__(name, python, [python, os.path.join(HERE, self.script)])
        succeed([self.program("transom"), "run", self.artifact("transom"), "score", "--in", os.path.join(self.folder, "inputs"), "--out",
                 os.path.join(self.folder, "results")])

    def bench(self, engine, task, threads):
        """The command that times a task."""
        file, tokens, beams = TASKS[task]
        work = ["--in", os.path.join(self.folder, file), "-n", str(tokens), "--num-beams", str(beams)]
        return [*prefix(self.flags), self.program(engine), "bench", self.artifact(engine), "-q", *work, "-t", str(threads)]

    def profile(self, engine, task, threads, env):
        """Profiles the encoder: `transom bench` has no profile for complete translations."""
        command = [*prefix(self.flags), self.program(engine), "bench", self.artifact(engine), "-q", "--entry", "encode", "-b",
                   str(SENTENCES), "-s", str(LENGTH), "-t", str(threads), "-r", "5", "--profile"]
        return output_of(command, env={**os.environ, **env})
