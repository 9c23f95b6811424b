# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options as module attributes: a resumed compile has the stage's options."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "driver"))

from stages import BERT, StagesTest, read  # noqa: E402


class ModuleOptions(StagesTest):
    def test_options_of_a_stage(self):
        folder = self.dump(BERT, "--disable-pass", "kern-fuse-norm")
        straight = read(self.path("m.so"))
        kern, objects = os.path.join(folder, "kern"), os.path.join(folder, "obj")
        disabled = ("--disable-pass", "kern-fuse-norm")
        for place, flags, says in (
            (kern, (*disabled, "--dtype", "bf16"), "was compiled without '--dtype', this compile is with '--dtype bf16'; expected the options of the stage"),
            (kern, (*disabled, "--backend", "onednn"), "was compiled with '--backend native', this compile is with '--backend onednn'"),
            (kern, (*disabled, "--attention"), "without '--attention', this compile is with '--attention'"),
            (kern, (*disabled, "--attention-schedule", "streaming:12"), "is with '--attention-schedule streaming:12'"),
            (kern, (), "with '--disable-pass kern-fuse-norm', this compile is without '--disable-pass'"),
            (kern, (*disabled, "--disable-pass", "cse"), "is with '--disable-pass cse,kern-fuse-norm'"),
            (kern, (*disabled, "--emit", "attn-opt"), "'--emit attn-opt' is before the stage 'kern'"),
            (objects, (*disabled, "--target", "x86-64-v4"), "has no code for 'avx512'; supported: avx2"),
            (objects, (*disabled, "-O2"), "were compiled with '-O0', this compile is with '-O2'"),
        ):
            with self.subTest(flags=flags):
                self.fail_with(2, "compile", BERT, "-o", self.path("n.so"), "--resume-from", place, *flags, says=says)
        # Passes in later stages may be disabled.
        self.assertNotEqual(self.resume(BERT, os.path.join(folder, "attn-opt")), straight)
        self.assertEqual(self.resume(BERT, os.path.join(folder, "attn-opt"), *disabled), straight)


if __name__ == "__main__":
    unittest.main()
