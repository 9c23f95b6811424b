# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compile: output on stdout and the terminal, output files that appear complete or not at all."""
import os
import pty
import resource
import signal
import subprocess
import time
import unittest

from base import QUICK, TOOL
from bert import BERT, CompileTest


class Compile(CompileTest):
    def test_text_stages_go_to_stdout(self):
        says = {"attn": "attn.softmax", "attn-opt": "attn.sdpa", "kern": "kern.gemm", "llvm-ir": "define void @transom.p.avx2.", "asm": ".globl\ttransom.p.avx2."}
        for stage, text in says.items():
            output = self.succeed("compile", BERT, "--emit", stage, "--target", "x86-64-v3").stdout
            self.assertIn(text, output, stage)

    def test_ends_with_one_line_on_a_terminal(self):
        leader, follower = pty.openpty()
        with os.fdopen(leader, "rb", buffering=0) as terminal:
            done = subprocess.run([TOOL, "compile", BERT, "-o", self.path("m.so")], stderr=follower, timeout=400, env={**os.environ, **QUICK})
            os.close(follower)
            self.assertEqual(done.returncode, 0)
            lines = terminal.read(1 << 16).decode().replace("\r\n", "\n").split("\n")
        self.assertRegex(lines[-2], r"transom: wrote '.*m\.so': [\d.]+ [KM]iB, [\d.]+ s, code for avx2$")
        self.assertNotIn("wrote", self.succeed("compile", BERT, "-o", self.path("m.so")).stderr)

    def test_temporary_names_of_others_are_left_alone(self):
        with open(self.path(".m.so.tmp"), "w") as file:
            file.write("mine")
        self.succeed("compile", BERT, "-q", "-o", self.path("m.so"))
        with open(self.path(".m.so.tmp")) as file:
            self.assertEqual(file.read(), "mine")

    def test_stdout_as_output(self):
        text = self.succeed("compile", BERT, "--emit", "attn").stdout
        self.assertEqual(self.succeed("compile", BERT, "--emit", "attn", "-o", "-").stdout, text)
        for stage in ("so", "obj"):
            self.fail_with(2, "compile", BERT, "--emit", stage, "-o", "-", says="stdout")
        self.assertFalse(os.path.exists("-"))

    def test_output_that_cannot_be_written(self):
        self.fail_with(6, "compile", BERT, "-q", "-o", self.path("none/m.so"), says="none")
        os.mkdir(self.path("taken.so"))
        self.fail_with(6, "compile", BERT, "-q", "-o", self.path("taken.so"), says="taken.so")

    def test_full_disk_leaves_nothing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

        self.fail_with(6, "compile", BERT, "-q", "-o", self.path("m.so"), says="cannot write", preexec_fn=limit)
        self.assertEqual(os.listdir(self.folder), [])

    def test_failure_keeps_the_old_file(self):
        self.compile()
        with open(self.path("m.so"), "rb") as file:
            before = file.read()
        self.fail_with(5, "compile", BERT, "-o", self.path("m.so"), "--mem-limit", "1M")
        with open(self.path("m.so"), "rb") as file:
            self.assertEqual(file.read(), before)

    def test_killed_compile_leaves_nothing(self):
        for sent in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            for delay in (0.05, 0.2):
                process = subprocess.Popen([TOOL, "compile", BERT, "-q", "-o", self.path("m.so"), "--target", "x86-64-v3"], stderr=subprocess.DEVNULL)
                time.sleep(delay)
                process.send_signal(sent)
                code = process.wait(timeout=400)
                self.assertIn(code, (0, -sent, 128 + sent))
                # No process can remove its file on SIGKILL; the next compile replaces it.
                left = os.listdir(self.folder)
                self.assertIn(left, (["m.so"],) if code == 0 else ([], ["m.so.partial"] if sent == signal.SIGKILL else []))
                for name in left:
                    os.remove(self.path(name))
        with open(self.path("m.so.partial"), "w") as file:
            file.write("half")
        self.compile()
        self.assertEqual(os.listdir(self.folder), ["m.so"])


if __name__ == "__main__":
    unittest.main()
