# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench flags."""
import unittest

from benches import BenchTest
from base import write_tensors  # isort: skip (benches finds it)


class Bench(BenchTest):
    def test_flags_and_inputs_that_do_not_fit(self):
        model = self.compiled("bert")
        self.fail_with(5, "bench", model, "-s", "100000")
        self.fail_with(2, "bench", model, "--entry", "encoder", says="encode")
        self.fail_with(2, "bench", model, "-s", "0")
        self.fail_with(2, "bench", model, "--format", "xml", says="xml")
        self.fail_with(2, "bench", model, "--in", self.ragged(), "--texts", self.ragged(), says="--texts")
        self.fail_with(6, "bench", model, "--in", self.path("none"), says="none")
        self.fail_with(6, "bench", model, "--in", self.path("none"), "--one-by-one", says="none")
        write_tensors(self.path("odd"), {"ids": ("I64", [1, 2], [1, 2])})
        self.fail_with(3, "bench", model, "--in", self.path("odd"), says="ids")
        self.fail_with(3, "bench", model, "--in", self.path("odd"), "--one-by-one", says="ids")
        self.fail_with(4, "bench", model, "--texts", self.path("odd"), says="tokenizer")


if __name__ == "__main__":
    unittest.main()
