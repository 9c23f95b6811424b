# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs compare-builds on a build and on copies with a planted difference, and
# checks each kind for --allow on small records.
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

SOURCE, BINARY = os.environ["TRANSOM_SOURCE_DIR"], os.environ["TRANSOM_BINARY_DIR"]
TOOLS = os.path.join(SOURCE, "tools", "dev")
TOOL = os.path.join(BINARY, "bin", "transom")
sys.dont_write_bytecode = True
sys.path.insert(0, TOOLS)
from builds_program import condense, digest_artifact, parse_output
from builds_report import ALLOWED, Comparison

# A program that runs transom and then changes the last result byte for one instruction set.
PROGRAM = """#!{python}
import os, subprocess, sys
code = subprocess.run([{tool!r}, *sys.argv[1:]]).returncode
if code == 0 and sys.argv[1] == "run" and os.environ.get("TRANSOM_FORCE_ISA") == {isa!r}:
    with open(sys.argv[sys.argv.index("--out") + 1], "r+b") as file:
        file.seek(-1, os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([byte ^ 1]))
sys.exit(code)
"""
# For each --allow kind: a command, and two records that differ only in this kind.
ENTRIES = [{"name": "step", "flops": "8*rows", "inputs": [{"name": "tokens", "role": "ids"}]}]
DIFFERENT = {
    "abi": ("inspect", {"json": {"abi": 7}, "text": ""}, {"json": {"abi": 8}, "text": ""}),
    "manifest-roles": ("inspect", {"json": {"entries": ENTRIES}}, {"json": {"entries": [{**ENTRIES[0], "inputs": [{"name": "tokens", "role": "tokens"}]}]}}),
    "messages": ("run", {"messages": "no entry", "json": {"why": "a"}}, {"messages": "unknown entry", "json": {"why": "b"}}),
    "ir": ("explain", {"ir": {"kern m": "1"}, "json": {"passes": 1}}, {"ir": {"kern m": "2"}, "json": {"passes": 2}}),
    "code": ("", {"asm": {"m.s": {"f": "1"}}, "code": "1"}, {"asm": {"m.s": {"f": "2"}}, "code": "2"}),
    "weights": ("", {"weights": "1"}, {"weights": "2"}),
    "keys": ("classify", {"json": {"label": "a"}}, {"json": {"label": "a", "score": 1}}),
    "figures": ("inspect", {"json": {"entries": ENTRIES, "file_bytes": 1}}, {"json": {"entries": [{**ENTRIES[0], "flops": "9*rows"}], "file_bytes": 2}}),
    "bytes": ("", {"bytes": "1"}, {"bytes": "2"}),
}


class Records(unittest.TestCase):
    def test_each_kind_permits_its_own_differences_only(self):
        self.assertEqual(set(DIFFERENT), set(ALLOWED))
        for kind, (command, old, new) in DIFFERENT.items():
            with self.subTest(kind):
                others = set(ALLOWED) - {kind}
                self.assertEqual(Comparison().compare(old, old, command), {})
                self.assertTrue(Comparison().compare(old, new, command))
                self.assertEqual(Comparison([kind]).compare(old, new, command), {})
                # Each allowed kind can change artifact bytes.
                self.assertEqual(bool(Comparison(others).compare(old, new, command)), kind != "bytes")

    def test_never_permitted(self):
        old = {"exit": 0, "outputs": {"avx2 a": "1"}, "json": {"label": "a", "score": 1}}
        for new in ({**old, "exit": 1}, {**old, "outputs": {"avx2 a": "2"}}, {**old, "outputs": {}},
                    {**old, "json": {"label": "b", "score": 1}}, {**old, "json": {"label": "a"}}, {**old, "model": "1"}):
            self.assertTrue(Comparison(ALLOWED).compare(old, new, "classify"), new)
            self.assertTrue(Comparison().compare({"commands": {"tag": old}}, {"commands": {"tag": new}}))

    def test_renamed(self):
        old, new = {"json": {"wanted": "64*wanted+rows"}}, {"json": {"indices": "64*indices+rows"}}
        self.assertTrue(Comparison().compare(old, new))
        self.assertEqual(Comparison(names={"wanted": "indices"}).compare(old, new), {})

    def test_times_are_masked(self):
        self.assertEqual(condense({"ms_min": 1.5, "tokens": 3, "seconds": {"code": 2}}), {"ms_min": "(varies)", "tokens": 3, "seconds": {"code": "(varies)"}})
        self.assertEqual(parse_output("took 1.5 s\n", False), {"text": "took (varies)\n"})
        long = [0.5] * 20
        self.assertNotEqual(condense({"embedding": long}), condense({"embedding": [*long[1:], 0.25]}))


class Builds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.record, cls.folder = os.path.join(scratch.name, "record.json"), scratch.name
        done = cls.compare("--record", cls.record, BINARY, "llama-mqa", "--variants", "f32", "--only", "models")
        assert done.returncode == 0, done.stderr

    @staticmethod
    def compare(*arguments):
        return subprocess.run([sys.executable, os.path.join(TOOLS, "compare-builds"), *arguments], capture_output=True, text=True, check=False)

    def compare_with_record(self, build, *flags):
        return self.compare(self.record, build, "llama-mqa", "--variants", "f32", "--only", "models", *flags)

    def test_the_same_build(self):
        done = self.compare_with_record(BINARY)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("models 1 of 1 comparisons\n", done.stdout)

    def test_all_instruction_sets_of_the_artifact(self):
        with open(self.record, encoding="utf-8") as file:
            found = json.load(file)["jobs"]["llama-mqa f32"]
        isas = found["inspect"]["isas"]
        self.assertGreaterEqual(len(isas), 2)
        self.assertEqual({name.split()[0] for name in found["outputs"]}, set(isas))
        self.assertGreaterEqual(sum(name.startswith("avx2 ") for name in found["outputs"]), 4)

    def test_another_byte_in_results(self):
        build = os.path.join(self.folder, "build")
        program = os.path.join(build, "bin", "transom")
        os.makedirs(os.path.dirname(program))
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM.format(python=sys.executable, tool=TOOL, isa="avx2"))
        os.chmod(program, os.stat(program).st_mode | stat.S_IXUSR)
        done = self.compare_with_record(build, "--allow", ",".join(ALLOWED))
        self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
        self.assertIn("outputs: avx2 logits.0", done.stdout)
        self.assertNotIn("outputs: avx512", done.stdout)
        self.assertNotIn("inspect:", done.stdout)

    def test_another_type(self):
        done = self.compare_with_record(BINARY, "--new-flags=--dtype bf16")
        self.assertEqual(done.returncode, 1)
        for part in ("code", "weights", "bytes", "outputs", "inspect"):
            self.assertIn(f"    {part}: ", done.stdout)

    def test_another_byte_in_code(self):
        artifact = os.path.join(self.folder, "m.so")
        subprocess.run([TOOL, "compile", os.path.join(SOURCE, "examples", "tiny-bert"), "-q", "-O0", "--target", "x86-64-v3", "-o", artifact], check=True)
        before, pushes = digest_artifact(artifact), b"\x55\x48\x89\xe5"
        with open(artifact, "rb") as file:
            raw = bytearray(file.read())
        raw[raw.index(pushes)] ^= 1
        with open(artifact, "wb") as file:
            file.write(raw)
        after = digest_artifact(artifact)
        self.assertEqual({key for key in before if before[key] != after[key]}, {"bytes", "code"})

    def test_what_is_refused(self):
        for flags, message in ((["--allow", "all"], "unknown word 'all'"), (["--variants", "f16"], "unknown word 'f16'")):
            done = self.compare(BINARY, BINARY, "--quick", *flags)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)
        self.assertEqual(self.compare(os.path.join(self.folder, "none"), BINARY, "--quick").returncode, 2)
        self.assertEqual(self.compare(BINARY, BINARY, "--quick", "no-such-model").returncode, 2)


if __name__ == "__main__":
    unittest.main()
