# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text output of explain. TRANSOM_UPDATE=1 in the environment rewrites the expected output."""
import os
import unittest

from explains import ExplainTest, read_scores, write_graph

EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected")


class ExplainText(ExplainTest):
    maxDiff = None

    def expect(self, name, *arguments):
        """Compares the output with `expected/NAME.txt`."""
        text = self.succeed("explain", *arguments).stdout
        path = os.path.join(EXPECTED, name + ".txt")
        if os.environ.get("TRANSOM_UPDATE"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(text, file.read())
        return text

    def test_encoder(self):
        text = self.expect("tiny-bert", self.example("tiny-bert"))
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_near_miss(self):
        self.expect("near-miss", write_graph(self.folder, read_scores))

    def test_all_adds_operations_kernels_and_buffers(self):
        short = self.succeed("explain", self.example("tiny-bert")).stdout
        text = self.succeed("explain", self.example("tiny-bert"), "-v").stdout
        for line in ["kern.attention", "transom.k.avx2.f32.6x16", "phase encode.0."]:
            self.assertIn(line, text)
            self.assertNotIn(line, short)

    def test_disabled_passes_are_named(self):
        text = self.succeed("explain", self.example("tiny-bert"), "--disable-pass", "kern-fuse-norm").stdout
        self.assertIn("Pass 'kern-fuse-norm' is switched off: it fuses a norm", text)


if __name__ == "__main__":
    unittest.main()
