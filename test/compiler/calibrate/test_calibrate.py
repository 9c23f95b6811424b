# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compile --calibrate: reproducible bytes, results nearer to float32, and errors."""
import importlib
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "driver"))

from compiles import SOURCE, ToolTest  # noqa: E402

sys.dont_write_bytecode = True
sys.path.append(os.path.join(SOURCE, "test", "bench"))
qualities = importlib.import_module("qualities")

LLAMA, BERT = (os.path.join(SOURCE, "examples", "tiny-" + name) for name in ("llama", "bert"))
TEXTS = ["Once upon a time", "A transom is the beam above a door", "The door is open.", "The old man reads a book.", "It is raining today."]


class Calibrate(ToolTest):
    def setUp(self):
        super().setUp()
        self.texts = self.write("texts.txt", "\n".join(TEXTS) + "\n")

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def compile(self, name, *flags, folder=LLAMA):
        self.succeed("compile", folder, "-q", *flags, "-o", self.path(name))
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_the_same_bytes_each_time(self):
        flags = ("--quantize", "int4", "--calibrate", self.texts)
        first = self.compile("a.so", *flags)
        self.assertEqual(self.compile("b.so", *flags, "-t", "1"), first)
        options = json.loads(self.succeed("inspect", "--json", self.path("a.so")).stdout)["options"]
        self.assertEqual(options["calibrate"], "texts.txt")
        without = self.compile("c.so", "--quantize", "int4")
        self.assertEqual(len(first), len(without))
        self.fail_with(4, "verify", self.path("a.so"), "--model", LLAMA, says="was compiled with '--calibrate texts.txt'")

    def test_results_are_nearer_to_float32(self):
        quality = qualities.Quality(os.path.join(os.environ["TRANSOM_BINARY_DIR"], "bin", "transom"), LLAMA, self.folder,
                                    calibration=self.texts)
        inputs = qualities.file_inputs(quality.run, quality.model, self.texts, 4, 12, joined=True)
        rows, _ = qualities.measure_all(quality, inputs, ["int4 32", "int4 128"], self.fail)
        figures = {row["variant"]: row["kl_mean"] for row in rows}
        for group in ("32", "128"):
            self.assertLess(figures[f"int4 {group} calibrated"], figures[f"int4 {group}"])

    def test_encoders(self):
        first = self.compile("a.so", "--quantize", "int8", "--calibrate", self.texts, folder=BERT)
        self.assertNotEqual(first, self.compile("b.so", "--quantize", "int8", folder=BERT))
        self.succeed("embed", self.path("a.so"), "--text", TEXTS[0])

    def test_what_is_refused(self):
        out = ("-o", self.path("x.so"))
        self.fail_with(2, "compile", LLAMA, *out, "--calibrate", self.texts, says="'--calibrate' needs '--quantize'")
        for folder, code, file, says in (
            (LLAMA, 6, self.path("missing.txt"), "missing.txt"),
            (LLAMA, 3, self.write("empty.txt", "\n\n"), "empty.txt: no texts; expected one a line"),
            (os.path.join(SOURCE, "examples", "tiny-nllb"), 4, self.texts, "supported: encoders of token ids and decoders"),
            (os.path.join(SOURCE, "test", "goldens", "llama-gqa"), 4, self.texts, "needs the model's tokenizer"),
        ):
            with self.subTest(says=says):
                self.fail_with(code, "compile", folder, *out, "--quantize", "int8", "--calibrate", file, says=says)


if __name__ == "__main__":
    unittest.main()
