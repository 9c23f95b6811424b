# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench rows for an encoder and a decoder. No test checks times."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import ToolTest, write_tensors  # noqa: E402

COLUMNS = ["batch", "seq", "tokens", "ms_min", "ms_median", "tokens_per_s", "gflops", "gbps", "limit_share"]
MORE = ["ms_limit", "spread", "calls"]
# Only in JSON: the host's limits, measured in the same run.
LIMITS = ["limit_gflops", "limit_bf16_gflops", "limit_int8_gops", "limit_gbps"]
COMPARED = ["other_ms_min", "other_ms_median", "ratio", "ratio_low", "ratio_high"]
LENGTHS = [3, 9, 1, 6]


class BenchTest(ToolTest):
    """bench on an encoder."""

    def rows(self, *arguments, model="bert", **options):
        return json.loads(self.succeed("bench", self.compiled(model), *arguments, "--format", "json", **options).stdout)

    def row(self, *arguments, **options):
        (row,) = self.rows(*arguments, **options)
        return row

    def ragged(self, dtype="I64"):
        """Padded inputs with LENGTHS."""
        longest = max(LENGTHS)
        mask = [int(i < length) for length in LENGTHS for i in range(longest)]
        shape = [len(LENGTHS), longest]
        path = self.path("ragged.safetensors")
        write_tensors(path, {"input_ids": (dtype, shape, [5 * m for m in mask]), "attention_mask": (dtype, shape, mask)})
        return path

    def work(self, row):
        """Returns a row's billions of operations, from its speed."""
        return row["gflops"] * row["ms_min"] * 1e-3


# llama-gqa: 2 layers, hidden 64, 4 heads and 2 key heads with width 16, intermediate 160, vocabulary 211, context 160.
LAYERS, HIDDEN, KEYS, INNER, WORDS, CONTEXT = 2, 64, 32, 160, 211, 160
LINEAR = 2 * (LAYERS * (2 * HIDDEN * HIDDEN + 2 * HIDDEN * KEYS + 3 * HIDDEN * INNER) + HIDDEN * WORDS)


class BenchDecodeTest(ToolTest):
    """bench on a decoder."""

    def rows(self, *arguments, model="llama-gqa", flags=(), **options):
        return json.loads(self.succeed("bench", self.compiled(model, *flags), *arguments, "-r", "1", "--format", "json", **options).stdout)

    def row(self, *arguments, **options):
        (row,) = self.rows(*arguments, **options)
        return row

    def work(self, row):
        """Returns a row's operations, from its speed."""
        return row["gflops"] * row["ms_min"] * 1e6
