# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory in C programs that run an encoder or translate with beams: transom_model_memory() predicts the mapped memory, and only the
weights are resident in addition; memory grows linearly with the length, not quadratically. Standard library only."""
import json
import os
import subprocess
import sys
import unittest

SOURCE = os.environ["TRANSOM_SOURCE_DIR"]
sys.path[:0] = [os.path.join(SOURCE, "test", "tools", "commands"), os.path.join(SOURCE, "test", "e2e")]

from base import TOOL, ToolTest  # noqa: E402
from models import write_bert  # noqa: E402

PROGRAM = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "test", "bin", "runtime-memory")
BEAMS = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "test", "bin", "runtime-beam-memory")
SLACK = 16 << 20  # the program, libraries, stacks, loader tables


class Memory(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.small = cls.model("small", hidden=384, layers=6, heads=12, intermediate=1536, vocab=30522, positions=512, filled=1000)
        cls.long = cls.model("long", hidden=64, layers=2, heads=4, intermediate=128, vocab=1000, positions=8192)

    @classmethod
    def model(cls, name, **sizes):
        folder = os.path.join(cls.shared, name)
        write_bert(folder, **sizes)
        subprocess.run([TOOL, "compile", folder, "-q", "-o", folder + ".so"], check=True, timeout=400)
        return folder + ".so"

    def measure(self, model, batch, length, shares, host=False):
        done = subprocess.run([PROGRAM, model, str(batch), str(length), str(shares), "host" if host else "team"], capture_output=True, text=True, timeout=400)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        what = f"{os.path.basename(model)} {batch}x{length}, {shares} shares: {found}"
        if host or shares == 1:  # no thread stacks among the mappings
            self.assertEqual(found["mapped"], found["foretold"], what)
        self.assertLessEqual(found["peak"], found["weights"] + found["foretold"] + SLACK, what)
        return found

    def test_short_and_long_batches(self):
        for batch, length in ((1, 16), (1, 512), (8, 512)):
            for shares, host in ((1, False), (2, False), (7, True)):
                self.measure(self.small, batch, length, shares, host)

    def test_an_encoder_decoder(self):
        model = self.compiled(os.path.join("encoder-decoders", "marian"))
        for shares in (1, 2):
            self.measure(model, 3, 16, shares)

    def measure_beams(self, model, beams, sources, length, calls, threads):
        done = subprocess.run([BEAMS, model, *map(str, (beams, sources, length, calls, threads))], capture_output=True, text=True, timeout=400)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        what = f"{sources} sources of {length}, {beams} beams, {threads} threads: {found}"
        self.assertEqual(found["sequences"], max(16, sources * beams), what)
        if threads == 1:  # no thread stacks among the mappings
            self.assertEqual(found["mapped"], found["foretold"], what)
        self.assertLessEqual(found["peak"], found["weights"] + found["foretold"] + SLACK, what)
        self.assertLess(abs(found["late"] - found["early"]), 256 << 10, what)
        return found

    def test_beams_of_an_encoder_decoder(self):
        model = self.compiled(os.path.join("encoder-decoders", "marian"))
        # Sources with mixed lengths; a thousand translations.
        for calls, threads in ((100, 1), (20, 2)):
            self.measure_beams(model, 4, 10, 32, calls, threads)
        # Twice the sources need about twice the cache memory, and so do twice the target beams; beams share sources.
        few, many, wide = (self.measure_beams(model, beams, sources, 32, 3, 1)["foretold"] for beams, sources in ((4, 16), (4, 32), (8, 16)))
        self.assertGreater(many, 1.5 * few)
        self.assertGreater(wide, few)
        self.assertLess(wide, many)

    def test_all_is_used(self):
        """The arena size is not a generous guess: most of it becomes resident."""
        short, long = (self.measure(self.small, batch, length, 1) for batch, length in ((1, 16), (8, 512)))
        self.assertGreater(long["peak"] - short["peak"] - long["results"], 0.8 * long["foretold"])

    def test_length_8192_has_nothing_quadratic(self):
        one, two = (self.measure(self.long, 1, length, 2) for length in (4096, 8192))
        self.assertLess(two["foretold"], 2.1 * one["foretold"])
        self.assertLess(two["foretold"], 8192 * 8192 * 4 // 4, "no room for a quarter of the scores of one head")
        for entry in json.loads(self.succeed("inspect", self.long, "--json").stdout)["entries"]:
            for term in entry["arena_bytes"].split("+"):
                sizes = [factor for factor in term.split("*") if not factor.strip().isdigit() and factor.strip() != "parts"]
                self.assertLessEqual(len(sizes), 1, term)


if __name__ == "__main__":
    unittest.main()
