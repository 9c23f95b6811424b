# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The phase table lists a phase that costs FLOP, bytes or time; phases that cost neither are counted."""
import unittest

from explains import ExplainTest


class PhaseTables(ExplainTest):
    def test_a_copy_has_no_flop_and_a_row(self):
        nodes = [{"name": "first", "op": "linear", "inputs": ["x"], "attrs": {"weight": "q.weight"}},
                 {"name": "last", "op": "transpose", "inputs": ["first"], "attrs": {"permutation": [1, 0, 2]}}]
        text = self.succeed("explain", self.write_nodes(nodes, ["last"])).stdout
        self.assertRegex(text, r"share +FLOP +bytes +layer +what it computes")
        # 128 rows with 16 floats are read and written.
        self.assertRegex(text, r"\n +0 % +0 +16\.0 KiB +transpose")
        # The GEMM reads and writes the same size, and reads a 16 x 32 float panel of the weight.
        self.assertRegex(text, r"\n +100 % +65\.\d k +1[78]\.\d KiB +product 16 -> 16")

    def test_small_phases_are_counted(self):
        text = self.succeed("explain", self.example("tiny-bert")).stdout
        self.assertRegex(text, r"\n +\d+ % +[\d.]+ k +\d+\.\d KiB +\d more phases")
        self.assertNotIn("more phases", self.succeed("explain", self.example("tiny-bert"), "-v").stdout)


if __name__ == "__main__":
    unittest.main()
