# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A thread pool that runs an encoder's workers sequentially, in any order: the bits are the same as with one worker, and a call on one
short sequence has one barrier less in each layer if the worker count divides the head count. Standard library only."""
import json
import os
import subprocess
import sys
import unittest

SOURCE = os.environ["TRANSOM_SOURCE_DIR"]
sys.path[:0] = [os.path.join(SOURCE, "test", "tools", "commands"), os.path.join(SOURCE, "test", "e2e")]

from base import TOOL, ToolTest  # noqa: E402
from models import write_bert  # noqa: E402

PROGRAM = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "test", "bin", "runtime-host-orders")
LAYERS, HEADS = 3, 4


class HostOrders(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = {}

    def model(self, head_size, *flags):
        """A BERT with four heads with this size, and the barrier count in its calls from 'inspect'."""
        path = os.path.join(self.shared, f"{head_size}{'-'.join(flags)}")
        if path not in self.models:
            write_bert(path, hidden=HEADS * head_size, layers=LAYERS, heads=HEADS, intermediate=128, vocab=100, positions=300)
            subprocess.run([TOOL, "compile", path, "-q", "-o", path + ".so", *flags], check=True, timeout=400)
            entry = json.loads(self.succeed("inspect", path + ".so", "--json").stdout)["entries"][0]
            self.models[path] = entry["barriers"], entry["min_barriers"]
        return path + ".so", *self.models[path]

    def count(self, model, batch, length, workers):
        """The number of pool calls. The program fails if the worker order changes the result."""
        done = subprocess.run([PROGRAM, model, *map(str, (batch, length, workers))], capture_output=True, text=True, timeout=400)
        self.assertEqual(done.returncode, 0, f"{model} {batch}x{length} on {workers} workers: {done.stderr}")
        return int(done.stdout)

    def test_one_short_sequence(self):
        for flags in ((), ("--dtype", "bf16"), ("--attention-schedule", "two-pass")):
            model, barriers, fewer = self.model(32, *flags)
            self.assertEqual(fewer, barriers - LAYERS)
            for length in (1, 8, 33):
                for workers, expected in ((1, fewer), (2, fewer), (3, barriers), (4, fewer), (8, barriers)):
                    self.assertEqual(self.count(model, 1, length, workers), expected, f"{flags} {length} {workers}")

    def test_four_calls_of_the_pool_a_layer(self):
        model, barriers, fewer = self.model(32)
        self.assertEqual((barriers - fewer) / LAYERS, 1)
        # Embedding and results have the other barriers.
        outside = barriers - 5 * LAYERS
        self.assertEqual(self.count(model, 1, 8, 2), 4 * LAYERS + outside)
        self.assertEqual(self.count(model, 2, 8, 2), 5 * LAYERS + outside)

    def test_what_inspect_explain_and_bench_say(self):
        model, barriers, fewer = self.model(32)
        self.assertIn(f"{barriers} barriers a call, {fewer} of one short sequence\n", self.succeed("inspect", model).stdout)
        text = " ".join(self.succeed("explain", model[: -len(".so")]).stdout.split())
        self.assertIn(f"A call of one short sequence has {fewer} barriers, if the threads divide its heads evenly.", text)
        noted = self.succeed("bench", model, "-b", "1", "-s", "8", "-r", "1", "-t", "1").stderr
        self.assertIn(f"a barrier after each ({fewer} of one short sequence)", noted)

    def test_several_sequences(self):
        model, barriers, _ = self.model(32)
        for workers in (1, 2, 3, 4):
            self.assertEqual(self.count(model, 2, 8, workers), barriers)

    def test_tokens_that_workers_own(self):
        model, barriers, fewer = self.model(32)
        for workers in (1, 2, 4):
            self.assertEqual(self.count(model, 1, 64 * workers - 1, workers), fewer)
            self.assertEqual(self.count(model, 1, 64 * workers, workers), barriers)

    def test_heads_of_half_a_panel(self):
        model, barriers, fewer = self.model(16)
        self.assertEqual(self.count(model, 1, 8, 2), fewer)
        self.assertEqual(self.count(model, 1, 8, 4), barriers)

    def test_heads_that_fill_no_panels(self):
        model, barriers, fewer = self.model(12)
        self.assertEqual(fewer, barriers)
        self.assertEqual(self.count(model, 1, 8, 2), barriers)

    def test_counters_of_split_kv(self):
        model, barriers, fewer = self.model(32, "--attention-schedule", "split-kv")
        self.assertEqual(fewer, barriers)
        self.assertEqual(self.count(model, 1, 8, 2), barriers)


if __name__ == "__main__":
    unittest.main()
