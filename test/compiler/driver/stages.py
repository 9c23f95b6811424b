# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of the stage tests: a model compiled with a stage folder, and compiles resumed from it."""
import os

from compiles import BERT, SOURCE, ToolTest

EXAMPLES = os.path.join(SOURCE, "examples")
STAGES = ("attn", "attn-opt", "kern", "llvm-ir", "obj")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, text):
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


class StagesTest(ToolTest):
    def dump(self, model, *flags):
        """Compiles to m.so with a stage folder; returns the folder's path."""
        self.succeed("compile", model, "-q", "-o", self.path("m.so"), "--stages", self.path("stages"), *flags)
        return self.path("stages")

    def resume(self, model, place, *flags):
        """Returns the artifact bytes from a compile resumed from a stage."""
        self.succeed("compile", model, "-q", "-o", self.path("resumed.so"), "--resume-from", place, *flags)
        return read(self.path("resumed.so"))

    def check_all_stages(self, model, *flags, stages=STAGES):
        """Each stage returns the bytes of the direct compile, which do not depend on the stage folder."""
        folder = self.dump(model, *flags)
        straight = read(self.path("m.so"))
        for stage in stages:
            self.assertEqual(self.resume(model, os.path.join(folder, stage), *flags), straight, stage)
        return straight
