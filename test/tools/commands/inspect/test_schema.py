# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The output of inspect --json has the published form, for all kinds of models and artifacts."""
import copy
import json
import os
import sys
import unittest

try:
    import jsonschema
except ImportError:
    print("skipped: jsonschema is not installed")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from base import GOLDENS, SOURCE, ToolTest

EXAMPLES = os.path.join(SOURCE, "examples")
FOLDERS = [os.path.join(EXAMPLES, name) for name in (
    "tiny-bert", "tiny-llama", "tiny-t5", "tiny-nllb", "transformer", "pre-norm", "decoder")] + [
    os.path.join(GOLDENS, name) for name in ("gemma2", "electra-classify", "modernbert-mlm", "gpt2")]
COMPILED = [FOLDERS[i] for i in (0, 1, 2, 4, 8)]


class Schema(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.path.join(SOURCE, "docs", "reference", "inspect.schema.json"), encoding="utf-8") as file:
            cls.schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(cls.schema)

    def check(self, kind, *arguments):
        """Checks the output against its kind's schema, since that schema alone gives specific errors."""
        found = json.loads(self.succeed("inspect", *arguments, "--json").stdout)
        jsonschema.Draft202012Validator({**self.schema["$defs"][kind], "$defs": self.schema["$defs"]}).validate(found)
        jsonschema.Draft202012Validator(self.schema).validate(found)
        return found

    def test_models(self):
        for folder in FOLDERS:
            with self.subTest(folder):
                self.check("model", folder)
        self.check("model", FOLDERS[0], "-b", "2", "-s", "16")
        self.check("model", FOLDERS[1], "-b", "2", "--dtype", "bf16")

    def test_a_config_alone(self):
        os.symlink(os.path.join(FOLDERS[1], "config.json"), self.path("config.json"))
        self.check("model", self.path("config.json"))

    def test_artifacts(self):
        for folder in COMPILED:
            with self.subTest(folder):
                self.check("artifact", self.compiled(folder))
        self.check("artifact", self.compiled(FOLDERS[0]), "--verify", "-b", "2")

    def test_differences(self):
        self.check("difference", FOLDERS[0], "--diff", FOLDERS[0])
        self.check("difference", FOLDERS[0], "--diff", FOLDERS[1])
        self.check("difference", FOLDERS[0], "--diff", self.compiled(FOLDERS[0]))
        self.check("difference", self.compiled(FOLDERS[0]), "--diff", self.compiled(FOLDERS[1]))

    def test_another_form_is_found(self):
        found = self.check("model", FOLDERS[0])
        validator = jsonschema.Draft202012Validator(self.schema)
        for change in (lambda model: model.pop("entries"), lambda model: model.update(extra=1),
                       lambda model: model["parameter_report"].update(tied_head="no"),
                       lambda model: model["entries"][0].pop("flops")):
            broken = copy.deepcopy(found)
            change(broken)
            self.assertFalse(validator.is_valid(broken))


if __name__ == "__main__":
    unittest.main()
