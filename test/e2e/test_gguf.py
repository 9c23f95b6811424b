#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples as GGUF files: their texts return the folders' results, and invalid files are rejected with a one-line error."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import gguf_files

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "bin", "transom")
TEXTS = ["Once upon a time", "The door, 42 transoms; above?", "", "caf\u00e9 <s> \u4e2d\n\n x"]


class Gguf(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def path(self, name):
        return os.path.join(self.scratch, name)

    def run_tool(self, *arguments):
        return subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=200)

    def output(self, *arguments):
        done = self.run_tool(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def compile_both(self, example):
        """Artifacts from a folder and from its GGUF file, which is stored next to another model's files."""
        folder = os.path.join(ROOT, "examples", example)
        gguf_files.convert(folder, self.path("m.gguf"))
        for name in ("config.json", "tokenizer.json", "generation_config.json"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("{ not of this model")
        self.output("compile", folder, "-o", self.path("folder.so"), "-q")
        self.output("compile", self.path("m.gguf"), "-o", self.path("gguf.so"), "-q")
        return self.path("folder.so"), self.path("gguf.so")

    def compare(self, artifacts, command, *arguments):
        one, other = (self.output(command, artifact, *arguments) for artifact in artifacts)
        self.assertEqual(one, other)
        self.assertTrue(one)

    def test_a_decoder(self):
        artifacts = self.compile_both("tiny-llama")
        for text in TEXTS:
            self.compare(artifacts, "tokenize", "--text", text)
        self.compare(artifacts, "generate", "-p", TEXTS[0], "-n", "12", "--temperature", "0")
        self.compare(artifacts, "score", "--text", TEXTS[1])

    def test_an_encoder(self):
        artifacts = self.compile_both("tiny-bert")
        for text in TEXTS:
            self.compare(artifacts, "tokenize", "--text", text)
            self.compare(artifacts, "embed", "--text", text)

    def test_the_first_token_as_the_embedding(self):
        folder = os.path.join(ROOT, "examples", "tiny-bert")
        writer = gguf_files.convert_to(gguf_files.Writer(), folder, "m.gguf")
        writer.set("bert.pooling_type", 2)
        writer.write(self.path("m.gguf"))
        self.output("compile", self.path("m.gguf"), "-o", self.path("m.so"), "-q")
        one, other = (json.loads(self.output("embed", self.path("m.so"), "--text", "a door", *more)) for more in ([], ["--pooling", "cls"]))
        self.assertEqual(one, other)

    def test_an_encoder_without_token_types(self):
        folder, results = os.path.join(ROOT, "examples", "tiny-bert"), []
        for keeps in (True, False):
            writer = gguf_files.convert_to(gguf_files.Writer(), folder, "m.gguf")
            at = next(i for i, tensor in enumerate(writer.tensors) if tensor[0] == "token_types.weight")
            name, shape, values, kind = writer.tensors.pop(at)
            if keeps:
                writer.add(name, shape, [0.0] * len(values), kind)
            writer.write(self.path("m.gguf"))
            self.output("compile", self.path("m.gguf"), "-o", self.path("m.so"), "-q")
            results.append(self.output("embed", self.path("m.so"), "--text", "a door"))
        self.assertEqual(*results)

    def test_pieces_of_xlm_roberta(self):
        folder = os.path.join(ROOT, "test", "goldens", "gguf", "xlm-roberta")
        done = self.run_tool("compile", os.path.join(folder, "model.gguf"), "-o", self.path("m.so"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("'tokenizer.ggml.mask_token_id' is 4294967295, but there are 604 tokens; it was ignored", done.stderr)
        with open(os.path.join(folder, "texts.json"), encoding="utf-8") as file:
            for case in json.load(file):
                line = json.loads(self.output("tokenize", self.path("m.so"), "--text", case["text"], "--json"))
                self.assertEqual(line["ids"], case["ids"], case["text"])

    def test_ids_of_no_token_and_a_factor_of_zero(self):
        folder = os.path.join(ROOT, "examples", "tiny-llama")
        results = []
        for changes in ({}, {"tokenizer.ggml.padding_token_id": 0xFFFFFFFF, "llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 0.0}):
            writer = gguf_files.convert_to(gguf_files.Writer(), folder, "m.gguf")
            for key, value in changes.items():
                writer.set(key, value)
            writer.write(self.path("m.gguf"))
            self.output("compile", self.path("m.gguf"), "-o", self.path("m.so"), "-q")
            results.append(self.output("generate", self.path("m.so"), "-p", TEXTS[0], "-n", "6", "--temperature", "0"))
        self.assertEqual(*results)

    def test_inspect(self):
        folder = os.path.join(ROOT, "examples", "tiny-llama")
        gguf_files.convert(folder, self.path("m.gguf"))
        reports = [json.loads(self.output("inspect", path, "--json")) for path in (folder, self.path("m.gguf"))]
        self.assertEqual(*(report["parameters"] for report in reports))
        self.assertEqual(reports[1]["files"], ["m.gguf"])

    def refuse(self, code, says, change):
        """`change` receives the writer for a valid file, and may return replacement bytes."""
        writer = gguf_files.convert_to(gguf_files.Writer(), os.path.join(ROOT, "examples", "tiny-llama"), "m.gguf")
        change(writer)
        writer.write(self.path("m.gguf"))
        done = self.run_tool("compile", self.path("m.gguf"), "-o", self.path("m.so"))
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(says, done.stderr)
        self.assertFalse(os.path.exists(self.path("m.so")))

    def test_wrong_files(self):
        self.refuse(4, "unsupported architecture 'mamba'; supported: bert", lambda w: w.set("general.architecture", "mamba"))
        self.refuse(4, "'llama.expert_count' is 8, which is not supported", lambda w: w.set("llama.expert_count", 8))
        self.refuse(3, "has no even number of rows for each of 3 heads", lambda w: w.set("llama.attention.head_count_kv", 3))
        self.refuse(3, "m.gguf: 'llama.feed_forward_length'", lambda w: w.set("llama.feed_forward_length", 100))
        self.refuse(3, "tensor 'blk.0.attn_norm.weight' is missing", lambda w: w.tensors.remove(next(t for t in w.tensors if t[0] == "blk.0.attn_norm.weight")))
        self.refuse(3, "tensor 'output_norm.weight' has shape [5], expected", lambda w: self.shorten(w, "output_norm.weight"))

    def shorten(self, writer, name):
        at = next(i for i, tensor in enumerate(writer.tensors) if tensor[0] == name)
        writer.tensors[at] = (name, [5], writer.tensors[at][2][:5], gguf_files.F32)

    def test_a_file_of_a_type_that_is_not_read(self):
        gguf_files.convert(os.path.join(ROOT, "examples", "tiny-llama"), self.path("m.gguf"))
        with open(self.path("m.gguf"), "rb") as file:
            data = bytearray(file.read())
        # A matrix type depends on its name, rank and sizes.
        name = b"blk.0.ffn_up.weight"
        struct.pack_into("<I", data, data.index(name) + len(name) + 4 + 16, 9)
        with open(self.path("m.gguf"), "wb") as file:
            file.write(data)
        done = self.run_tool("compile", self.path("m.gguf"), "-o", self.path("m.so"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("tensor 'blk.0.ffn_up.weight' has the type Q8_1; supported: F32, F16, BF16, F64, Q4_0,", done.stderr)

    def test_a_cut_file(self):
        gguf_files.convert(os.path.join(ROOT, "examples", "tiny-llama"), self.path("m.gguf"))
        os.truncate(self.path("m.gguf"), os.path.getsize(self.path("m.gguf")) // 2)
        done = self.run_tool("compile", self.path("m.gguf"), "-o", self.path("m.so"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"m\.gguf: byte \d+: tensor '[^']+' of \d+ bytes at the offset \d+ reaches beyond the file")


if __name__ == "__main__":
    unittest.main()
