# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory in a C program that fills a decoder context with 32768 positions: transom_model_memory() predicts the mapped and the resident
memory; tokens allocate nothing and take no memory. Standard library only."""
import json
import os
import subprocess
import sys
import unittest

SOURCE = os.environ["TRANSOM_SOURCE_DIR"]
sys.path[:0] = [os.path.join(SOURCE, "test", "tools", "commands"), os.path.join(SOURCE, "test", "runtime")]

from base import TOOL, ToolTest  # noqa: E402
from longer import write_longer  # noqa: E402

PROGRAM = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "test", "bin", "runtime-decode")
CONTEXT = 32768
SLACK = 16 << 20  # the program, libraries, loader tables


class Decode(ToolTest):
    def model(self, golden, *flags, **settings):
        folder = os.path.join(self.folder, golden)
        write_longer(os.path.join(SOURCE, "test", "goldens", golden), folder, CONTEXT, settings)
        subprocess.run([TOOL, "compile", folder, "-q", "-o", folder + ".so", *flags], check=True, timeout=400)
        return folder + ".so"

    def decode(self, model, prompt, tokens, threads=1, context=CONTEXT):
        done = subprocess.run([PROGRAM, model, *map(str, (context, prompt, tokens, threads))], capture_output=True, text=True, timeout=400)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["allocations"], 0, found)
        if threads == 1:  # no thread stacks among the mappings
            self.assertEqual(found["mapped"], found["foretold"], found)
        self.assertLessEqual(found["peak"], found["weights"] + found["foretold"] + SLACK, found)
        return found

    def test_a_long_context_that_is_seen_whole(self):
        model = self.model("llama-mqa", "--dtype", "bf16")
        self.decode(model, CONTEXT - 100, 100, threads=2)
        short = self.decode(model, 100, 10, context=1000)
        long = self.decode(model, 100, 10)
        # Two layers, one head with 16 elements, keys and values in bf16, 129 blocks.
        self.assertEqual(long["foretold"] - short["foretold"] >> 20, (CONTEXT - 1024) * 2 * 16 * 2 * 2 >> 20)

    def test_a_long_context_behind_a_window(self):
        model = self.model("mistral-window", sliding_window=1000)
        found = self.decode(model, CONTEXT - 1000, 999)
        short = self.decode(model, 100, 10, context=4096)
        self.assertLess(found["foretold"], short["foretold"] + (1 << 20))

    def test_ten_thousand_tokens_are_flat(self):
        found = self.decode(self.model("mistral-window"), 3000, 10000)
        self.assertLess(found["end"] - found["early"], 256 << 10, found)


if __name__ == "__main__":
    unittest.main()
