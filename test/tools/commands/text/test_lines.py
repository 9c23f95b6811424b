# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands that read lines from stdin answer each line as it comes, and report texts per second."""
import json
import os
import select
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import QUICK, TOOL  # noqa: E402
from texts import TextsTest  # noqa: E402


class Lines(TextsTest):
    def test_each_line_is_answered_before_the_next_is_written(self):
        for command, model in (("tokenize", "bert"), ("embed", "bert"), ("classify", "bert-classify")):
            process = subprocess.Popen([TOOL, command, self.models[model], "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **QUICK})
            for text in ("the cat", "", "the dog sat"):
                process.stdin.write(text.encode() + b"\n")
                process.stdin.flush()
                self.assertTrue(select.select([process.stdout], [], [], 400)[0], f"{command} does not answer '{text}'")
                self.assertEqual(json.loads(process.stdout.readline())["text"], text)
            # The last line may lack its end.
            process.stdin.write(b"cat")
            process.stdin.close()
            self.assertEqual(json.loads(process.stdout.read())["text"], "cat")
            process.stdout.close()
            self.assertEqual(process.wait(timeout=400), 0)

    def test_half_a_line_is_waited_for(self):
        process = subprocess.Popen([TOOL, "tokenize", self.models["bert"], "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **QUICK})
        for piece in (b"the ca", b"t\nthe", b" dog\r\n"):
            process.stdin.write(piece)
            process.stdin.flush()
        process.stdin.close()
        self.assertEqual([json.loads(line)["text"] for line in process.stdout], ["the cat", "the dog"])
        process.stdout.close()
        self.assertEqual(process.wait(timeout=400), 0)

    def test_long_lines(self):
        text = "cat " * 100000
        (line,) = self.lines("tokenize", self.models["bert"], "-q", "-", input=text + "\n")
        self.assertEqual(line["text"], text)

    def test_progress_as_json(self):
        result = self.succeed("tokenize", self.models["bert"], "--progress", "json", "-", input="the cat\n" * 1000)
        report = json.loads(result.stderr.splitlines()[-1])
        self.assertEqual(report["texts"], 1000)
        self.assertGreater(report["texts_per_s"], 0)
        self.assertEqual(self.succeed("tokenize", self.models["bert"], "-", input="the cat\n" * 1000).stderr, "")

    def test_no_progress_of_texts_in_flags(self):
        self.assertEqual(self.succeed("tokenize", self.models["bert"], "--progress", "json", "--text", "cat").stderr, "")


if __name__ == "__main__":
    unittest.main()
