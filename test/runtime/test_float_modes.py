# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In any floating-point mode, an application gets the default mode's bits from each C API function, and its mode is unchanged.
The functions are read from the headers. Standard library only."""
import glob
import os
import re
import subprocess
import sys
import unittest

SOURCE = os.environ["TRANSOM_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "test", "tools", "commands"))

from base import GOLDENS, ToolTest  # noqa: E402

PROGRAM = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "test", "bin", "runtime-float-modes")

# Goldens that together support all functions.
MODELS = (
    "gliner/bert-span",
    "llama-gqa",
    "encoder-decoders/marian",
    "pipelines/late",
    "pipelines/mean",
    "tasks/bert-answers",
    "tasks/bert-entailment",
    "tasks/bert-masks",
    "tasks/bert-rerank",
    "tasks/bert-tags",
)
# Functions that neither compute, read nor print floating-point values.
WITHOUT_NUMBERS = r"""transom_(\w+_init|\w+_free|\w+_name|version|last_error|dtype_size|generation_count|session_cancel
    |session_get_profile|session_get_trace|model_label|model_language_token|model_token_text|model_get_entry|model_get_argument)"""


def declared():
    """The functions that the public headers declare."""
    functions = set()
    for header in glob.glob(os.path.join(SOURCE, "runtime", "include", "transom", "*.h")):
        with open(header) as file:
            functions.update(re.findall(r"TRANSOM_API[^;(]*?\b(transom_\w+)\s*\(", file.read()))
    return functions


class FloatModes(ToolTest):
    def test_bits_and_modes_of_all_functions(self):
        called = set()
        for model in MODELS:
            artifact = self.path(os.path.basename(model) + ".so")
            self.succeed("compile", os.path.join(GOLDENS, model), "-q", "-o", artifact)
            done = subprocess.run([PROGRAM, artifact], capture_output=True, text=True, timeout=400)
            self.assertEqual(done.returncode, 0, f"{model}: {done.stderr}")
            called.update(done.stdout.split())
        self.assertGreater(len(called), 30)
        silent = re.compile(WITHOUT_NUMBERS, re.VERBOSE)
        self.assertEqual({name for name in declared() - called if not silent.fullmatch(name)}, set())


if __name__ == "__main__":
    unittest.main()
