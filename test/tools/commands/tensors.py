# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of the run tests: a model on the tensors in one file."""
import os

from base import ToolTest, goldens, write_tensors


class RunTest(ToolTest):
    def run_on(self, tensors, code=0, says="", model="bert", entry="encode", flags=(), **options):
        write_tensors(self.path("in.safetensors"), tensors)
        arguments = ["run", self.compiled(model, *flags), entry, "--in", self.path("in.safetensors"), "--out", self.path("out.safetensors")]
        if code:
            self.fail_with(code, *arguments, says=says, **options)
            self.assertFalse(os.path.exists(self.path("out.safetensors")))
            return None
        self.succeed(*arguments, **options)
        return goldens.read_tensors(self.path("out.safetensors"))
