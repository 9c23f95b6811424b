# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two compilations in the explanation page."""
import json

import made_up
from explain_pages import Browser, main


class CompareTest(Browser):
    def test_two_compilations(self):
        a, b = made_up.explanation(4), made_up.explanation(4, options=[("dtype", "bf16")])
        b["passes"][1]["changed"], b["passes"][1]["ir"], b["passes"][1]["remarks"] = False, None, []
        b["remarks"][3]["message"] = "fused 2 operations"
        b["entries"][0]["arena_bytes"]["value"] *= 2
        page = self.open(self.make(a, b))
        page.keyboard.press("6")
        text = page.inner_text("#view")
        self.assertIn("dtype bf16", text)
        row = page.locator(".comparison tr:has(td:text-is('memory'))")
        self.assertEqual([one.get_attribute("data-value") for one in row.locator(".number").all()], ["12352", "24704"])
        self.assertIn("+100.0 %", row.inner_text())
        self.assertEqual(page.locator(".remark-item .message").all_inner_texts(),
                         ["passed: fused 3 operations", "passed: fused 3 operations", "passed: fused 2 operations"])
        page.keyboard.press("2")
        page.keyboard.press("a")
        self.assertEqual(self.state(page)["model"], 1)

    def test_a_batch_with_padding(self):
        a, b = made_up.explanation(2), made_up.explanation(2)
        b["entries"][0]["padded"]["flops"] = 262144
        page = self.open(self.make(a, b), hash="#compare")
        rows = {row.locator("td").first.inner_text(): row.locator("td.right").all_inner_texts() for row in page.locator(".comparison tbody tr").all()}
        self.assertEqual(rows["work of 2 sequences of 128 and 32 tokens in a batch"][2], "+60.0 %")
        self.assertEqual(rows["of it for padding"], ["0\u202fFLOP", "98.3\u202fkFLOP", "new"])
        page.keyboard.press("1")
        self.assertIn("2 sequences of 128 and 32 tokens; nothing of it for padding", page.inner_text(".tiles"))

    def test_colors_are_those_of_single_amounts(self):
        a, b = made_up.explanation(2), made_up.explanation(2)
        entry = b["entries"][0]
        entry["bf16_flops"]["value"] = entry["flops"]["value"]
        entry["arena_bytes"]["value"] //= 2
        entry["barriers"] += 3
        entry["phases"][1]["flops"]["value"] += 1000
        entry["phases"][1]["bytes"]["value"] -= 64
        page = self.open(self.make(a, b), hash="#compare")

        def colors(label):
            return page.locator(f".comparison tr:has(td:text-is('{label}')) .change").get_attribute("class").split()[2:]

        # Less memory is better, more barriers are worse; work in bf16 is neither.
        self.assertEqual([colors(label) for label in ("memory", "barriers", "of it in bf16")], [["better"], ["worse"], []])
        # A phase with more work and less data has one color for each.
        changes = page.locator(".comparison tr:has-text('mlp') td").last.locator("span")
        self.assertEqual([one.get_attribute("class") for one in changes.all()], ["worse", "better"])

    def test_phases_have_the_names_of_their_projections(self):
        a, b = made_up.explanation(2), made_up.explanation(2)
        for one in (a, b):
            phase = one["entries"][0]["phases"][1]
            phase["place"]["location"] = phase["operations"][0]["place"]["location"] = "{query,key,mixed}"
            phase["operations"][0]["joined"] = ["query", "key"]
        page = self.open(self.make(a, b), hash="#compare")
        self.assertIn("query, key projections", page.locator(".comparison td b").all_inner_texts())
        page.keyboard.press("5")
        self.assertIn("query, key projections", page.locator(".operations-table td.path").all_inner_texts())

    def test_ir_side_by_side(self):
        a, b = made_up.explanation(3), made_up.explanation(3)
        b["passes"][1] |= {"changed": False, "ir": None, "remarks": [], "after": b["imported"]}
        page = self.open(self.make(a, b), hash="#compare", size=(1360, 2000))
        page.click("button:text-is('attn-fuse-all')")
        # A's pass fused; B shows the imported module.
        for side, ir in (("before", a["passes"][1]["ir"]), ("after", b["imported_ir"])):
            page.keyboard.press("F")
            lines = page.locator(f".pane[data-side={side}] .text").all_inner_texts()
            self.assertEqual([line.strip() for line in lines], [line.strip() for line in ir["text"].splitlines()])
        page.keyboard.press("b")
        self.assertEqual(page.evaluate("explanation.diff.pairs.filter(pair => pair.kind === 'removed').length"), 6)
        page.keyboard.press("b")
        page.keyboard.press("g")
        self.assertEqual([text.split()[0] for text in page.locator(".graph-pane .caption").all_inner_texts()], ["A", "B"])

    def test_times_of_two(self):
        def profile(scale, names):
            return [{"entry": "encode", "batch": 1, "seq": 128, "ms_min": 10 * scale, "profile": [
                {"location": "l", "phase": name, "dispatches": 1, "ms": 2 * scale, "share": .2, "gflops": 1, "gbps": 1, "peak_share": .1} for name in names]}]
        a, b = made_up.explanation(4), made_up.explanation(4)
        # In B two layers share a body each.
        phases = b["entries"][0]["phases"]
        halves = [json.loads(json.dumps(phases[1]).replace("{0-3}", layers)) | {"runs": 2, "name": f"half.{layers}"} for layers in ("{0-1}", "{2-3}")]
        b["entries"][0]["phases"] = [phases[0], *halves]
        page = self.open(self.make(a, b, profile=profile(1, ["layer.0.gemm"]), other_profile=profile(3, ["half.{0-1}", "half.{2-3}"])), hash="#compare")
        row = page.locator(".comparison tr:has-text('mlp')")
        self.assertEqual(row.count(), 1)
        self.assertEqual([text.split(" · ")[0] for text in row.locator("td.right").all_inner_texts()], ["2.00\u202fms", "12.00\u202fms", "+10.00\u202fms"])
        self.assertIn("+200.0 %", page.locator(".comparison tr:has-text('time of 1 × 128')").inner_text())

    def test_one_compilation_has_nothing_to_compare(self):
        page = self.open(self.make(made_up.explanation()), hash="#compare")
        page.keyboard.press("6")
        self.assertEqual(self.state(page)["view"], "overview")


main()
