# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands without memory, threads, files or disk space: one line, the exit code 6, and an unchanged old output."""
import os
import resource
import subprocess
import unittest

from base import QUICK, SOURCE, TOOL, ToolTest

FAULTS = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "test", "bin", "libfail-calls.so")
# The count of failing calls tested for each kind, among all calls in a command. More with TRANSOM_FAULTS=N.
SAMPLES = int(os.environ.get("TRANSOM_FAULTS", "2"))
EXAMPLES = os.path.join(SOURCE, "examples")
NOBODY = 65534


class FatalErrors(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.chmod(cls.shared, 0o755)
        cls.bert, cls.llama, cls.nllb = (cls.compiled(os.path.join(EXAMPLES, name)) for name in ("tiny-bert", "tiny-llama", "tiny-nllb"))
        cls.expected = {}

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)
        self.texts = self.path("texts")
        with open(self.texts, "w") as file:
            file.write("a man plays the guitar\nthe door is open\n" * 40)

    def commands(self):
        """{name: (arguments, the output file)}"""
        out = self.path("out")
        bert = os.path.join(EXAMPLES, "tiny-bert")
        return {
            "compile": (("compile", bert, "-o", out), out),
            "emit": (("compile", bert, "--emit", "llvm-ir", "-o", out), out),
            "embed": (("embed", self.bert, "--file", self.texts), None),
            "embed-out": (("embed", self.bert, "--file", self.texts, "-o", out), out),
            "generate": (("generate", self.llama, "-p", "Once upon a time", "--max-new-tokens", "8"), None),
            "translate": (("translate", self.nllb, "--text", "The door is open.", "--target-lang", "deu_Latn", "--num-beams", "2"), None),
            "inspect": (("inspect", self.bert, "--json"), None),
            "inspect-folder": (("inspect", bert), None),
            "explain": (("explain", bert, "--html", out), out),
            "verify": (("verify", bert), None),
            "verify-code": (("verify", self.bert, "--model", bert), None),
            "verify-bits": (("verify", self.bert, "--bits"), None),
            "bench": (("bench", self.bert, "-b", "1", "-s", "8", "-r", "1"), None),
        }

    def start(self, arguments, env=None, **options):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TRANSOM_")}
        environment.update({**QUICK, **(env or {})})
        return subprocess.run([TOOL, *arguments], capture_output=True, timeout=400, env=environment, cwd=self.folder, **options)

    def read(self, path):
        if path is None:
            return None
        with open(path, "rb") as file:
            return file.read()

    def expect(self, name):
        """Returns the output and the files from an undisturbed run, and its call counts by kind."""
        if name not in self.expected:
            arguments, out = self.commands()[name]
            log = self.path("log")
            result = self.start(arguments, {"LD_PRELOAD": FAULTS, "FAIL_LOG": log})
            self.assertEqual(result.returncode, 0, result.stderr)
            counts = dict(line.split() for line in self.read(log).decode().splitlines())
            os.remove(log)
            written = self.read(out)
            if out:
                os.remove(out)
            self.expected[name] = (result.stdout, written, {kind: int(count) for kind, count in counts.items()})
        return self.expected[name]

    def check_fault(self, name, codes=(6,), env=None, **options):
        """A disturbed run ends with one of the codes, one line and the old output; or it succeeds with the same result."""
        arguments, out = self.commands()[name]
        stdout, written, _ = self.expect(name)
        if out:
            with open(out, "w") as file:
                file.write("old")
        before = sorted(os.listdir(self.folder))
        result = self.start(arguments, env, **options)
        where = f"{name} {env} {options}: exit {result.returncode}: {result.stderr.decode()}"
        if name == "embed-out" and os.path.exists(out + ".partial"):
            os.remove(out + ".partial")  # the file that --resume continues
        if result.returncode != 0:
            self.assertIn(result.returncode, codes, where)
            lines = result.stderr.decode().splitlines()
            self.assertEqual(len(lines), 1, where)
            self.assertTrue(lines[0].startswith("transom: error: "), where)
            # The last failure may come after the output is complete.
            self.assertIn(self.read(out), (b"old", written) if out else (None,), where)
        else:
            self.assertEqual(self.read(out), written, where)
            if name != "bench":
                self.assertEqual(result.stdout, stdout, where)
        self.assertEqual(sorted(os.listdir(self.folder)), before, where)
        return result.returncode

    def check_kind(self, kind, codes=(6,), samples=SAMPLES, names=None):
        """Lets single calls fail, and all calls from one on, one after another; returns the count of runs with an error."""
        failed = 0
        for index, name in enumerate(names or self.commands()):
            total = self.expect(name)[2][kind]
            numbers = sorted({1 + (total - 1) * i // (samples + 1) for i in range(samples + 2)}) if total else []
            for i, number in enumerate(numbers):
                count = str((index + i) % 2)
                with self.subTest(command=name, kind=kind, number=number, count=count):
                    env = {"LD_PRELOAD": FAULTS, "FAIL_CALL": kind, "FAIL_AT": str(number), "FAIL_COUNT": count}
                    failed += self.check_fault(name, codes, env) != 0
        return failed

    def test_memory(self):
        self.assertGreater(self.check_kind("malloc"), 0)
        # A session whose memory is refused exceeds a limit.
        self.assertGreater(self.check_kind("mmap", (5, 6)), 0)

    def test_files(self):
        self.assertGreater(self.check_kind("open"), 0)
        self.assertGreater(self.check_kind("read"), 0)
        self.assertGreater(self.check_kind("write"), 0)

    def test_without_threads_the_caller_does_the_work(self):
        none = {"LD_PRELOAD": FAULTS, "FAIL_CALL": "thread", "FAIL_AT": "1", "FAIL_COUNT": "0"}
        for name in self.commands():
            # bench measures with the thread count that it reports.
            codes = (6,) if name == "bench" else ()
            with self.subTest(command=name):
                self.check_fault(name, codes, none)

    def check_limit(self, kind, values, names, prepare=lambda: None):
        """Runs commands under a system limit."""
        def limit(value):
            def apply():
                resource.setrlimit(kind, (value, value))
                prepare()
            return apply
        return [self.check_fault(name, preexec_fn=limit(value)) for name in names for value in values]

    def test_limits_of_the_system(self):
        names = ("compile", "embed")
        for name in names:
            self.expect(name)
        # The code's temporary files are files, too.
        self.assertEqual(set(self.check_limit(resource.RLIMIT_FSIZE, (0, 20000), ("compile", "emit"))), {6})
        self.assertIn(6, self.check_limit(resource.RLIMIT_NOFILE, (4, 6, 9), names))
        self.assertIn(6, self.check_limit(resource.RLIMIT_AS, (100 << 20, 300 << 20, 420 << 20), names))

    def test_another_user_over_the_limit_of_processes(self):
        def become_nobody():
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
        names = ("compile", "embed", "generate")
        for name in names:
            self.expect(name)
        self.assertEqual(set(self.check_limit(resource.RLIMIT_NPROC, (1,), names, become_nobody)), {0})

    def test_a_number_of_threads_that_is_given_is_needed(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU")
        none = {"LD_PRELOAD": FAULTS, "FAIL_CALL": "thread", "FAIL_AT": "1", "FAIL_COUNT": "0"}
        self.fail_with(6, "embed", self.bert, "--text", "a", "-t", "2", env=none, says="cannot start 1 threads, only 0")


if __name__ == "__main__":
    unittest.main()
