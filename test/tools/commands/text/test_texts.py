# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command input texts: from flags, files and stdin, and errors for invalid texts."""
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import GOLDENS  # noqa: E402
from texts import TextsTest, tokenizer  # noqa: E402


class Texts(TextsTest):
    def test_sources_of_texts(self):
        model = self.models["bert"]
        with open(self.path("texts"), "w", newline="") as file:
            file.write("the cat\r\n\nthe dog")
        from_file = self.lines("tokenize", model, "--file", self.path("texts"))
        self.assertEqual([line["text"] for line in from_file], ["the cat", "", "the dog"])
        self.assertEqual(from_file, self.lines("tokenize", model, "-", input="the cat\n\nthe dog\n"))
        self.assertEqual(from_file, self.lines("tokenize", model, "--file", "-", input="the cat\n\nthe dog\n"))
        self.assertEqual(from_file, self.lines("tokenize", model, "--text", "the cat", "--text", "", "--text", "the dog"))
        self.assertEqual(self.lines("tokenize", model, "-", input=""), [])
        self.fail_with(6, "tokenize", model, "--file", self.path("none"), says="none")
        self.fail_with(6, "tokenize", model, "--file", self.folder)

    def test_models_without_what_it_takes(self):
        self.fail_with(4, "embed", self.compiled("bert"), "--text", "a", says="no tokenizer")
        self.fail_with(4, "classify", self.models["bert"], "--text", "a", says="head")
        self.fail_with(4, "embed", self.models["bert-classify"], "--text", "a", says="does not embed texts")

    def test_unsupported_tokenizer_leaves_a_note(self):
        folder = self.path("model")
        shutil.copytree(os.path.join(GOLDENS, "bert"), folder)
        with open(os.path.join(folder, "tokenizer.json"), "w") as file:
            json.dump(dict(tokenizer(), model={"type": "Letters", "unk_token": "a", "vocab": {"a": 0}}), file)
        result = self.succeed("compile", folder, "-o", self.path("m.so"))
        self.assertIn("'Letters'", result.stderr)
        self.assertTrue(all(line.startswith("transom: note: ") for line in result.stderr.splitlines()))
        reason = result.stderr.splitlines()[0].removeprefix("transom: note: ").removesuffix("; texts cannot be given")
        for command in ("tokenize", "embed", "fill-mask"):
            self.fail_with(4, command, self.path("m.so"), "--text", "a", says=f"'{self.path('m.so')}' has no tokenizer: {reason}")

    def test_malformed_text_file_is_an_error(self):
        folder = self.path("model")
        shutil.copytree(os.path.join(GOLDENS, "bert"), folder)
        with open(os.path.join(folder, "sentence_bert_config.json"), "w") as file:
            file.write("{")  # not read without modules.json
        for name in ("tokenizer.json", "modules.json"):
            with open(os.path.join(folder, name), "w") as file:
                file.write("{")
            self.fail_with(3, "compile", folder, "-o", self.path("m.so"), says=name)
            os.remove(os.path.join(folder, name))

    def test_text_that_is_not_utf8(self):
        with open(self.path("texts"), "wb") as file:
            file.write(b"a\xff\n")
        self.fail_with(3, "tokenize", self.models["bert"], "--file", self.path("texts"))

    def test_errors_name_the_line_of_the_file(self):
        with open(self.path("texts"), "wb") as file:
            file.write(b"the cat\n" * 300 + b"a\xff\n" + b"the dog\n" * 3)
        for command, model in (("tokenize", "bert"), ("embed", "bert"), ("classify", "bert-classify"), ("classify", "bert-tokens")):
            self.fail_with(3, command, self.models[model], "-q", "--file", self.path("texts"), says=self.path("texts") + ":301: ")
        # One line alone, and the first in a file.
        with open(self.path("texts"), "wb") as file:
            file.write(b"a\xff\n")
        self.fail_with(3, "embed", self.models["bert"], "--file", self.path("texts"), says=self.path("texts") + ":1: ")

    def test_empty_values(self):
        (empty,) = self.lines("tokenize", self.models["bert"], "--text=")
        self.assertEqual(empty["text"], "")
        both = self.lines("tokenize", self.models["bert"], "--text=", "--text", "cat")
        self.assertEqual([line["text"] for line in both], ["", "cat"])


if __name__ == "__main__":
    unittest.main()
