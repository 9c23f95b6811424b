# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles resumed from a stage: files that are damaged, edited or from another model."""
import json
import os
import re
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "driver"))

from stages import BERT, EXAMPLES, StagesTest, read, write  # noqa: E402


def replace(old, new):
    """A damage: the first `old` becomes `new`."""

    def damage(text):
        assert old in text, old
        return text.replace(old, new, 1)

    return damage


def substitute(pattern, new):
    def damage(text):
        changed = re.sub(pattern, new, text, count=1)
        assert changed != text, pattern
        return changed

    return damage


# Stage, the change to its file, the error next to the file's name.
DAMAGES = (
    ("attn", lambda text: text[: len(text) // 2], "1-attn.mlir:"),
    ("attn", lambda text: text[:1], "1-attn.mlir:1:1: "),
    ("attn", lambda text: "", "1-attn.mlir: no 'transom.backend' on the module"),
    ("attn", substitute(r"\[batch, seq, \d+\] f32", "[batch, seq, -32] f32"), "size -32 is negative"),
    ("attn", replace("attn.linear", "attn.lineal"), "attn.lineal"),
    ("attn", replace("module attributes {", "module attributes {unknown.dialect = #unknown.attr<1>, "), "unknown"),
    ("attn", lambda text: "ML\xefR" + text, "not the text of a module"),
    ("attn", lambda text: text.split("\n")[0] + "\n\0" + text, "not the text of a module"),
    ("attn", lambda text: text.split("\n")[0] + "\nmodule attributes {a = " + "[" * 100000, "brackets in each other"),
    ("attn-opt", replace('file("embeddings.LayerNorm.bias")', 'file("embeddings.LayerNorm.bia")'), "'embeddings.LayerNorm.bia' is not in"),
    ("attn-opt", substitute(r"attn.weight [^\n]*\n", ""), "2-attn-opt.mlir: "),
    ("kern", substitute(r'kern.arena_bytes = "[^"]*", ', ""), "has no 'kern.arena_bytes'; expected a module of the stage 'kern'"),
    ("kern", replace("kern.arena_bytes = ", "kern.arena_bytes = 7, other = "), "expects a size as 'kern.arena_bytes'"),
    ("kern", substitute(r"kern.weight [^\n]*\n", ""), "3-kern.mlir: "),
    ("llvm-ir", lambda text: text[: len(text) // 2], "llvm-ir: code for 'avx2': line "),
    ("llvm-ir", replace("x86_64", "aarch64"), "is code for 'aarch64"),
    ("llvm-ir", replace("define internal void @", "define internal void @renamed."), "code for 'avx2': line "),
    ("obj", lambda text: text[: len(text) // 3], "3-kern.mlir: does not compile"),
    ("obj", lambda text: "not an object", "3-kern.mlir: does not compile"),
)


class Damages(StagesTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls("dump_once").dump_once()

    def dump_once(self):
        type(self).stages = os.path.join(self.shared, "stages")
        self.succeed("compile", BERT, "-q", "-o", os.path.join(self.shared, "m.so"), "--stages", self.stages)

    def edit(self, stage, change):
        """Copies the folder with a changed stage file."""
        folder = self.path("edited")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.stages, folder)
        (path,) = [os.path.join(folder, name) for name in os.listdir(folder) if re.match(rf"\d-{stage}\.", name)]
        write(path, change(read(path).decode("latin-1")).encode("latin-1"))
        return os.path.join(folder, stage)

    def test_damaged_files(self):
        for number, (stage, damage, says) in enumerate(DAMAGES):
            with self.subTest(stage=stage, number=number):
                place = self.edit(stage, damage)
                says_line = self.fail_with(3, "compile", BERT, "-q", "-o", self.path("n.so"), "--resume-from", place, says=says)
                self.assertIn(self.path("edited"), says_line)
                self.assertFalse(os.path.exists(self.path("n.so")))

    def test_stages_of_another_model(self):
        for model in ("tiny-llama", "tiny-bert"):
            with self.subTest(model=model):
                self.fail_with(3, "compile", os.path.join(EXAMPLES, model), "-o", self.path("n.so"), "--resume-from", os.path.join(self.stages, "kern"),
                               says="3-kern.mlir: weight '")  # fmt: skip

    def test_edited_stage_compiles_and_is_recorded(self):
        def get_options(path):
            return json.loads(self.succeed("inspect", path, "--json").stdout)["options"]

        # The norm epsilon differs from config.json.
        place = self.edit("attn", replace("eps 9.9999999999999998E-13", "eps 1.0E-3"))
        changed = self.resume(BERT, place)
        self.assertNotEqual(changed, read(os.path.join(self.shared, "m.so")))
        self.assertIn("attn sha256:", get_options(self.path("resumed.so"))["resume-from"])
        self.assertNotIn("resume-from", get_options(os.path.join(self.shared, "m.so")))
        # The stage is unchanged, but the model has other files.
        other = shutil.copytree(BERT, self.path("bert"))
        with open(os.path.join(other, "config.json"), "a") as file:
            file.write("\n")
        self.resume(other, os.path.join(self.stages, "kern"))
        self.assertIn("kern sha256:", get_options(self.path("resumed.so"))["resume-from"])

    def test_code_that_llvm_cannot_generate(self):
        # Correct LLVM IR with an instruction that no CPU supports.
        place = self.edit("llvm-ir", replace("\n\n", '\n\ndefine void @wrong() {\n  call void asm sideeffect "no_such_instruction", ""()\n  ret void\n}\n'))
        self.fail_with(3, "compile", BERT, "-q", "-o", self.path("n.so"), "--resume-from", place, says="3-kern.mlir: does not compile")


if __name__ == "__main__":
    unittest.main()
