# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Golden models for text tasks, with the results from transformers and sentence-transformers."""
import json
import os
import shutil

from base import GOLDENS, ToolTest

TASKS = os.path.join(GOLDENS, "tasks")
TOLERANCE = 1e-5


class TaskTest(ToolTest):
    """A test on the golden models whose folders end in `task`."""

    task = ""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models, cls.expected = {}, {}
        for name in sorted(os.listdir(TASKS)):
            if name.endswith("-" + cls.task):
                cls.models[name] = cls.compiled(os.path.join(TASKS, name))
                with open(os.path.join(TASKS, name, "expected.json")) as file:
                    cls.expected[name] = json.load(file)
        assert len(cls.models) >= 2, cls.task

    def with_settings(self, name, **settings):
        """Compiles a golden model with other tokenizer settings."""
        folder = self.path(name + "-settings")
        shutil.copytree(os.path.join(TASKS, name), folder)
        path = os.path.join(folder, "tokenizer_config.json")
        with open(path) as file:
            config = dict(json.load(file), **settings)
        with open(path, "w") as file:
            json.dump(config, file)
        self.succeed("compile", folder, "-o", folder + ".so")
        return folder + ".so"

    def lines(self, *arguments, **options):
        return [json.loads(line) for line in self.succeed(*arguments, **options).stdout.splitlines()]

    def on_texts(self, command, model, texts, *flags):
        """Returns the lines for texts, each once alone and all in one file: equal bits."""
        alone = [line for text in texts for line in self.lines(command, model, "--text", text, *flags)]
        together = self.lines(command, model, "-", *flags, input="\n".join(texts) + "\n")
        self.assertEqual(alone, together)
        return together

    def assert_like(self, got, wanted, where):
        """Equal except for fractional numbers, which are close."""
        self.assertEqual(type(got), type(wanted), where)
        if isinstance(wanted, dict):
            self.assertEqual(sorted(got), sorted(wanted), where)
            for key in wanted:
                self.assert_like(got[key], wanted[key], f"{where}/{key}")
        elif isinstance(wanted, list):
            self.assertEqual(len(got), len(wanted), where)
            for i, pair in enumerate(zip(got, wanted)):
                self.assert_like(*pair, f"{where}/{i}")
        elif isinstance(wanted, float):
            self.assertAlmostEqual(got, wanted, delta=TOLERANCE, msg=where)
        else:
            self.assertEqual(got, wanted, where)


def count_bytes(text, characters):
    """Converts a character offset to a byte offset."""
    return len(text[:characters].encode())
