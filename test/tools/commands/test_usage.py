# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flags, their values, their twins in the environment, and what misspelt ones get."""
import unittest

from base import ToolTest


class Usage(ToolTest):
    def test_version_and_help(self):
        self.assertRegex(self.succeed("--version").stdout, r"^transom \d+\.\d+\.\d+\n$")
        self.assertIn("compile", self.succeed("--help").stdout)
        for command in ["compile", "run", "embed", "classify", "tokenize", "inspect", "bench"]:
            self.assertIn("Usage: transom " + command, self.succeed(command, "-h").stdout)

    def test_no_command(self):
        self.fail_with(2, says="no command")

    def test_unknown_command_gets_a_suggestion(self):
        self.fail_with(2, "compil", "x", says="did you mean 'compile'?")

    def test_unknown_flag_gets_a_suggestion(self):
        self.fail_with(2, "run", "m.so", "encode", "--in", "a", "--out", "b", "--threds", "2", says="unknown flag '--threds' of 'run'; did you mean '--threads'?")
        self.fail_with(2, "--verson", says="did you mean '--version'?")

    def test_unknown_flag_is_named_before_a_missing_one(self):
        self.fail_with(2, "run", "m.so", "encode", "--inn", "a", "--out", "b", says="'--inn'")

    def test_unknown_value_gets_a_suggestion(self):
        self.fail_with(2, "embed", "m.so", "--text", "a", "--pooling", "maen", says="did you mean 'mean'?")
        self.fail_with(2, "compile", "m", "-o", "x", "--target", "x86-64-v9", says="'x86-64-v9'")
        self.fail_with(2, "compile", "m", "-o", "x", "--emit", "kernel", says="attn-opt")

    def test_missing_things(self):
        self.fail_with(2, "run", says="'MODEL'")
        self.fail_with(2, "run", "m.so", "encode", "--in", says="'--in' needs a value")
        self.fail_with(2, "compile", "m", says="-o")
        self.fail_with(2, "embed", "m.so", says="--text, --file or -")

    def test_numbers_out_of_range(self):
        self.fail_with(2, "bench", "m.so", "-b", "0", says="0")
        self.fail_with(2, "bench", "m.so", "-r", "many", says="'--repeat'")
        self.fail_with(2, "embed", "m.so", "--text", "a", "-t", "0", says="'--threads'")
        self.fail_with(2, "compile", "m", "-o", "x", "--mem-limit", "lots", says="--mem-limit")

    def test_too_many_arguments(self):
        self.fail_with(2, "compile", "a", "b", "-o", "c", says="unexpected argument 'b'")
        self.fail_with(2, "embed", "m.so", "text", says="unexpected argument 'text'")
        self.fail_with(2, "embed", "m.so", "--text", "a", "-", says="exclude each other")

    def test_environment_twin(self):
        self.fail_with(2, "bench", "m.so", env={"TRANSOM_REPEAT": "many"}, says="'--repeat'")
        self.fail_with(2, "embed", "m.so", "--text", "a", env={"TRANSOM_POOLING": "max"}, says="'max'")
        # The flag wins.
        self.fail_with(6, "bench", "m.so", "-r", "1", env={"TRANSOM_REPEAT": "many"}, says="m.so")

    def test_what_is_not_built_is_named(self):
        for flags in (["--quantize", "int8"], ["--weights", "external"], ["--backend", "onednn", "--dtype", "bf16"]):
            self.fail_with(4, "compile", "m", "-o", "x", *flags, says=flags[1])

    def test_missing_files(self):
        for command in (["inspect"], ["bench"], ["embed", "--text", "a"], ["tokenize", "--text", "a"], ["classify", "--text", "a"]):
            self.fail_with(6, command[0], self.path("none.so"), *command[1:], says="none.so")
        self.fail_with(6, "compile", self.path("none"), "-o", self.path("x.so"), says="none")


if __name__ == "__main__":
    unittest.main()
