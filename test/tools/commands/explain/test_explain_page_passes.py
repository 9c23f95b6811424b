# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes in the explanation page: the list, the IR before and after, the model's JSON, code."""
import json

import made_up
from explain_pages import Browser, main


class PassesTest(Browser):
    def passes(self, page):
        return page.locator("#passes .pass .flag").all_inner_texts()

    def test_search_and_changed_only(self):
        page = self.open(self.make(made_up.explanation()), hash="#passes")
        self.assertEqual(self.passes(page), ["attn-fuse-all", "attn-look", "convert-attn-to-kern"])
        page.keyboard.press("x")
        self.assertEqual(self.passes(page), ["attn-infer-shapes", "attn-fuse-all", "attn-look", "convert-attn-to-kern"])
        page.keyboard.press("/")
        page.keyboard.type("what attn-L")
        self.assertEqual(self.passes(page), ["attn-look"])
        # An IR token that only one pass creates.
        page.fill("#search", "attn.fused")
        self.assertEqual(self.passes(page), ["attn-fuse-all"])
        page.fill("#search", "nothing like this")
        self.assertEqual(page.inner_text("#passes"), "No pass matches.")

    def test_rows_are_the_modules_before_and_after(self):
        explanation = made_up.explanation(3)
        page = self.open(self.make(explanation), hash="#passes,0,1", size=(1360, 3000))
        page.keyboard.press("F")
        for side, ir in (("before", explanation["imported_ir"]), ("after", explanation["passes"][1]["ir"])):
            lines = page.locator(f".pane[data-side={side}] .text").all_inner_texts()
            self.assertEqual([line.strip() for line in lines], [line.strip() for line in ir["text"].splitlines()])
        kinds = page.evaluate("explanation.diff.pairs.map(pair => pair.kind)")
        self.assertEqual((kinds.count("added"), kinds.count("removed"), kinds.count("changed")), (0, 6, 3))

    def test_folds_open(self):
        page = self.open(self.make(made_up.explanation(40)), hash="#passes,0,2", size=(1360, 3000))
        # The pass changed nothing and has one remark at the embedding.
        shown = lambda: page.locator(".pane[data-side=after] .text").count()
        self.assertLess(shown(), 10)
        self.assertEqual(page.locator(".row.remark .bubble").count(), 1)
        page.click(".pane[data-side=before] .fold >> nth=-1")
        self.assertEqual(shown(), 85)
        page.keyboard.press("f")
        self.assertLess(shown(), 10)
        # The function's region folds to its first line and its bracket, on both sides.
        page.click(".pane[data-side=after] .gutter.region")
        for side in ("before", "after"):
            self.assertEqual(page.locator(f".pane[data-side={side}] .text").count(), 4)

    def test_selection_links_both_sides_and_the_code(self):
        assembly = "transom.k.gemm.6:\n\tvfmadd231ps\n\tretq\n"
        page = self.open(self.make(made_up.explanation(3), assembly=assembly), hash="#passes,0,1", size=(1360, 1400))
        page.click(".pane[data-side=after] .row:has-text('attn.fused') >> nth=1")
        self.assertEqual(page.inner_text("#inspector .title"), "attn.fused")
        self.assertEqual(page.inner_text("#inspector > .path"), "encoder.layer.1.mlp")
        self.assertEqual(page.inner_text("#inspector .origin"), "config.json: /hidden_size")
        self.assertEqual(page.locator(".pane[data-side=after] .row.selected").count(), 1)
        self.assertEqual(page.locator(".pane[data-side=before] .row.related .text").all_inner_texts()[0].strip().split(" = ")[1].split(" ")[0], "attn.add")
        self.assertEqual(page.locator("#inspector .step b").all_inner_texts(), ["import", "attn-fuse-all", "convert-attn-to-kern"])
        self.assertEqual(page.locator("#inspector .step span").all_inner_texts(), ["attn.add", "attn.fused", "attn.add"])
        page.click(".assembly summary:has-text('assembly of')")
        self.assertEqual(page.inner_text(".assembly[open] pre").split(), ["vfmadd231ps", "retq"])
        text = page.inner_text("#inspector")
        for expected in ("layer.0.gemm", "6 × 16", "transom.k.gemm.6", "fused 3 operations"):
            self.assertIn(expected, text)
        page.keyboard.press("ArrowLeft")
        self.assertEqual((self.state(page)["where"], page.inner_text("#inspector .title")), ("before", "attn.add"))
        page.keyboard.press("Escape")
        self.assertFalse(page.is_visible("#inspector"))

    def test_from_an_operation_to_its_json_and_back(self):
        config = '{\n  "layers": [\n    {"a": 1}\n  ],\n  "hidden_size": 8\n}\n'
        page = self.open(self.make(made_up.explanation(3), config=config), hash="#passes,0,1,after,3")
        self.assertEqual(page.inner_text("#inspector .excerpt"), '"hidden_size": 8')
        page.keyboard.press("m")
        self.assertEqual(page.locator(".source .row.selected .text").all_inner_texts(), ['  "hidden_size": 8'])
        self.assertEqual(page.inner_text("#inspector > .path"), "config.json: /hidden_size")
        self.assertIn("fused 3 operations", page.inner_text("#inspector"))
        self.assertEqual(page.locator(".source .dot.missed").count(), 1)
        page.click(".source .row >> nth=2")
        self.assertEqual(page.inner_text("#inspector > .path"), "config.json: /layers/0/a")
        self.assertEqual(page.inner_text("#inspector .note"), "none")
        page.click(".source .row >> nth=4")
        page.click("#inspector .op-link >> nth=1")
        self.assertEqual((self.state(page)["view"], page.inner_text("#inspector .title")), ("passes", "attn.norm"))

    def test_json_in_one_line_is_shown_in_several(self):
        config = json.dumps({"text": 'a "quoted" {text} \\' * 40, "a/b": {"~": [1, {"x": None}]}})
        page = self.open(self.make(made_up.explanation(2), config=config), hash="#model")
        for pointer, line in (("/a~1b/~0/1/x", '        "x": null'), ("/a~1b/~0/0", "      1,")):
            page.evaluate("pointer => explanation.select({pointer})", pointer)
            self.assertEqual(page.locator(".source .row.selected .text").all_inner_texts(), [line])

    def test_a_pass_without_ir_has_its_operations(self):
        explanation = made_up.explanation(2)
        explanation["passes"][3]["ir"] = None
        page = self.open(self.make(explanation), hash="#passes,0,3")
        self.assertIn("The page has no IR of this pass", page.inner_text("#view"))
        row = page.locator(".counts tr:has-text('attn.fused')")
        self.assertEqual([one.get_attribute("data-value") for one in row.locator(".number").all()], ["2", "0"])

    def test_code_of_the_last_stage(self):
        explanation = made_up.explanation(2)
        after = explanation["passes"][3]["after"]
        explanation["passes"].append(made_up.explained_pass("convert-kern-to-llvm", "llvm-ir", None, after) | {"isa": "avx2", "changed": True})
        page = self.open(self.make(explanation), hash="#passes,0,4")
        names = page.locator(".functions summary .flag")
        self.assertEqual(names.all_inner_texts(), ["transom.p.avx2.layer.0.gemm.x", "transom.k.gemm.6"])
        names.last.click()
        lines = made_up.CODE.splitlines()
        self.assertEqual(page.locator(".functions pre").text_content().splitlines(), [line[2:] for line in lines[1:9]])
        page.fill(".code-list input", "addressof")
        self.assertEqual(names.all_inner_texts(), ["transom.p.avx2.layer.0.gemm.x"])
        # The same next to an operation that the code computes.
        other = self.open(self.make(explanation), hash="#passes,0,1,after,3")
        self.assertEqual(other.locator("#inspector .assembly summary .flag").all_inner_texts(),
                         ["LLVM dialect of transom.k.gemm.6", "LLVM dialect of transom.p.avx2.layer.0.gemm.x"])

    def test_keys(self):
        page = self.open(self.make(made_up.explanation(40)), hash="#passes,0,1")
        for key, name, value in (("j", "pass", 2), ("j", "pass", 3), ("k", "pass", 2), ("k", "pass", 1), ("g", "view", "graph"), ("g", "view", "passes"), ("x", "changedOnly", False)):
            page.keyboard.press(key)
            self.assertEqual(self.state(page)[name], value, key)
        first = page.evaluate("document.querySelector('.scroller').scrollTop")
        page.keyboard.press("n")
        page.keyboard.press("n")
        self.assertGreater(page.evaluate("document.querySelector('.scroller').scrollTop"), first)
        page.keyboard.press("ArrowDown")
        self.assertTrue(page.is_visible("#inspector"))
        page.keyboard.press("t")
        self.assertEqual(page.get_attribute("html", "data-theme"), "light")
        page.keyboard.press("?")
        self.assertTrue(page.is_visible("#keys"))

    def test_a_link_opens_the_same(self):
        path = self.make(made_up.explanation(5))
        page = self.open(path, hash="#passes,0,1")
        page.click(".pane[data-side=after] .row:has-text('attn.fused') >> nth=2")
        other = self.open(path, hash=page.url[page.url.index("#"):])
        self.assertEqual(other.inner_text("#inspector > .path"), "encoder.layer.2.mlp")
        # The page also opens with an address that does not exist.
        self.open(path, hash="#passes,7,99,after,12345")

    def test_replay(self):
        page = self.open(self.make(made_up.explanation(2, "a model's")), hash="#passes,0,2")
        page.keyboard.press("y")
        page.wait_for_selector("#replay[open]")
        self.assertEqual(page.inner_text("#replay pre").splitlines(), [
            "transom compile 'a model'\\''s' --emit attn --emit-locations -o attn.mlir",
            "transom-opt attn.mlir --stop-after=attn-fuse-all --mlir-print-debuginfo -o before.mlir",
            "transom-opt before.mlir --start-at=attn-look --stop-after=attn-look --mlir-print-debuginfo"])


main()
