# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compile resumed from any stage returns the bytes of the direct compile."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "driver"))

from stages import BERT, EXAMPLES, StagesTest  # noqa: E402


class SameBytes(StagesTest):
    def test_encoder(self):
        self.check_all_stages(BERT)

    def test_bf16(self):
        self.check_all_stages(BERT, "--dtype", "bf16", "--disable-pass", "kern-fuse-norm")

    def test_onednn(self):
        self.check_all_stages(BERT, "--backend", "onednn")

    def test_decoder(self):
        self.check_all_stages(os.path.join(EXAMPLES, "tiny-llama"), "--kv-dtype", "int8", "--attention-schedule", "two-pass")

    def test_encoder_decoder(self):
        self.check_all_stages(os.path.join(EXAMPLES, "tiny-nllb"), "--attention", "--attention-layers", "0")

    def test_graph(self):
        self.check_all_stages(os.path.join(EXAMPLES, "transformer-encoder"))


if __name__ == "__main__":
    unittest.main()
