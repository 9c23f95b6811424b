# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""inspect --diff: only the differences between models and artifacts."""
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from base import ALL_TARGETS, GOLDENS, ToolTest, set_weight


class Difference(ToolTest):
    def diff(self, left, right, *flags):
        """The changes by section: {name: (left, right)}."""
        found = json.loads(self.succeed("inspect", left, "--diff", right, "--json", *flags).stdout)
        self.assertEqual(found["equal"], not found["sections"])
        return {section["name"]: {change["name"]: (change["left"], change["right"]) for change in section["changes"]}
                for section in found["sections"]}

    def copy(self, name="bert"):
        shutil.copytree(os.path.join(GOLDENS, name), self.path("copy"))
        return self.path("copy")

    def test_equal(self):
        bert = os.path.join(GOLDENS, "bert")
        for left, right in ((bert, self.copy()), (bert, self.compiled("bert")), (self.compiled("bert"), self.copy_of_artifact())):
            self.assertEqual(self.diff(left, right), {})
            self.assertEqual(self.succeed("inspect", left, "--diff", right).stdout, "no differences\n")

    def copy_of_artifact(self):
        shutil.copy(self.compiled("bert"), self.path("other.so"))
        return self.path("other.so")

    def test_one_weight(self):
        copy = self.copy()
        set_weight(copy, "encoder.layer.1.output.dense.weight", 3, 0.125)
        found = self.diff(os.path.join(GOLDENS, "bert"), copy)
        self.assertEqual(list(found), ["weights"])
        self.assertEqual(list(found["weights"]), ["encoder.layer.1.output.dense.weight"])
        # An artifact contains the complete file's hash.
        mixed = self.diff(self.compiled("bert"), copy)
        self.assertEqual({section: list(changes) for section, changes in mixed.items()}, {"files": ["model.safetensors"]})
        packed = self.diff(self.compiled("bert"), self.compiled(copy))
        self.assertEqual(set(packed), {"files", "weights"})

    def test_a_setting_of_the_config(self):
        copy = self.copy()
        path = os.path.join(copy, "config.json")
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        config["layer_norm_eps"] = 1e-5
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        found = self.diff(os.path.join(GOLDENS, "bert"), copy)
        self.assertEqual(list(found), ["config"])
        self.assertEqual(list(found["config"]), ["/layer_norm_eps"])

    def test_how_it_was_compiled(self):
        found = self.diff(self.compiled("bert"), self.compiled("bert", "--disable-pass", "kern-fuse-norm", *ALL_TARGETS))
        self.assertEqual(found["compile"]["isas"], ("[avx2]", "[avx2, avx512]"))
        self.assertIn("disabled_passes", found["compile"])
        self.assertIn("encode: barriers", found["code"])
        self.assertNotIn("weights", found)

    def test_other_models(self):
        found = self.diff(os.path.join(GOLDENS, "bert"), os.path.join(GOLDENS, "gpt2"))
        self.assertEqual(found["model"]["family"], ("bert", "gpt2"))
        self.assertIn("parameters", found)
        self.assertIn("operations", found)
        text = self.succeed("inspect", os.path.join(GOLDENS, "bert"), "--diff", os.path.join(GOLDENS, "gpt2")).stdout
        self.assertTrue(text.startswith("differences in model ("), text[:80])
        self.assertIn("more; '-v' shows all", text)
        everything = self.succeed("inspect", "-v", os.path.join(GOLDENS, "bert"), "--diff", os.path.join(GOLDENS, "gpt2")).stdout
        self.assertNotIn("more; '-v'", everything)
        self.assertGreater(len(everything), len(text))

    def test_memory(self):
        found = self.diff(os.path.join(GOLDENS, "bert"), self.compiled("bert", "--dtype", "bf16"), "-b", "2", "-s", "16")
        self.assertIn("2 x 16: all_bytes", found["memory"])
        self.assertNotIn("parameters", found)

    def test_what_is_missing(self):
        self.fail_with(6, "inspect", self.compiled("bert"), "--diff", self.path("none.so"), says="none.so")
        self.fail_with(2, "inspect", os.path.join(GOLDENS, "bert"), "--diff", os.path.join(GOLDENS, "bert"), "--graph", "svg", says="--diff")


if __name__ == "__main__":
    unittest.main()
