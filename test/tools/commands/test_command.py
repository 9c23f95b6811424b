# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flag values: choices, numbers, sizes, and unsupported flags."""
import os
import unittest

from base import GOLDENS, ToolTest


class Command(ToolTest):
    def test_unknown_value_gets_a_suggestion(self):
        self.fail_with(2, "embed", "m.so", "--text", "a", "--pooling", "maen", says="did you mean 'mean'?")
        self.fail_with(2, "compile", "m", "-o", "x", "--target", "x86-64-v9", says="'x86-64-v9'")
        self.fail_with(2, "compile", "m", "-o", "x", "--emit", "kernel", says="attn-opt")

    def test_numbers_out_of_range(self):
        self.fail_with(2, "bench", "m.so", "-b", "0", says="0")
        self.fail_with(2, "bench", "m.so", "-r", "many", says="'--repeat'")
        self.fail_with(2, "embed", "m.so", "--text", "a", "-t", "0", says="'--threads'")
        self.fail_with(2, "compile", "m", "-o", "x", "--mem-limit", "lots", says="invalid size 'lots' for '--mem-limit': expected bytes, optionally with suffix K, M, G or T")

    def test_what_is_not_supported_is_named(self):
        for flags in (["--quantize", "int8", "--backend", "onednn"], ["--weights", "external"], ["--backend", "onednn", "--dtype", "bf16"]):
            self.fail_with(4, "compile", "m", "-o", "x", *flags, says=flags[-1])
        self.fail_with(4, "compile", "m", "-o", "x", "--weights", "external", says="supported: embed")

    def test_the_help_has_only_what_is_supported(self):
        help = self.succeed("compile", "-h").stdout
        self.assertNotIn("--weights", help)
        for flag in ("--quantize", "--quantize-head", "--quantize-embeddings", "--group-size", "--dtype", "--kv-dtype", "--target", "--backend", "--mem-limit"):
            self.assertIn(flag, help)
        # Flags that are not in the help are not suggested either.
        self.assertNotIn("--weights", self.fail_with(2, "compile", "m", "-o", "x", "--weight", "embed"))

    def test_a_group_size_needs_quantized_weights(self):
        self.fail_with(2, "compile", "m", "-o", "x", "--group-size", "32", says="'--group-size' needs '--quantize'")
        self.fail_with(2, "compile", "m", "-o", "x", "--quantize", "int8", "--group-size", "48", says="48")

    def test_formats_beside_those_of_products(self):
        for flag in ("--quantize-head", "--quantize-embeddings"):
            self.fail_with(2, "compile", "m", "-o", "x", "--quantize", "int8", flag, "int5", says="int5")
            self.fail_with(2, "compile", "m", "-o", "x", "--quantize", "none", flag, "int8", says=f"'{flag}' excludes '--quantize none'")
            self.fail_with(2, "compile", os.path.join(GOLDENS, "bert"), "-o", "x", flag, "int8",
                           says=f"'{flag}' needs '--quantize', or a model with quantized weights")
            self.fail_with(2, "compile", "m", "-o", "x", flag, "none", "--group-size", "32", says="'--group-size' needs '--quantize'")


if __name__ == "__main__":
    unittest.main()
