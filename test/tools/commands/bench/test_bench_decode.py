# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prompts and new tokens in decoders: their cost, and errors."""
import json
import unittest

from benches import CONTEXT, HIDDEN, KEYS, LAYERS, LINEAR, WORDS, BenchDecodeTest
from base import GOLDENS  # isort: skip (benches finds it)


class BenchDecode(BenchDecodeTest):
    def test_rows(self):
        rows = self.rows("-p", "32,100", "-n", "4", "-d", "0,64", "-b", "1,3")
        self.assertEqual([(r["entry"], r["batch"], r["seq"], r["tokens"], r["depth"]) for r in rows], [
            ("prefill", 1, 32, 32, 0), ("prefill", 1, 100, 100, 0), ("decode", 1, 4, 4, 0), ("decode", 1, 4, 4, 64),
            ("decode", 3, 4, 12, 0), ("decode", 3, 4, 12, 64)])
        for row in rows:
            self.assertLessEqual(row["ms_min"], row["ms_median"])
            self.assertAlmostEqual(row["tokens_per_s"] * row["ms_min"] * 1e-3, row["tokens"], delta=0.02 * row["tokens"])
            self.assertGreater(row["bytes_per_token"], 0)
            self.assertGreater(row["barriers_per_token"], 0)

    def test_defaults_fit_the_context(self):
        prefill, decode = self.rows()
        self.assertEqual((prefill["entry"], prefill["tokens"]), ("prefill", CONTEXT))
        self.assertEqual((decode["entry"], decode["tokens"], decode["depth"]), ("decode", 128, 0))

    def test_operations(self):
        token = self.work(self.row("-n", "1", "-d", "128"))
        first = self.work(self.row("-n", "1"))
        pairs = 4 * HIDDEN * LAYERS
        self.assertAlmostEqual(token - first, 128 * pairs, delta=0.02 * 128 * pairs)
        # Norms, activations and rotations add to the GEMMs.
        self.assertGreater(first, LINEAR)
        self.assertLess(first, 1.1 * LINEAR)
        prompt = self.work(self.row("-p", "128"))
        head = 2 * HIDDEN * WORDS
        self.assertGreater(prompt, 128 * (LINEAR - head) + head + 128 * 129 // 2 * pairs)
        self.assertLess(prompt, 1.1 * (128 * LINEAR + 128 * 129 // 2 * pairs))

    def test_bytes(self):
        position = 2 * KEYS * LAYERS * 4
        near, far = (self.row("-n", "1", "-d", depth)["bytes_per_token"] for depth in ("0", "128"))
        self.assertEqual(far - near, 128 * position)
        self.assertGreater(near, 4 * LINEAR // 2)  # each GEMM's weight once
        together = self.row("-n", "1", "-b", "2")["bytes_per_token"]
        self.assertEqual(together, (near - position) // 2 + position)
        position //= 2
        near, far = (self.row("-n", "1", "-d", depth, flags=["--dtype=bf16"])["bytes_per_token"] for depth in ("0", "128"))
        self.assertEqual(far - near, 128 * position)

    def test_a_window_bounds_what_is_read(self):
        near, far = (self.row("-n", "1", "-d", depth, model="mistral-window")["bytes_per_token"] for depth in ("20", "120"))
        self.assertEqual(near, far)

    def test_barriers(self):
        model = self.compiled("llama-gqa")
        (step,) = [entry for entry in json.loads(self.succeed("inspect", model, "--json").stdout)["entries"] if entry["name"] == "step"]
        self.assertEqual(self.row("-n", "3")["barriers_per_token"], step["barriers"])
        self.assertEqual(self.row("-n", "3", "-b", "2")["barriers_per_token"], step["barriers"] / 2)

    def test_profile_and_compare(self):
        model = self.compiled("llama-gqa")
        row = self.row("-n", "2", "--profile", "--compare", model)
        self.assertGreater(row["ratio"], 0)
        self.assertEqual(sum(line["dispatches"] for line in row["profile"]), row["barriers_per_token"])
        self.assertIn("barriers a step", self.succeed("bench", model, "-n", "1", "-r", "1", "--profile").stdout)

    def test_refused(self):
        model = self.compiled("llama-gqa")
        self.fail_with(5, "bench", model, "-n", "1", "-d", "4096", says="160")
        self.fail_with(5, "bench", model, "-p", "161", says="160")
        self.fail_with(2, "bench", model, "-n", "0", says="0")
        self.fail_with(2, "bench", model, "-s", "8", says="--entry")
        self.fail_with(2, "bench", self.compiled("bert"), "-p", "8", says="decoder")
        self.fail_with(2, "bench", model, "-n", "1", "--compare", self.compiled("bert"), says="is not a decoder")

    def test_other_entries(self):
        (row,) = self.rows("--entry", "logits", "-s", "8")
        self.assertEqual((row["entry"], row["tokens"]), ("logits", 8))

    def test_inspect(self):
        for flags, size in (((), 4), (("--dtype=bf16",), 2)):
            model = self.compiled("llama-gqa", *flags)
            decoder = json.loads(self.succeed("inspect", model, "--json").stdout)["decoder"]
            self.assertEqual((decoder["context"], decoder["vocabulary"]), (CONTEXT, WORDS))
            self.assertEqual(decoder["cache_bytes_per_position"], 2 * KEYS * LAYERS * size)
            self.assertEqual(decoder["cache_bytes"], 256 * 2 * KEYS * LAYERS * size)
        text = self.succeed("inspect", model).stdout
        self.assertIn("160 positions", text)
        self.assertIn("derived from step", text)
        (cache,) = json.loads(self.succeed("inspect", self.compiled("mistral-window"), "--json").stdout)["decoder"]["caches"]
        self.assertEqual(cache["window"], 12)

    def test_inspect_a_folder(self):
        found = json.loads(self.succeed("inspect", GOLDENS + "/llama-gqa", "--json").stdout)
        self.assertEqual(found["context"], CONTEXT)
        (cost,) = found["costs"]
        self.assertEqual(cost["token_flops"], LINEAR + 4 * HIDDEN * LAYERS * CONTEXT)


if __name__ == "__main__":
    unittest.main()
