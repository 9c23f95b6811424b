# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Encoder-decoder translations: their cost, and errors."""
import unittest

from benches import LENGTHS, BenchTest

MODEL = "encoder-decoders/marian"


class BenchTranslate(BenchTest):
    def rows(self, *arguments, model=MODEL, **options):
        return super().rows(*arguments, "-r", "1", model=model, **options)

    def test_rows(self):
        rows = self.rows("-b", "1,3", "-s", "5,9", "-n", "2,4")
        self.assertEqual([(r["entry"], r["batch"], r["seq"], r["tokens"]) for r in rows],
                         [("translate", b, s, b * n) for n in (2, 4) for b in (1, 3) for s in (5, 9)])
        for row in rows:
            self.assertGreater(row["ms_limit"], 0)

    def test_sources_of_a_file(self):
        row = self.row("--in", self.ragged(), "-n", "3")
        self.assertEqual((row["batch"], row["seq"], row["tokens"]), (len(LENGTHS), max(LENGTHS), 3 * len(LENGTHS)))

    def test_operations(self):
        """Each source token costs the encoder and the source cache; each new token costs a step through all layers."""
        def work(*arguments):
            return self.work(self.row("-b", "2", *arguments))
        encode = self.work(super().rows("--entry", "encode", "-b", "2", "-s", "8", "-r", "1", model=MODEL)[0])
        first, second = (work("-s", "8", "-n", n) for n in ("1", "2"))
        self.assertGreater(first, encode)
        step = second - first
        self.assertAlmostEqual(work("-s", "8", "-n", "3") - second, step, delta=0.05 * step)
        # All beams are equal before the first step.
        self.assertAlmostEqual(work("-s", "8", "-n", "1", "--num-beams", "3"), first, delta=0.01 * first)
        self.assertAlmostEqual(work("-s", "8", "-n", "2", "--num-beams", "3") - first, 3 * step, delta=0.05 * step)

    def test_compare(self):
        self.assertGreater(self.row("-n", "2", "--compare", self.compiled(MODEL))["ratio"], 0)

    def test_refused(self):
        model = self.compiled(MODEL)
        self.fail_with(2, "bench", model, "-n", "1", "--profile", says="--entry")
        self.fail_with(2, "bench", model, "-d", "4", says="--depth")
        self.fail_with(2, "bench", model, "-n", "1", "--num-beams", "0", says="0")
        self.fail_with(2, "bench", self.compiled("llama-gqa"), "-n", "1", "--num-beams", "2", says="encoder-decoders")
        self.fail_with(2, "bench", model, "-n", "1", "--compare", self.compiled("llama-gqa"), says="encoder-decoder")
        self.fail_with(5, "bench", model, "-s", "100000", "-n", "1", says="100000")


if __name__ == "__main__":
    unittest.main()
