# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules as text: locations, and human-readable lines."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "driver"))

from compiles import BERT, CompileTest  # noqa: E402


class ModuleText(CompileTest):
    def test_stages_keep_locations(self):
        located = self.succeed("compile", BERT, "--emit", "attn", "--emit-locations").stdout
        self.assertIn('fused<"encoder.layer.0.attention.self">', located)

    def test_stages_for_reading(self):
        text = self.succeed("compile", BERT, "--emit", "attn-opt").stdout
        self.assertNotIn("loc(", text)
        wide = [line for line in text.splitlines() if len(line) > 100 and " " in line.strip()]
        self.assertEqual([line for line in wide if '"' not in line], [])
        located = self.succeed("compile", BERT, "--emit", "attn-opt", "--emit-locations").stdout
        self.assertIn('loc(fused<"encoder.layer.{0-', located.replace("\n", ""))


if __name__ == "__main__":
    unittest.main()
