# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""explain --json: the explanation of a compile, in the published form."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["TRANSOM_SOURCE_DIR"], "test", "tools", "commands", "explain"))
from explains import SOURCE, ExplainTest, read_scores, write_graph


class Explain(ExplainTest):
    def test_form_is_the_published_one(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("jsonschema is not installed")
        with open(os.path.join(SOURCE, "docs", "reference", "explain.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        for model, flags in [("tiny-bert", ["--ir"]), ("tiny-llama", []), ("tiny-nllb", []), ("decomposed-attention", [])]:
            jsonschema.Draft202012Validator(schema).validate(self.explain(self.example(model), *flags))

    def test_same_bytes_each_time(self):
        for flags in [["--json", "--ir"], [], ["-v"]]:
            first, second = (self.succeed("explain", self.example("tiny-bert"), *flags).stdout for _ in range(2))
            self.assertEqual(first, second)
            self.assertNotIn(SOURCE, first)

    def test_counts_of_an_encoder(self):
        told = self.explain(self.example("tiny-bert"))
        self.assertEqual(told["model"]["architecture"], "BertModel")
        self.assertEqual(told["model"]["parameters"], 26272)
        self.assertEqual(told["compile"]["isas"], ["avx2"])
        (entry,) = told["entries"]
        self.assertEqual((entry["name"], entry["kind"], entry["layers"]), ("encode", "encode", 2))
        # 2 layers with 4 d^2 + 2 d ff elements, attention with d for each pair, and the pooler for one row.
        tokens, d, ff = entry["example"]["length"], 32, 64
        products = 2 * (2 * tokens * (4 * d * d + 2 * d * ff) + 4 * tokens * tokens * d) + 2 * d * d
        for name in ["flops", "imported"]:
            cost = entry["flops"] if name == "flops" else told["imported"]["entries"][0]["flops"]
            self.assertGreaterEqual(cost["value"], products)
        self.assertEqual(told["imported"]["entries"][0]["flops"]["value"], products)
        self.assertEqual(sum(phase["runs"] for phase in entry["phases"]), entry["barriers"])
        self.assertEqual(len(entry["order"]), entry["barriers"])

    def test_passes_are_those_of_the_pipeline(self):
        told = self.explain(self.example("tiny-bert"))
        flags = [each["pass"] for each in told["passes"]]
        self.assertEqual(flags[0], "attn-infer-shapes")
        self.assertIn("kern-plan-memory", flags)
        self.assertEqual(flags[-1], "reconcile-unrealized-casts")
        by_flag = {each["pass"]: each for each in told["passes"]}
        self.assertTrue(by_flag["attn-fuse-attention"]["changed"])
        # In each of two layers five operations become one.
        before = told["passes"][flags.index("attn-fuse-attention") - 1]["after"]["operations"]
        after = by_flag["attn-fuse-attention"]["after"]["operations"]
        self.assertEqual((before["attn.softmax"], after.get("attn.softmax", 0), after["attn.sdpa"]), (2, 0, 2))
        indices = [index for each in told["passes"] for index in each["remarks"]]
        self.assertEqual(indices, list(range(len(told["remarks"]))))

    def test_disabled_pass(self):
        told = self.explain(self.example("tiny-bert"), "--disable-pass", "attn-remove-padding")
        (disabled,) = told["compile"]["disabled_passes"]
        self.assertEqual(disabled["pass"], "attn-remove-padding")
        self.assertIn("padding", disabled["summary"])
        self.assertNotIn("attn-remove-padding", [each["pass"] for each in told["passes"]])

    def test_near_miss_names_the_place(self):
        told = self.explain(write_graph(self.folder, read_scores))
        (missed,) = [each for each in told["remarks"] if each["category"] == "attn-fuse-attention"]
        self.assertEqual(missed["kind"], "missed")
        self.assertIn("scores", missed["message"])
        self.assertEqual(missed["place"]["location"], "shares")

    def test_memory_holds_what_lives_at_once(self):
        for model in ["tiny-bert", "tiny-llama"]:
            for entry in self.explain(self.example(model))["entries"]:
                buffers = [(b["offset"]["value"], b["bytes"]["value"], b["first"], b["last"]) for b in entry["buffers"]]
                self.assertEqual(max(offset + size for offset, size, _, _ in buffers) <= entry["arena_bytes"]["value"], True)
                live = lambda step: [(o, n) for o, n, first, last in buffers if first <= step <= last]
                for step in range(len(entry["memory_steps"])):
                    ends = sorted(live(step))
                    for (offset, size), (following, _) in zip(ends, ends[1:]):
                        self.assertLessEqual(offset + size, following)
                self.assertLessEqual(entry["arena_lower_bound"]["value"], entry["arena_bytes"]["value"])

    def test_kernels_are_called_by_phases_that_exist(self):
        told = self.explain(self.example("tiny-llama"), "--target", "x86-64-v3", "--target", "x86-64-v4")
        phases = {phase["name"] for entry in told["entries"] for phase in entry["phases"]}
        tiles = {(kernel["isa"], kernel["rows"], kernel["columns"]) for kernel in told["kernels"]}
        self.assertIn(("avx2", 6, 16), tiles)
        self.assertEqual({isa for isa, _, _ in tiles}, {"avx2", "avx512"})
        for kernel in told["kernels"]:
            self.assertLessEqual(set(kernel["phases"]), phases)

    def test_config_without_weights(self):
        shutil.copy(os.path.join(self.example("tiny-bert"), "config.json"), self.folder)
        alone, whole = self.explain(self.folder), self.explain(self.example("tiny-bert"))
        self.assertEqual((alone["model"]["has_weights"], whole["model"]["has_weights"]), (False, True))
        self.assertEqual(alone["entries"], whole["entries"])

    def test_the_artifact_is_as_without(self):
        # explain does not write files.
        shutil.copytree(self.example("tiny-bert"), self.path("model"))
        before = sorted(os.listdir(self.path("model")))
        self.succeed("explain", self.path("model"), cwd=self.folder)
        self.assertEqual(sorted(os.listdir(self.path("model"))), before)
        self.assertEqual(os.listdir(self.folder), ["model"])

    def test_what_is_observed_is_what_is_compiled(self):
        # The modules in explain equal the modules from a compile without it.
        for stage in ["attn-opt", "kern"]:
            told = self.explain(self.example("tiny-bert"), "--ir")
            last = [each["ir"]["text"] for each in told["passes"] if each["stage"] == stage and each["ir"]][-1]
            written = self.succeed("compile", self.example("tiny-bert"), "--emit", stage).stdout
            # The attributes in a stage's module contain the remarks, too.
            bodies = [text[re.search(r"^  (attn|kern)\.weight ", text, re.M).start():].strip() for text in (last, written)]
            self.assertGreater(len(bodies[0].splitlines()), 60)
            self.assertEqual(*bodies)

    def test_a_pass_runs_again_by_its_name(self):
        # The commands that the page shows for a pass.
        opt = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "bin", "transom-opt")
        if not os.path.exists(opt):
            self.skipTest("there is no transom-opt")
        told = self.explain(self.example("tiny-bert"))
        names = [each["name"] for each in told["passes"]]
        self.succeed("compile", self.example("tiny-bert"), "--emit", "attn", "--emit-locations", "-o", self.path("attn.mlir"))
        for name in ["attn-outline-layers", "kern-fuse-epilogues"]:
            before, after = self.path("before.mlir"), self.path("after.mlir")
            index = names.index(name)
            for source, flags, result in [("attn.mlir", [f"--stop-after={names[index - 1]}"], before), ("before.mlir", [f"--start-at={name}", f"--stop-after={name}"], after)]:
                subprocess.run([opt, self.path(source), *flags, "--mlir-print-debuginfo", "-o", result], check=True)
            with open(after, encoding="utf-8") as file:
                text = file.read()
            for operation in ["attn.sdpa", "attn.linear", "kern.gemm", "kern.attention", "kern.norm"]:
                self.assertEqual(len(re.findall(rf"^ *(%.* = )?{operation} ", text, re.M)), told["passes"][index]["after"]["operations"].get(operation, 0), operation)

    def test_ir_of_passes_that_changed_something(self):
        told = self.explain(self.example("tiny-bert"), "--ir")
        self.assertIn("attn.softmax", told["imported_ir"]["text"])
        for each in told["passes"]:
            self.assertEqual(each["ir"] is not None, each["changed"] and not each["isa"], each["pass"])
        self.assertEqual([each["isa"] for each in told["code"]], told["compile"]["isas"])
        for each in told["code"]:
            for phase in told["entries"][0]["phases"]:
                self.assertTrue(re.search(rf'llvm\.func\s[^@]*@"?transom\.p\.{each["isa"]}\.{re.escape(phase["name"])}\.', each["text"]), phase["name"])
        self.assertEqual(self.explain(self.example("tiny-bert"))["code"], [])

    def test_errors_are_those_of_compile(self):
        def unknown(graph, nodes):
            nodes["scores"]["op"] = "scal"

        path = write_graph(self.folder, unknown)
        said = self.fail_with(4, "explain", path, says="scal")
        self.assertEqual(said, self.fail_with(4, "compile", path, "-o", self.path("x.so"), says="did you mean 'scale'"))
        self.fail_with(2, "explain", self.example("tiny-bert"), "--disable-pass", "attn-fuse-atention", says="did you mean")


if __name__ == "__main__":
    unittest.main()
