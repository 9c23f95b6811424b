# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stage folder: its files and its index, and the stage that a path names."""
import hashlib
import json
import os
import resource
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "driver"))

from compiles import ALL_TARGETS  # noqa: E402
from stages import BERT, StagesTest, read, write  # noqa: E402


class StageFiles(StagesTest):
    def test_index_lists_the_files_of_each_instruction_set(self):
        folder = self.dump(BERT, *ALL_TARGETS)
        # Compiling with the folder does not change the artifact.
        self.succeed("compile", BERT, "-q", "-o", self.path("straight.so"), *ALL_TARGETS)
        self.assertEqual(read(self.path("m.so")), read(self.path("straight.so")))
        index = json.loads(read(os.path.join(folder, "index.json")))
        self.assertEqual([(entry["stage"], entry.get("isa")) for entry in index["stages"]], [
            ("attn", None), ("attn-opt", None), ("kern", None),
            ("llvm-ir", "avx2"), ("llvm-ir", "avx512"), ("obj", "avx2"), ("obj", "avx512"),
        ])  # fmt: skip
        for entry in index["stages"]:
            self.assertEqual(hashlib.sha256(read(os.path.join(folder, entry["file"]))).hexdigest(), entry["sha256"])
        self.assertEqual(sorted(os.listdir(folder)), sorted([entry["file"] for entry in index["stages"]] + ["index.json"]))
        # Input and option hashes as in the manifest.
        manifest = json.loads(self.succeed("inspect", self.path("m.so"), "--json").stdout)
        self.assertEqual(index["inputs_sha256"], manifest["inputs_sha256"])
        self.assertEqual(index["options"], manifest["options"])
        # With one instruction set selected, only its code remains.
        self.assertEqual(self.resume(BERT, os.path.join(folder, "obj"), "--target", "x86-64-v4"),
                         read(self.compiled("bert", "--target", "x86-64-v4")))  # fmt: skip

    def test_stages_until_the_one_that_is_emitted(self):
        self.succeed("compile", BERT, "-q", "--emit", "asm", "-o", self.path("m.s"), "--stages", self.path("d"))
        self.assertEqual(sorted(os.listdir(self.path("d"))),
                         ["1-attn.mlir", "2-attn-opt.mlir", "3-kern.mlir", "4-llvm-ir.avx2.ll", "5-asm.avx2.s", "index.json"])  # fmt: skip

    def test_a_failing_compile_changes_nothing(self):
        folder = self.dump(BERT)
        before = {name: read(os.path.join(folder, name)) for name in os.listdir(folder)}
        artifact = read(self.path("m.so"))

        def check(code, *flags, **options):
            self.fail_with(code, "compile", BERT, "-q", "--stages", folder, *flags, **options)
            self.assertEqual({name: read(os.path.join(folder, name)) for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name))}, before)
            self.assertEqual(read(self.path("m.so")), artifact)
            self.assertEqual(sorted(os.listdir(self.folder)), ["m.so", "stages"])

        check(6, "-o", self.path("no/m.so"))
        check(6, "-o", self.path("m.so"), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
        # An index or a stage that cannot be written.
        for name in ("index.json", "5-obj.avx2.o"):
            path, old = os.path.join(folder, name), before.pop(name)
            os.remove(path)
            os.mkdir(path)
            check(6, "-o", self.path("m.so"), says=name)
            os.rmdir(path)
            write(path, old)
            before[name] = old
        # The artifact as one of the stages, by its name and by a link.
        check(2, "-o", os.path.join(folder, "index.json"), says="are one file")
        os.link(os.path.join(folder, "3-kern.mlir"), self.path("link"))
        self.fail_with(2, "compile", BERT, "-q", "--stages", folder, "-o", self.path("link"), says="are one file")

    def test_paths_of_stages(self):
        folder = self.dump(BERT)
        straight = read(self.path("m.so"))
        self.assertEqual(self.resume(BERT, os.path.join(folder, "3-kern.mlir")), straight)
        # A file elsewhere specifies its stage in the first line; no hash protects it.
        moved = shutil.copy(os.path.join(folder, "3-kern.mlir"), self.path("moved.mlir"))
        self.resume(BERT, moved)
        manifest = json.loads(self.succeed("inspect", self.path("resumed.so"), "--json").stdout)
        self.assertEqual(manifest["options"]["resume-from"], "kern sha256:" + hashlib.sha256(read(moved)).hexdigest())
        arguments = ("compile", BERT, "-o", self.path("n.so"), "--resume-from")
        self.fail_with(2, *arguments, folder, says=f"'{folder}' is a folder; expected FOLDER/STAGE, such as '{folder}/kern'")
        self.fail_with(2, *arguments, os.path.join(folder, "asm"), says="does not go on from 'asm'; supported: attn, attn-opt, kern, llvm-ir, obj")
        self.fail_with(6, *arguments, os.path.join(folder, "kerm"), says="no such file; did you mean 'kern'?")
        self.fail_with(6, *arguments, self.path("kern"), says="no such file, and no '" + self.path("index.json"))
        self.fail_with(2, *arguments, os.path.join(folder, "kern"), "--stages", self.path("e"), says="exclude each other")
        write(self.path("plain.mlir"), "module {}\n")
        self.fail_with(3, *arguments, self.path("plain.mlir"), says="plain.mlir: of no known stage; expected a file that 'index.json' beside it lists")

    def test_index_that_is_not_one(self):
        folder = self.dump(BERT)
        path = os.path.join(folder, "index.json")
        index = json.loads(read(path))
        arguments = ("compile", BERT, "-o", self.path("n.so"), "--resume-from", os.path.join(folder, "kern"))
        for change, says in (
            ({"compiler": "0.0.9"}, "written by version '0.0.9' of the compiler"),
            ({"format": "1"}, "'/format': expected an integer"),
            ({"stages": {}}, "'/stages': expected an array"),
            ({"stages": []}, "expected one file of the stage 'kern', got 0"),
            ({"stages": [{"stage": "kerm"}]}, "'/stages/0/stage': unknown stage 'kerm'"),
            ({"stages": [{"stage": "kern", "file": "../m.so", "sha256": ""}]}, "'/stages/0/file': file '../m.so' is not a plain file name"),
        ):
            with self.subTest(says=says):
                write(path, json.dumps({**index, **change}))
                self.assertIn("index.json", self.fail_with(3, *arguments, says=says))
        write(path, "{")
        self.fail_with(3, *arguments, says="index.json:1:2")


if __name__ == "__main__":
    unittest.main()
