# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models larger than 2 GiB and models with many layers."""
import os
import resource
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools", "commands"))

from base import ToolTest, goldens, write_tensors  # noqa: E402
from models import write_bert  # noqa: E402


class Sizes(ToolTest):
    def encode(self, model, ids):
        write_tensors(self.path("in"), {"input_ids": ("I64", [1, len(ids)], ids)})
        self.succeed("run", model, "encode", "--in", self.path("in"), "--out", self.path("out"))
        return goldens.read_tensors(self.path("out"))

    def test_more_than_two_gigabytes(self):
        vocab = 9_400_000
        write_bert(self.path("small"), vocab=1000)
        write_bert(self.path("large"), vocab=vocab)
        self.assertGreater(os.path.getsize(self.path("large/model.safetensors")), 1 << 31)
        for name in ("small", "large"):
            self.succeed("compile", self.path(name), "-q", "-o", self.path(name + ".so"))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(peak, 500_000 + 2 * vocab * 64 * 4 // 1024, "kilobytes at most")
        self.assertGreater(os.path.getsize(self.path("large.so")), 1 << 31)
        # The file is as sparse as the model.
        self.assertLess(os.stat(self.path("large.so")).st_blocks * 512, 50 << 20)
        ids = [5, 999, 17, 250]
        self.assertEqual(self.encode(self.path("large.so"), ids), self.encode(self.path("small.so"), ids))
        self.encode(self.path("large.so"), [vocab - 1])
        self.fail_with(3, "run", self.path("small.so"), "encode", "--in", self.path("in"), "--out", self.path("o"), says=str(vocab - 1))

    def test_code_does_not_grow_with_layers(self):
        sizes = {}
        for layers in (12, 48):
            folder = self.path(str(layers))
            write_bert(folder, layers=layers, hidden=32, heads=2, intermediate=64, vocab=100)
            sizes[layers] = len(self.succeed("compile", folder, "--emit", "asm").stdout)
        self.assertLess(sizes[48], 1.01 * sizes[12])


if __name__ == "__main__":
    unittest.main()
