# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands and flags, their variables in the environment, and suggestions for misspelt ones."""
import unittest

from base import ToolTest


class Arguments(ToolTest):
    def test_version_and_help(self):
        self.assertRegex(self.succeed("--version").stdout, r"^transom \d+\.\d+\.\d+\n$")
        self.assertIn("compile", self.succeed("--help").stdout)
        for command in ["compile", "run", "embed", "classify", "tokenize", "inspect", "bench"]:
            self.assertIn("Usage: transom " + command, self.succeed(command, "-h").stdout)

    def test_the_help_explains_variables_once(self):
        help = self.succeed("compile", "-h").stdout
        self.assertNotIn("(Env:", help)
        self.assertIn("  -t,--threads N:1 to 1024 ", help)
        self.assertEqual(help.count("TRANSOM_"), 2)
        self.assertIn("TRANSOM_THREADS=4", help)
        self.assertIn("not --output, --load-pass-plugin, --stages, --resume-from", help.replace("\n", " "))

    def test_no_command(self):
        self.fail_with(2, says="no command given")

    def test_unknown_command_gets_a_suggestion(self):
        self.fail_with(2, "compil", "x", says="did you mean 'compile'?")

    def test_unknown_flag_gets_a_suggestion(self):
        self.fail_with(2, "run", "m.so", "encode", "--in", "a", "--out", "b", "--threds", "2", says="unknown flag '--threds' of 'run'; did you mean '--threads'?")
        self.fail_with(2, "--verson", says="did you mean '--version'?")

    def test_unknown_flag_is_named_before_a_missing_one(self):
        self.fail_with(2, "run", "m.so", "encode", "--inn", "a", "--out", "b", says="'--inn'")

    def test_missing_things(self):
        self.fail_with(2, "run", says="'MODEL'")
        self.fail_with(2, "run", "m.so", "encode", "--in", says="'--in' needs a value")
        self.fail_with(2, "compile", "m", says="-o")
        self.fail_with(2, "embed", "m.so", says="--text, --file or -")

    def test_too_many_arguments(self):
        self.fail_with(2, "compile", "a", "b", "-o", "c", says="unexpected argument 'b'")
        self.fail_with(2, "embed", "m.so", "text", says="unexpected argument 'text'")
        self.fail_with(2, "embed", "m.so", "--text", "a", "-", says="exclude each other")

    def test_names_are_continued(self):
        self.fail_with(2, "comp", says="did you mean 'compile'?")
        self.fail_with(2, "run", "m.so", "encode", "--in", "a", "--out", "b", "--thr", "2", says="did you mean '--threads'?")

    def test_single_letters_get_no_suggestion(self):
        for arguments in (["x"], ["-x"], ["embed", "m.so", "--text", "a", "-x"]):
            self.assertNotIn("did you mean", self.fail_with(2, *arguments))

    def test_names_are_escaped_and_shortened(self):
        line = self.fail_with(2, "\x1b[31mred\x07", says="'\\x1b[31mred\\x07'")
        self.assertNotIn("\x1b", line)
        self.assertLess(len(self.fail_with(2, "compile", "--" + "x" * 5000)), 300)
        self.assertNotIn("\x1b", self.fail_with(6, "inspect", self.path("a\x1b[2Jb")))
        self.assertNotIn("\n", self.fail_with(6, "compile", self.path("a\nb"), "-o", "x"))

    def test_empty_value(self):
        self.fail_with(2, "embed", "m.so", "--text", "a", "--pooling=", says="unknown value ''")
        self.fail_with(6, "embed", "none.so", "--text=", says="none.so")

    def test_environment_variable(self):
        self.fail_with(2, "bench", "m.so", env={"TRANSOM_REPEAT": "many"}, says="'--repeat'")
        self.fail_with(2, "embed", "m.so", "--text", "a", env={"TRANSOM_POOLING": "max"}, says="'max'")
        # Errors name it.
        line = self.fail_with(2, "bench", "m.so", env={"TRANSOM_REPEAT": "many"}, says="(from TRANSOM_REPEAT in the environment)")
        self.assertEqual(line.count("TRANSOM_"), 1)
        self.fail_with(2, "embed", "m.so", "--text", "a", env={"TRANSOM_POOLING": "max"}, says="(from TRANSOM_POOLING in the environment)")
        self.fail_with(2, "compile", "m", "-o", "x", env={"TRANSOM_MEM_LIMIT": "lots"}, says="(from TRANSOM_MEM_LIMIT in the environment)")
        self.fail_with(4, "compile", "m", "-o", "x", env={"TRANSOM_WEIGHTS": "external"}, says="(from TRANSOM_WEIGHTS in the environment)")
        self.assertNotIn("environment", self.fail_with(2, "bench", "m.so", "--repeat", "few", env={"TRANSOM_REPEAT": "many"}))
        # The flag wins.
        self.fail_with(6, "bench", "m.so", "-r", "1", env={"TRANSOM_REPEAT": "many"}, says="m.so")


if __name__ == "__main__":
    unittest.main()
