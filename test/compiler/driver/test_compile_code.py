# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code for each instruction set: object files, levels, jobs, progress."""
import json
import os
import re
import unittest

from compiles import ALL_TARGETS, BERT, CompileTest


class CompileCode(CompileTest):
    def test_objects_of_each_instruction_set(self):
        self.succeed("compile", BERT, "--emit", "obj", "-o", self.path("m.o"), *ALL_TARGETS)
        self.assertEqual(sorted(os.listdir(self.folder)), ["m.avx2.o", "m.avx512.o"])
        self.succeed("compile", BERT, "--emit", "obj", "-o", self.path("one.o"), "--target", "x86-64-v3")
        self.assertIn("one.o", os.listdir(self.folder))
        self.fail_with(2, "compile", BERT, "--emit", "obj", says="output")

    def test_texts_of_each_instruction_set(self):
        self.succeed("compile", BERT, "-q", "--emit", "llvm-ir", "-o", self.path("m.ll"), *ALL_TARGETS)
        texts = []
        for isa in ("avx2", "avx512"):
            with open(self.path(f"m.{isa}.ll"), encoding="utf-8") as file:
                texts.append(f"; code for {isa}\n" + file.read())
        self.assertEqual(self.succeed("compile", BERT, "-q", "--emit", "llvm-ir", *ALL_TARGETS).stdout, "".join(texts))
        self.assertFalse(self.succeed("compile", BERT, "-q", "--emit", "llvm-ir").stdout.startswith("; code for"))

    def test_compiles_are_reproducible(self):
        for name in ("a.so", "b.so"):
            self.succeed("compile", BERT, "-o", self.path(name), "-q", "--jobs", "1" if name == "a.so" else "2")
        with open(self.path("a.so"), "rb") as a, open(self.path("b.so"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_progress_of_code_counts_functions(self):
        result = self.succeed("compile", BERT, "-o", self.path("m.so"), "-O2", "--progress", "json", "--target", "x86-64-v4")
        code = [json.loads(line) for line in result.stderr.splitlines() if '"code"' in line]
        counts = [line["done"] for line in code[1:]]
        self.assertEqual(counts, sorted(counts))
        self.assertGreater(counts[-1], 0)
        self.assertEqual(counts[-1], code[-1]["total"])

    def test_verbose_tells_what_code_there_is(self):
        says = self.succeed("compile", BERT, "-v", "-o", self.path("m.so"), "--target", "aarch64").stderr
        self.assertRegex(says, r"transom: neon: \d+ phases, \d+ micro-kernels, \d+ bytes of code")

    def test_quick_code_gives_the_same_bits(self):
        results = []
        for level in ("0", "2"):
            model, out = self.path(f"m{level}.so"), self.path(f"out{level}.safetensors")
            self.succeed("compile", BERT, "-q", "-o", model, f"-O{level}")
            self.succeed("run", model, "encode", "--in", os.path.join(BERT, "encode.1.in.safetensors"), "--out", out)
            with open(out, "rb") as file:
                results.append(file.read())
        self.assertEqual(results[0], results[1])
        options = json.loads(self.succeed("inspect", self.path("m0.so"), "--json").stdout)["options"]
        self.assertEqual(options["opt-level"], "0")
        self.fail_with(2, "compile", BERT, "-q", "-o", self.path("m.so"), "-O1")

    def test_kernels_are_named(self):
        asm = self.succeed("compile", BERT, "--emit", "asm", *ALL_TARGETS).stdout
        self.assertTrue(re.search(r"transom\.k\.avx512\.f32\.\d+x\d+", asm))


if __name__ == "__main__":
    unittest.main()
