# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model with adapters, compiled for each task: results, manifest, and the machine code check."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools", "commands"))

from base import GOLDENS, ToolTest, goldens  # noqa: E402

FOLDER = os.path.join(GOLDENS, "xlm-roberta-flash")
TASKS = ("retrieval.query", "separation", "matching")


class Adapters(ToolTest):
    def results(self, artifact, case):
        taken = self.path("out.safetensors")
        self.succeed("run", artifact, "encode", "--in", os.path.join(FOLDER, f"encode.{case}.in.safetensors"), "--out", taken)
        return goldens.read_tensors(taken)

    def test_tasks(self):
        for task in TASKS:
            artifact = self.path(task + ".so")
            self.succeed("compile", FOLDER, "--task", task, "-O0", "-o", artifact)
            for case in range(3):
                found = self.results(artifact, case)
                expected = goldens.read_tensors(os.path.join(FOLDER, f"{task}.{case}.out.safetensors"))
                for name, (shape, values) in expected.items():
                    self.assertEqual(found[name][0], shape)
                    self.assertLess(max(abs(a - b) for a, b in zip(found[name][1], values)), 2e-4, (task, case, name))

    def test_manifest_and_code(self):
        artifact = self.path("matching.so")
        self.succeed("compile", FOLDER, "--task", "matching", "-O0", "-o", artifact)
        inspected = json.loads(self.succeed("inspect", "--json", artifact).stdout)
        self.assertEqual(inspected["options"]["task"], "matching")
        self.succeed("verify", artifact, "--model", FOLDER)

    def test_wrong_task(self):
        self.fail_with(2, "compile", FOLDER, "--task", "match", "-o", self.path("x.so"),
                       says="'--task match': the tasks of config.json are " + ", ".join(TASKS))


if __name__ == "__main__":
    unittest.main()
