# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Encoder-decoder generation returns the same bits for a source alone and in any batch and order, for any thread count, on each
instruction set in f32, and with attention weights compiled in."""
import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools", "commands"))

from base import GOLDENS, ToolTest, goldens, write_tensors  # noqa: E402

SEARCHES = {"greedy": ["--num-beams", "1"], "beams": ["--num-beams", "4", "--num-return-sequences", "3", "--length-penalty", "0.7"],
            "samples": ["--temperature", "0.9", "--num-return-sequences", "2"]}
PAD = 1


class GenerationBits(ToolTest):
    def compile(self, golden, *flags):
        artifact = os.path.join(self.shared, golden + "".join(flags) + ".so")
        if not os.path.exists(artifact):
            self.succeed("compile", os.path.join(GOLDENS, "encoder-decoders", golden), "-o", artifact, *flags)
        return artifact

    def generate(self, artifact, sources, flags, isa=None):
        """Returns each source's results up to the end token, and the score bits."""
        columns = max(map(len, sources))
        pad = lambda rows, fill: sum((row + [fill] * (columns - len(row)) for row in rows), [])
        given, taken = self.path("in.safetensors"), self.path("out.safetensors")
        shape = [len(sources), columns]
        write_tensors(given, {"input_ids": ("I64", shape, pad(sources, PAD)),
                              "attention_mask": ("I64", shape, pad([[1] * len(row) for row in sources], 0))})
        self.succeed("run", artifact, "generate", "--in", given, "--out", taken, "--max-new-tokens", "9", *flags,
                     env={"TRANSOM_FORCE_ISA": isa} if isa else None)
        results = goldens.read_tensors(taken)
        rows, scores = goldens.rows_of(results["output_ids"]), list(results.get("scores", (0, []))[1])
        rows = [row[:row.index(self.end) + 1] if self.end in row else row for row in rows]
        count = len(rows) // len(sources)
        return [(rows[i * count:(i + 1) * count], scores[i * count:(i + 1) * count]) for i in range(len(sources))]

    def check(self, golden, dtype):
        with open(os.path.join(GOLDENS, "encoder-decoders", golden, "generation_config.json"), encoding="utf-8") as file:
            self.end = json.load(file)["eos_token_id"]
        plain, shown = self.compile(golden, "--dtype", dtype), self.compile(golden, "--dtype", dtype, "--attention")
        rng = random.Random(golden)
        sources = [[rng.randrange(10, 53) for _ in range(length)] for length in (1, 33, 2, 17, 8, 30, 5)]
        order = list(range(len(sources)))
        rng.shuffle(order)
        for name, search in SEARCHES.items():
            expected = self.generate(plain, sources, [*search, "-t", "1"])
            self.assertEqual([name == "beams"] * len(sources), [bool(scores) for _, scores in expected])
            for threads in (2, 3, 8):
                self.assertEqual(self.generate(plain, sources, [*search, "-t", str(threads)]), expected, (name, threads))
            self.assertEqual(self.generate(shown, sources, search), expected, name)
            if name == "samples":
                continue  # random numbers depend on the prompt index
            self.assertEqual(self.generate(plain, [sources[i] for i in order], search), [expected[i] for i in order], name)
            for i in (0, 1, 4):
                self.assertEqual(self.generate(plain, [sources[i]], search), [expected[i]], (name, i))

    def test_f32(self):
        for golden in ("marian", "t5"):
            with self.subTest(golden):
                self.check(golden, "f32")

    def test_bf16(self):
        self.check("bart", "bf16")


class InstructionSets(GenerationBits):
    """The same tests, with code for all instruction sets."""

    test_f32 = test_bf16 = None

    def test_isas(self):
        self.end = 2
        artifact = self.compile("marian", "--target", "x86-64-v3", "--target", "x86-64-v4")
        sources = [[11, 12, 13], [14] * 20]
        found = {isa: self.generate(artifact, sources, SEARCHES["beams"], isa) for isa in goldens.runnable_isas()
                 if isa in ("avx2", "avx512")}
        for isa, results in found.items():
            self.assertEqual(results, found["avx2"], isa)


if __name__ == "__main__":
    unittest.main()
