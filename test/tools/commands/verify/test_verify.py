# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""verify --bits: the matrix for real models, compiles, other artifacts, invalid flags."""
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from base import GOLDENS, SOURCE, ToolTest, set_weight

BERT = os.path.join(SOURCE, "examples", "tiny-bert")
LLAMA = os.path.join(SOURCE, "examples", "tiny-llama")
SHORT = ("-s", "1,33", "-t", "3")
OF_STEPS = {"chunking", "neighbours in steps", "cache", "rewinds", "copies", "sources", "steps together"}
OF_COMPILES = {"compiled twice", "other --jobs", "other folder", "compiled here"}
OF_CALLS = {"run", "process", "threads", "host threads", "batch size", "position", "neighbours", "padding", "all together",
            "instruction set"}


class Verify(ToolTest):
    def verify(self, *arguments, code=0, **options):
        """The cells by axis, and by entry and axis."""
        result = self.tool("verify", "--bits", *arguments, "--json", **options)
        self.assertEqual(result.returncode, code, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["equal"], code == 0)
        return {(cell.get("entry"), cell["axis"]): cell for cell in report["cells"]}

    def verdicts(self, cells, entry, axes):
        return {axis: cells[entry, axis]["verdict"] for axis in axes}

    def test_encoder(self):
        cells = self.verify(self.compiled(BERT), *SHORT)
        ran = self.verdicts(cells, "encode", OF_CALLS)
        self.assertEqual(ran.pop("instruction set"), "not applicable")
        self.assertEqual(set(ran.values()), {"equal"}, ran)
        self.assertEqual(set(self.verdicts(cells, None, OF_STEPS).values()), {"not applicable"})
        self.assertEqual(set(self.verdicts(cells, None, OF_COMPILES).values()), {"not run"})
        self.assertIn("--model", cells[None, "compiled twice"]["text"])
        self.assertIn("avx2 alone", cells["encode", "instruction set"]["text"])
        self.assertGreaterEqual(cells["encode", "process"]["comparisons"], 2)

    def test_decoder(self):
        cells = self.verify(self.compiled(LLAMA), *SHORT)
        self.assertEqual(set(self.verdicts(cells, "logits", OF_CALLS - {"instruction set"}).values()), {"equal"})
        steps = self.verdicts(cells, "step", OF_STEPS)
        self.assertEqual(steps.pop("sources"), "not applicable")
        self.assertEqual(set(steps.values()), {"equal"})

    def test_text_shows_each_axis(self):
        text = self.succeed("verify", "--bits", self.compiled(LLAMA), *SHORT).stdout
        for axis in OF_CALLS | OF_STEPS | OF_COMPILES:
            self.assertRegex(text, rf"(?m)^  {axis} +\d+  (equal|not applicable|not run) ")
        self.assertIn("random inputs of seed 1, sequences of 1 and 33 tokens", text)
        self.assertRegex(text.splitlines()[-1], r"^\d+ comparisons of \d+ numbers: the same bits wherever they are promised$")

    def test_seed_chooses_inputs(self):
        # Another artifact differs in other bits if its inputs are others.
        changed = self.changed_bert()
        first = [self.verify(self.compiled(BERT), "--compare", changed, "--seed", seed, *SHORT, code=1)["encode", "other artifact"]
                 for seed in ("1", "1", "2")]
        self.assertEqual(first[0], first[1])
        self.assertNotEqual(first[0]["difference"], first[2]["difference"])

    def changed_bert(self):
        """An artifact of the model with one changed weight."""
        folder = self.path("changed")
        if not os.path.exists(folder):
            shutil.copytree(BERT, folder)
            set_weight(folder, "embeddings.LayerNorm.bias", 0, 0.25)
            self.succeed("compile", folder, "-q", "-o", self.path("changed.so"))
        return self.path("changed.so")

    def test_other_artifact(self):
        quick, best = self.compiled(BERT), self.compiled(BERT, "-O2")
        self.assertEqual(self.verify(quick, "--compare", best, *SHORT)["encode", "other artifact"]["verdict"], "equal")
        cell = self.verify(quick, "--compare", self.changed_bert(), *SHORT, code=1)["encode", "other artifact"]
        self.assertEqual((cell["verdict"], cell["promised"]), ("different", True))
        self.assertRegex(cell["difference"], r"is 0x[0-9a-f]{8} \(.*\) in place of 0x[0-9a-f]{8} \(.*\) at \[0, 0, \d+\]")
        says = self.tool("verify", "--bits", quick, "--compare", self.changed_bert(), *SHORT)
        self.assertEqual(says.returncode, 1)
        self.assertEqual(len(says.stderr.splitlines()), 1)
        self.assertIn("other bits on the axis 'other artifact' of 'encode'", says.stderr)
        self.assertIn("differ; first: ", says.stdout)

    def test_compiles(self):
        # The artifact comes from another build: it has one more byte, which nothing uses.
        other = self.path("other.so")
        shutil.copy(self.compiled(BERT), other)
        with open(other, "ab") as file:
            file.write(b"x")
        cells = self.verify(other, "--model", BERT, *SHORT)
        self.assertEqual(self.verdicts(cells, None, OF_COMPILES), {**dict.fromkeys(OF_COMPILES, "equal"), "compiled here": "different"})
        self.assertFalse(cells[None, "compiled here"]["promised"])
        self.assertGreater(cells[None, "other folder"]["numbers"], 10000)

    def test_wrong_model(self):
        self.fail_with(2, "verify", "--bits", self.compiled(BERT), "--model", LLAMA, *SHORT, says="is not the model")
        self.fail_with(6, "verify", "--bits", self.compiled(BERT), "--model", self.path("none"), says="none")

    def test_compile_that_cannot_be_repeated(self):
        artifact = self.path("debug.so")
        self.succeed("compile", BERT, "-q", "-o", artifact, "--debug-info")
        cells = self.verify(artifact, "--model", BERT, *SHORT)
        self.assertIn("'--debug-info'", cells[None, "compiled twice"]["text"])

    def test_flags_that_are_wrong(self):
        artifact = self.compiled(BERT)
        self.fail_with(6, "verify", "--bits", BERT, says="transom compile")
        self.fail_with(6, "verify", "--bits", self.path("none.so"), says="none.so")
        self.fail_with(2, "verify", "--bits", artifact, "-s", "0", says="--seq")
        self.fail_with(6, "verify", "--bits", artifact, "--compare", self.path("none.so"), says="none.so")
        self.fail_with(3, "verify", "--bits", artifact, "--compare", self.compiled(LLAMA), *SHORT, says="no entry 'encode'")
        self.fail_with(4, "verify", "--bits", artifact, env={"TRANSOM_FORCE_ISA": "avx512"}, says="avx512")

    def test_damaged_artifact(self):
        path = self.path("cut.so")
        with open(self.compiled(BERT), "rb") as whole, open(path, "wb") as file:
            data = whole.read()
            file.write(data[:len(data) // 2])
        self.fail_with(3, "verify", "--bits", path, says="cut.so")


class InstructionSets(ToolTest):
    def test_those_that_this_cpu_lacks_are_named(self):
        artifact = self.compiled(BERT, "--target", "x86-64-v3", "--target", "x86-64-v4")
        result = self.succeed("verify", "--bits", artifact, "--json", *SHORT)
        cells = [cell for cell in json.loads(result.stdout)["cells"] if cell["axis"] == "instruction set"]
        self.assertEqual(len(cells), 1)
        self.assertTrue(cells[0]["text"] == "this CPU lacks avx512" if cells[0]["verdict"] == "not run"
                        else cells[0]["verdict"] == "equal", cells)


if __name__ == "__main__":
    unittest.main()
