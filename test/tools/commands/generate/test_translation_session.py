# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The translation session: its size affects neither results nor, after a while, memory."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import QUICK, TOOL  # noqa: E402
from translations import LIMIT, TranslationTest  # noqa: E402


class TranslationSession(TranslationTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.with_words("bart")

    def test_threads_and_the_number_of_lines_at_a_time_change_nothing(self):
        lines = [" ".join(f"w{(7 * i + k) % 30}" for k in range(1 + i % 11)) for i in range(40)]
        for flags in ((), ("--num-beams", "3")):
            results = [self.translated(lines, *flags, "-t", threads, "--batch-size", size) for threads, size in (("1", "1"), ("2", "5"), ("3", "100"))]
            self.assertEqual(results[0], results[1])
            self.assertEqual(results[0], results[2])

    def test_a_session_that_grows_changes_nothing(self):
        # Co-process lines arrive one after another: longer lines, larger batches, and longer prefixes need a larger session.
        windows = [(["w1 w2"], "w5"), ([" ".join(["w3"] * (LIMIT - 2))], "w5"), (["w1 w2", "w4", "w9 w8 w7"], "w5 w6 w7 w8"), (["w1 w2"], "w5")]
        with open(self.path("prefixes"), "w") as file:
            file.write("".join(prefix + "\n" for lines, prefix in windows for _ in lines))
        for flags in ((), ("--num-beams", "3")):
            process = subprocess.Popen([TOOL, "translate", self.model, *flags, "--target-prefix-file", self.path("prefixes"), "-"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **QUICK})
            got = []
            for lines, _ in windows:
                process.stdin.write("".join(line + "\n" for line in lines))
                process.stdin.flush()
                got.append([process.stdout.readline() for _ in lines])
            process.stdin.close()
            process.stdout.close()
            self.assertEqual(process.wait(timeout=400), 0)
            for (lines, prefix), made in zip(windows, got):
                self.assertEqual(made, [self.succeed("translate", self.model, *flags, "--target-prefix", prefix, "--text", line).stdout for line in lines])

    def test_memory_after_many_lines(self):
        for flags in ((), ("--num-beams", "3", "--num-return-sequences", "2")):
            process = subprocess.Popen([TOOL, "translate", self.model, "-t", "2", *flags, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **QUICK})
            resident, results = {}, int(flags[-1]) if flags else 1
            for first in range(0, 1000, 50):
                lines = "".join(" ".join(f"w{(7 * i + k) % 30}" for k in range(1 + i % 40)) + "\n" for i in range(first, first + 50))
                process.stdin.write(lines.encode())
                process.stdin.flush()
                for _ in range(50 * results):
                    self.assertNotEqual(process.stdout.readline(), b"")
                with open(f"/proc/{process.pid}/status") as status:
                    resident[first + 50] = int(re.search(r"VmRSS:\s*(\d+) kB", status.read())[1])
            process.stdin.close()
            process.stdout.close()
            self.assertEqual(process.wait(timeout=400), 0)
            self.assertLess(abs(resident[1000] - resident[200]), 512, resident)


if __name__ == "__main__":
    unittest.main()
