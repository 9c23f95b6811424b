# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prompts in files and on stdin: a line is a text, an id list, or an object."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from decoders import DecoderTest, tokenizer  # noqa: E402


class Prompts(DecoderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ids = cls.compiled("gpt2")
        cls.text = cls.variant("gpt2", "text", tokenizer=tokenizer())

    def test_lines_that_are_rejected(self):
        self.fail_with(6, "generate", self.text, "--file", self.path("none"))
        for line, says in (
            ('{"prompt": "a", "ids": [1]}', "expected one of 'prompt' and 'ids'"),
            ('{"promt": "a"}', "did you mean 'prompt'"),
            ("{}", "expected one of"),
            ("5", "a string, a list of ids"),
            ("[1, 2.5]", "/1"),
            ('{"prompt": [1]}', "expected a string"),
            ('{"prompt": "a", "n": 3}', "stdin:2:1: unknown key 'n'; supported: prompt, ids"),
            ('  ["x"]', "stdin:2:4: "),
            ('"a', "stdin:2:"),
            ("plain text", "stdin:2:1: invalid literal; a line is a JSON text, a list of ids, or an object"),
        ):
            self.fail_with(3, "generate", self.text, "-", input='"b"\n' + line + "\n", says=says)

    def test_a_line_after_a_full_batch(self):
        many = self.tool("generate", self.ids, "-", "-n", "1", input="[5]\n" * 300 + "[999]\n")
        self.assertEqual((many.returncode, many.stdout.count("\n")), (3, 256))
        self.assertIn("transom: error: stdin:301: id 999", many.stderr)


if __name__ == "__main__":
    unittest.main()
