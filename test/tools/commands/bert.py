# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of the compile and driver tests: one golden model."""
import os

from base import GOLDENS, ToolTest

BERT = os.path.join(GOLDENS, "bert")


class CompileTest(ToolTest):
    def compile(self, *flags, name="m.so", **options):
        """Compiles for one instruction set, which is quicker."""
        return self.succeed("compile", BERT, "-q", "-o", self.path(name), "--target", "x86-64-v3", *flags, **options)
