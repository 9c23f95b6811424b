# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules after passes, and pass times and changes."""
import json
import os
import unittest

from compiles import BERT, CompileTest
from stages import EXAMPLES, read


def get_headings(text):
    return [line.split("After ")[1].split(" //")[0] for line in text.splitlines() if line.startswith("// -----// IR Dump After ")]


class PassMonitor(CompileTest):
    def emit(self, *flags):
        return self.succeed("compile", BERT, "-q", "--emit", "kern", *flags)

    def test_print_after(self):
        plain = self.emit()
        printed = self.emit("--print-after", "cse:2,kern-plan-memory", "--print-after", "attn-fuse-attention")
        self.assertEqual(printed.stdout, plain.stdout)
        self.assertEqual(get_headings(printed.stderr), ["attn-fuse-attention", "cse:2", "kern-plan-memory"])
        dumps = printed.stderr.split("// -----// IR Dump After ")[1:]
        self.assertIn("attn.sdpa", dumps[0])
        self.assertIn("kern.arena_bytes", dumps[2])
        self.assertNotIn("attn.remarks", printed.stderr)

    def test_passes_that_do_not_run(self):
        self.fail_with(2, "compile", BERT, "--emit", "kern", "--print-after", "attn-fuse-atention", says="did you mean 'attn-fuse-attention'?")
        self.fail_with(2, "compile", BERT, "--emit", "kern", "--print-after", "cse", says="supported: cse:1, cse:2, cse:3")
        for flags in (("kern-fuse-glu", "--backend", "onednn"), ("cse:1", "--disable-pass", "cse"), ("convert-kern-to-llvm",)):
            self.fail_with(2, "compile", BERT, "--emit", "kern", "--print-after", *flags, says=f"pass '{flags[0]}' does not run with these options")

    def test_print_changed(self):
        headings = get_headings(self.emit("--print-changed").stderr)
        self.assertIn("attn-fuse-attention", headings)
        self.assertNotIn("extension-attn-shaped", headings)  # without a plug-in
        self.assertEqual(get_headings(self.emit("--print-changed", "--disable-pass", "attn-fuse-attention").stderr).count("attn-fuse-attention"), 0)
        # Lowering prints for each instruction set.
        lowered = self.succeed("compile", os.path.join(EXAMPLES, "transformer-encoder"), "-q", "--emit", "llvm-ir", "--print-after", "reconcile-unrealized-casts",
                               "-o", self.path("m.ll"), "--target", "x86-64-v3", "--target", "x86-64-v4")  # fmt: skip
        self.assertEqual(get_headings(lowered.stderr), ["reconcile-unrealized-casts for avx2", "reconcile-unrealized-casts for avx512"])
        self.assertIn("llvm.func", lowered.stderr)

    def test_time_passes(self):
        self.compile()
        straight = read(self.path("m.so"))
        report = json.loads(self.compile("--time-passes", "--print-changed", "--json").stdout)
        self.assertEqual(read(self.path("m.so")), straight)
        passes = {entry["pass"]: entry for entry in report["passes"]}
        self.assertEqual(len(passes), len(report["passes"]))  # for one instruction set
        fused = passes["attn-fuse-attention"]
        self.assertEqual(fused["stage"], "optimize")
        self.assertGreater(fused["passed"], 0)
        self.assertLess(fused["operations_after"], fused["operations_before"])
        self.assertEqual(passes["cse:3"]["isa"], "avx2")
        self.assertEqual(passes["convert-kern-to-llvm"]["passed"], 0)
        # Each pass starts with the previous pass's result.
        for before, after in zip(report["passes"], report["passes"][1:]):
            self.assertEqual(after["operations_before"], before["operations_after"])
        # Pass times are parts of their stage's time.
        for stage in ("optimize", "plan", "lower"):
            inside = sum(entry["seconds"] for entry in report["passes"] if entry["stage"] == stage)
            self.assertGreater(inside, 0)
            self.assertLessEqual(inside, report["seconds"][stage])
        text = self.compile("--time-passes").stderr
        self.assertRegex(text, r"(?m)^  attn-fuse-attention +[\d.]+ +[\d.]+ % +\d+ -> +\d+ +\d+ +\d+$")
        self.assertRegex(text, r"(?m)^total +[\d.]+$")


if __name__ == "__main__":
    unittest.main()
