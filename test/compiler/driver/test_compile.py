# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report, notes, progress and errors of compile."""
import json
import os
import shutil
import struct
import unittest

from compiles import BERT, CompileTest, write_tensors


class Compile(CompileTest):
    def test_unused_tensors_are_noted(self):
        folder = self.path("model")
        shutil.copytree(BERT, folder)
        first, second = "model-1.safetensors", "model-2.safetensors"
        os.rename(os.path.join(folder, "model.safetensors"), os.path.join(folder, first))
        extra = {f"extra.{i}": ("F32", [2], [1.0, 2.0]) for i in range(4)}
        write_tensors(os.path.join(folder, second), extra)
        with open(os.path.join(folder, first), "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            used = json.loads(file.read(length))
        used.pop("__metadata__", None)
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
            json.dump({"weight_map": {**dict.fromkeys(used, first), **dict.fromkeys(extra, second)}}, file)
        says = self.succeed("compile", folder, "-o", self.path("m.so")).stderr
        self.assertIn("transom: note: 4 tensors are not used: 'extra.0', 'extra.1', 'extra.2', ...", says)

    def test_dtype_of_a_cache_needs_a_decoder(self):
        self.fail_with(2, "compile", BERT, "-o", self.path("m.so"), "--kv-dtype", "bf16", says="'--kv-dtype' needs a decoder")
        self.assertEqual(os.listdir(self.folder), [])

    def test_progress_as_json(self):
        result = self.compile("--progress", "json")
        stages = [json.loads(line)["stage"] for line in result.stderr.splitlines()]
        self.assertEqual(stages[0], "import")
        self.assertEqual(stages[-1], "weights")
        # Within a stage it counts up to its end.
        plan = [json.loads(line) for line in result.stderr.splitlines() if '"plan"' in line]
        self.assertGreater(len(plan), 3)
        self.assertEqual([line["done"] for line in plan], list(range(len(plan))))
        self.assertEqual([line["done"] == line["total"] for line in plan[1:]], [False] * (len(plan) - 2) + [True])
        # So does the lowering, up to all passes for all instruction sets.
        lower = [json.loads(line) for line in result.stderr.splitlines() if '"lower"' in line]
        self.assertEqual([line["done"] for line in lower], list(range(len(lower))))
        # The last line in each stage has its total.
        last = {line["stage"]: (line["done"], line["total"]) for line in map(json.loads, result.stderr.splitlines())}
        for stage in ("optimize", "plan", "lower", "code", "weights"):
            self.assertEqual(*last[stage], stage)
            self.assertGreater(last[stage][1], 0, stage)

    def test_report_as_json(self):
        report = json.loads(self.compile("--json").stdout)
        self.assertEqual(report["written"], [self.path("m.so")])
        self.assertGreater(report["parameters"], 0)
        self.assertEqual(list(report["seconds"])[0], "import")
        (code,) = report["code"]
        self.assertEqual(code["isa"], "avx2")
        for count in ("phases", "kernels", "bytes"):
            self.assertGreater(code[count], 0)

    def test_memory_limit_refuses(self):
        self.fail_with(5, "compile", BERT, "-o", self.path("m.so"), "--mem-limit", "1M", says="--mem-limit")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
