# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two artifacts in one run."""
import unittest

from benches import COLUMNS, COMPARED, LIMITS, MORE, BenchTest


class BenchMeasure(BenchTest):
    def test_compare(self):
        other = self.compiled("bert", "--disable-pass", "kern-fuse-norm")
        row = self.row("--compare", other, "-r", "3")
        self.assertEqual(row["seq"], 96)  # the model's maximum, below the default
        self.assertEqual(list(row), ["entry", *COLUMNS, *MORE, *COMPARED, *LIMITS])
        self.assertLessEqual(row["ratio_low"], row["ratio"])
        self.assertLessEqual(row["ratio"], row["ratio_high"])
        self.assertGreater(row["other_ms_min"], 0)

    def test_compare_with_what_does_not_fit(self):
        self.fail_with(6, "bench", self.compiled("bert"), "--compare", self.path("none.so"), says="none.so")
        with open(self.path("bad.so"), "wb") as file:
            file.write(b"no artifact")
        self.fail_with(3, "bench", self.compiled("bert"), "--compare", self.path("bad.so"), says="bad.so")


if __name__ == "__main__":
    unittest.main()
