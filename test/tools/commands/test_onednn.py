# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The onednn backend: inspect's output, and errors where its library is missing. Standard library only."""
import json
import os
import shutil
import subprocess
import unittest

from base import GOLDENS, TOOL, ToolTest, goldens

INPUT = os.path.join(GOLDENS, "bert", "encode.0.in.safetensors")
EXPECTED = os.path.join(GOLDENS, "bert", "encode.0.out.safetensors")


class OneDnnTest(ToolTest):
    @classmethod
    def model(cls):
        return cls.compiled("bert", "--backend", "onednn")

    def arguments(self, threads="2"):
        return ["run", self.model(), "encode", "--in", INPUT, "--out", self.path("out"), "-t", threads]

    def alone(self):
        """A copy of the tool without a library next to it."""
        tool = shutil.copy(TOOL, self.path("transom"))
        environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
        return subprocess.run([tool, *self.arguments()], capture_output=True, text=True, timeout=400, env=environment)

    def test_inspect_tells_the_backend(self):
        text = self.succeed("inspect", self.model()).stdout
        self.assertIn("backend            onednn; its own memory", text)
        self.assertEqual(json.loads(self.succeed("inspect", "--json", self.model()).stdout)["backend"], "onednn")
        native = self.compiled("bert")
        self.assertNotIn("backend", self.succeed("inspect", native).stdout)
        self.assertEqual(json.loads(self.succeed("inspect", "--json", native).stdout)["backend"], "native")

    def test_weights_lie_in_rows_once(self):
        sizes = [json.loads(self.succeed("inspect", "--json", path).stdout)["weights_bytes"] for path in (self.model(), self.compiled("bert"))]
        self.assertLessEqual(sizes[0], sizes[1])

    def test_environment_twin(self):
        self.succeed("compile", os.path.join(GOLDENS, "bert"), "-o", self.path("m.so"), env={"TRANSOM_BACKEND": "onednn"})
        self.assertIn("backend            onednn", self.succeed("inspect", self.path("m.so")).stdout)

    def test_emitted_kernels_show_the_calls(self):
        text = self.succeed("compile", os.path.join(GOLDENS, "bert"), "--backend", "onednn", "--emit", "kern").stdout
        self.assertIn('kern.onednn <matmul>', text)
        # The remarks before the functions may name products.
        self.assertNotRegex(text, r"(?m)^ *kern\.gemm ")

    def test_no_library(self):
        result = self.alone()
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("backend 'onednn'", result.stderr)
        self.assertIn("libdnnl-dev", result.stderr)

    def test_library_that_does_not_load(self):
        with open(self.path("libtransom-onednn-2.so"), "w") as file:
            file.write("no library")
        result = self.alone()
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("does not load", result.stderr)
        self.assertIn("libdnnl2", result.stderr)

    def test_results_on_any_number_of_threads(self):
        for threads in ("1", "2", "3"):
            result = self.tool(*self.arguments(threads))
            if result.returncode == 4:
                self.skipTest(result.stderr)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIsNone(goldens.difference(goldens.read_tensors(self.path("out")), goldens.read_tensors(EXPECTED), 2e-5, 2e-5))


if __name__ == "__main__":
    unittest.main()
