# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""explain --verify: a verdict on each pass, an error for each operation, and a wrong pass."""
import json
import os
import re
import shutil
import unittest

from explains import ExplainTest
from base import ALL_TARGETS

# Replaces gelu by its tanh form: wrong on purpose.
WRONG = ["--load-pass-plugin", os.environ["TRANSOM_TANH_GELU"]]


class ExplainVerify(ExplainTest):
    def operations(self, told):
        return [one for entry in told["entries"] for phase in entry["phases"] for one in phase["operations"]]

    def test_examples(self):
        # An encoder, a decoder, encoder-decoders, a graph.
        for model in ["tiny-bert", "tiny-llama", "tiny-nllb", "tiny-t5", "decomposed-attention"]:
            with self.subTest(model=model):
                told = self.explain(self.example(model), "--verify")
                for each in told["passes"]:
                    self.assertEqual(each["verdict"], "not run" if each["isa"] else "equal" if each["changed"] else "unchanged", each["name"])
                changed = {each["pass"] for each in told["passes"] if each["verdict"] == "equal"}
                self.assertLessEqual({"convert-attn-to-kern", "kern-form-phases", "kern-plan-memory"}, changed)
                self.assertGreater(len(self.operations(told)), 8)
                for one in self.operations(told):
                    (error,) = one["errors"]
                    self.assertEqual(error["isa"], "avx2")
                    self.assertGreater(error["numbers"], 0)
                    self.assertLess(error["relative"], 1e-5, one)
                # Rounding is visible: GEMMs have an error, copies have none.
                errors = {kind: [one["errors"][0]["absolute"] for one in self.operations(told) if one["name"] == kind]
                          for kind in ["kern.gemm", "kern.gather_rows"]}
                self.assertGreater(min(errors["kern.gemm"]), 0)
                self.assertEqual(max(errors["kern.gather_rows"], default=0), 0)
                found = told["verification"]
                self.assertEqual((found["verdict"], found["difference"], found["code_difference"], found["not_run"]), ("equal", None, "", []))
                self.assertEqual({each["entry"] for each in found["code"]}, {entry["name"] for entry in told["entries"]})
                self.assertTrue(all(each["dispatches"] > 0 and each["differences"] == 0 for each in found["code"]))

    def test_errors_are_those_of_verify(self):
        told = self.explain(self.example("tiny-bert"), "--verify")
        report = json.loads(self.succeed("verify", self.compiled(self.example("tiny-bert")), "--model", self.example("tiny-bert"), "-s", "1,33", "--json").stdout)
        phases = {each["phase"]: each for each in report["phases"]}
        for phase in told["entries"][0]["phases"]:
            measured = phases[phase["name"]]["operations"]
            self.assertEqual([(one["operation"], one["absolute"], one["relative"]) for one in measured],
                             [(one["name"], one["errors"][0]["absolute"], one["errors"][0]["relative"]) for one in phase["operations"]])

    def test_bf16_rounds_more(self):
        largest = lambda *flags: max(one["errors"][0]["relative"] for one in self.operations(self.explain(self.example("tiny-bert"), "--verify", *flags)))
        self.assertGreater(largest("--dtype", "bf16"), 100 * largest())

    def test_same_bytes_each_time(self):
        first, second = (self.succeed("explain", self.example("tiny-llama"), "--verify", "--json", *ALL_TARGETS).stdout for _ in range(2))
        self.assertEqual(first, second)

    def test_without_the_flag(self):
        told = self.explain(self.example("tiny-bert"))
        self.assertIsNone(told["verification"])
        self.assertEqual({each["verdict"] for each in told["passes"]}, {""})
        self.assertEqual([one["errors"] for one in self.operations(told)], [[]] * len(self.operations(told)))
        checked = self.explain(self.example("tiny-bert"), "--verify")
        for each in checked["passes"]:
            each["verdict"] = ""
        for one in self.operations(checked):
            one["errors"] = []
        checked["verification"] = None
        self.assertEqual(told, checked)

    def test_form_is_the_published_one(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("jsonschema is not installed")
        with open(os.path.join(os.environ["TRANSOM_SOURCE_DIR"], "docs", "reference", "explain.schema.json"), encoding="utf-8") as file:
            validator = jsonschema.Draft202012Validator(json.load(file))
        validator.validate(self.explain(self.example("tiny-bert"), "--verify"))
        validator.validate(self.explain_wrong())

    def explain_wrong(self):
        """Explains a compile with a wrong pass."""
        run = self.tool("explain", self.example("tiny-bert"), "--verify", *WRONG, "--json")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, r"^transom: error: tiny-bert: after 'extension-attn-shaped': .*'attn.activation'")
        told = json.loads(run.stdout)
        replay = told["verification"]["difference"]["replay"]
        self.addCleanup(os.remove, replay.split()[2])
        return told

    def test_a_wrong_pass(self):
        told = self.explain_wrong()
        names = [each["pass"] for each in told["passes"]]
        at = names.index("extension-attn-shaped")
        self.assertEqual([each["verdict"] for each in told["passes"][:at]],
                         ["equal" if each["changed"] else "unchanged" for each in told["passes"][:at]])
        self.assertEqual(told["passes"][at]["verdict"], "different")
        self.assertEqual({each["verdict"] for each in told["passes"][at + 1:]}, {"not run"})
        difference = told["verification"]["difference"]
        self.assertEqual((told["verification"]["verdict"], difference["pass"]), ("different", "extension-attn-shaped"))
        self.assertEqual(difference["location"], "encoder.layer.0.intermediate.intermediate_act_fn")
        self.assertIn("gelu_tanh", difference["after"])
        self.assertIn("--load-pass-plugin", difference["replay"])
        # The code has the bits of its wrong module.
        self.assertTrue(all(each["differences"] == 0 for each in told["verification"]["code"]))
        self.assertTrue(all(one["errors"] for one in self.operations(told)))

        # A saved explanation contains the same verdict, and so does its page.
        saved, page = self.path("saved.json"), self.path("page.html")
        with open(saved, "w", encoding="utf-8") as file:
            json.dump(told, file)
        text = self.tool("explain", saved)
        self.assertEqual(text.returncode, 1)
        self.assertRegex(text.stdout, r"extension-attn-shaped +\d+ +different")
        self.assertRegex(text.stdout, r"attn-fuse-attention +\d+ -> \d+ +not run")
        self.assertIn("gelu_tanh", text.stdout)
        self.fail_with(1, "explain", saved, "--html", page, says="extension-attn-shaped")
        self.assertTrue(os.path.exists(page))

    def test_text(self):
        text = self.succeed("explain", self.example("tiny-bert"), "--verify").stdout
        for line in [r"passes +no difference found \(proved chance of a miss at most 2\^-11\)", r"machine code +entry 'encode' on avx2: the bits of the kern module",
                     r"kern-fuse-norm +\d+ +equal ", r"kern-fuse-cross-layer-norm +\d+ +unchanged ", r"layer +error +what it computes",
                     r" \d\.\de-0[6-8]  attention 2 heads of 16"]:
            self.assertRegex(text, line)
        self.assertRegex(self.succeed("explain", self.example("tiny-bert"), "--verify", "-v").stdout, r"kern\.norm .* error \d\.\de-0[6-8] ")
        plain = self.succeed("explain", self.example("tiny-bert")).stdout
        for word in ["What was checked", "  equal  ", " error"]:
            self.assertNotIn(word, plain)

    def test_what_does_not_run(self):
        shutil.copy(os.path.join(self.example("tiny-bert"), "config.json"), self.folder)
        for arguments, reason in [([self.folder], "a config.json alone has no weights"),
                                  ([self.example("tiny-bert"), "--target", "aarch64"], "machine code: it has code for aarch64, this machine is x86-64")]:
            told = self.explain(*arguments, "--verify")
            self.assertEqual([one["errors"] for one in self.operations(told)], [[]] * len(self.operations(told)))
            self.assertEqual((told["verification"]["verdict"], told["verification"]["code"]), ("equal", []))
            (line,) = told["verification"]["not_run"]
            self.assertIn(reason, line)

    def test_layers_that_are_left_out(self):
        with open(os.path.join(self.example("tiny-bert"), "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        config["num_hidden_layers"] = 9
        with open(self.path("config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        told = self.explain(self.folder, "--verify")
        self.assertIn("passes: layers that are equal to others but for their weights", told["verification"]["not_run"])
        self.assertEqual({each["verdict"] for each in told["passes"] if each["changed"] and not each["isa"]}, {"equal"})

    def test_two_compiles(self):
        page = self.path("page.html")
        self.succeed("explain", self.example("tiny-bert"), "--verify", "--other-flags", "--dtype bf16", "--html", page)
        with open(page, encoding="utf-8") as file:
            data = json.loads(re.search(r'<script type="application/json" id="explanation">(.*?)</script>', file.read(), re.S).group(1))
        self.assertEqual([one["verification"]["verdict"] for one in data["explanations"]], ["equal", "equal"])

    def test_refusals(self):
        saved = self.path("saved.json")
        with open(saved, "w", encoding="utf-8") as file:
            file.write(self.succeed("explain", self.example("tiny-bert"), "--json").stdout)
        self.fail_with(2, "explain", saved, "--verify", says="'--verify' compiles the model again")
        self.fail_with(2, "explain", self.example("tiny-bert"), saved, "--verify", "--html", self.path("page.html"), says="compiles the model again")
        self.fail_with(2, "explain", self.example("tiny-bert"), self.example("tiny-bert"), "--verify", says="'--verify' belongs to one compile or to a page")
        self.fail_with(2, "explain", self.example("tiny-bert"), "--verify", "--model-explorer", self.path("x"), says="without verdicts")


if __name__ == "__main__":
    unittest.main()
