# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory and operations in the explanation page: numbers, other sizes, and times."""
import made_up
from explain_pages import Browser, main


class NumbersTest(Browser):
    def test_numbers_are_those_of_the_json(self):
        explanation = made_up.explanation(6)
        page = self.open(self.make(explanation))
        entry = explanation["entries"][0]
        values = lambda selector: [float(one.get_attribute("data-value")) for one in page.locator(f"{selector} .number[data-value]").all()]
        self.assertEqual(values(".tiles")[:5], [entry["flops"]["value"], entry["padded"]["flops"], entry["streamed_bytes"], entry["arena_bytes"]["value"], entry["barriers"]])
        page.keyboard.press("4")
        # The buffers in the fullest step take more than the bound that holds for all sizes.
        self.assertEqual(values(".tiles")[:2], [entry["arena_bytes"]["value"], 4096 + 8256])
        self.assertEqual(values(".buffers"), [8256, 4096, 4096, 0])
        page.keyboard.press("5")
        rows = [[6 * 128000, 6 * (8192 + 4096)], [6 * 2048, 6 * 8192], [1024, 8192]]
        self.assertEqual(values(".operations-table"), [number for flops, size in rows for number in (flops, size, flops / size)])

    def test_other_sizes_give_the_formulas_values(self):
        page = self.open(self.make(made_up.explanation()), hash="#memory")
        page.fill("input[name=length]", "256")
        page.press("input[name=length]", "Enter")
        self.assertEqual(float(page.get_attribute(".tiles .number", "data-value")), 96 * 256 + 64)

    def test_formulas_that_the_page_cannot_follow_keep_their_sizes(self):
        explanation = made_up.explanation()
        explanation["entries"][0]["arena_bytes"]["value"] += 1
        page = self.open(self.make(explanation), hash="#memory")
        self.assertTrue(page.is_disabled("input[name=length]"))
        self.assertEqual(float(page.get_attribute(".tiles .number", "data-value")), explanation["entries"][0]["arena_bytes"]["value"])

    def test_sorting(self):
        page = self.open(self.make(made_up.explanation()), hash="#operations")
        column = lambda: page.locator(".operations-table tbody tr td:nth-child(2)").all_inner_texts()
        self.assertEqual(column(), ["product the kern.gemm", "norm the kern.norm", "embedding the kern.embedding"])
        page.click("th:nth-child(5) button")
        self.assertEqual(column(), ["embedding the kern.embedding", "norm the kern.norm", "product the kern.gemm"])
        page.click("th:nth-child(2) button")
        self.assertEqual(column(), ["embedding the kern.embedding", "norm the kern.norm", "product the kern.gemm"])

    def test_profile(self):
        lines = [{"location": "l", "phase": "layer.0.gemm", "dispatches": 4, "ms": 3.25, "share": .8, "gflops": 40.5, "gbps": 2.5, "peak_share": .75},
                 {"location": "outside dispatches", "phase": "-", "dispatches": 0, "ms": .1, "share": .1, "gflops": 0, "gbps": 0, "peak_share": 0}]
        profile = [{"entry": "encode", "batch": batch, "seq": 128, "ms_min": 4 * batch, "profile": lines} for batch in (1, 8)]
        page = self.open(self.make(made_up.explanation(), profile=profile), hash="#operations")
        row = page.locator(".operations-table tr:has-text('the kern.gemm') .number")
        self.assertEqual([float(one.get_attribute("data-value")) for one in row.all()][-3:], [.00325, 40.5, .75])
        self.assertEqual(page.locator(".operations-table tr:has-text('the kern.norm') .number[data-value]").count(), 3)
        self.assertEqual((page.locator(".point").count(), page.locator(".roof").count()), (1, 1))
        page.click(".measured button >> nth=1")
        self.assertEqual(page.input_value("input[name=batch]"), "8")
        # Sizes that were not measured have no times.
        page.fill("input[name=length]", "64")
        page.press("input[name=length]", "Enter")
        self.assertEqual((page.locator("th").count(), page.locator(".point").count()), (8, 3))

    def test_the_nearer_limit_of_a_profile_counts(self):
        lines = [{"location": "l", "phase": "layer.0.gemm", "dispatches": 4, "ms": 3, "share": .8, "gflops": 40, "gbps": 5, "peak_share": .25}]
        profile = [{"entry": "encode", "batch": 1, "seq": 128, "ms_min": 4, "limit_gflops": 160, "limit_gbps": 10, "profile": lines}]
        page = self.open(self.make(made_up.explanation(), profile=profile), hash="#operations")
        row = page.locator(".operations-table tr:has-text('the kern.gemm')")
        self.assertEqual(float(row.locator(".number").last.get_attribute("data-value")), .5)
        self.assertIn("75.0 %", row.inner_text())
        # Two lines that meet at 16 FLOP for each byte.
        self.assertEqual(page.get_attribute(".roof", "d").count("L"), 2)

    def test_a_buffer_is_named_under_the_pointer(self):
        page = self.open(self.make(made_up.explanation()), hash="#memory")
        box = page.locator(".chart canvas").bounding_box()
        names = set()
        for y in range(30, int(box["height"]) - 30, 20):
            for x in (100, box["width"] - 40):
                page.mouse.move(box["x"] + x, box["y"] + y)
                if page.is_visible("#tip"):
                    names.add(page.inner_text("#tip b"))
        self.assertEqual(names, {"embeddings", "encoder.layer.{0-1}.mlp"})


main()
