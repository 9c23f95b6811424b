# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verdicts on passes and operation errors in the explanation page."""
import os
import subprocess

import made_up
from explain_pages import HTML, TOOL, Browser, main, read_data


def list_signs(page):
    """Returns the signs for the passes in the list that have one."""
    return page.locator("#passes .pass .verdict").all_inner_texts()


class VerdictsTest(Browser):
    def test_each_pass_has_its_verdict(self):
        page = self.open(self.make(made_up.verify(made_up.explanation())), hash="#passes,0,1")
        page.keyboard.press("x")
        shown = {one.locator(".flag").inner_text(): one.locator(".verdict").all_inner_texts() for one in page.locator("#passes .pass").all()}
        self.assertEqual(shown, {"attn-infer-shapes": [], "attn-fuse-all": ["✓"], "attn-look": [], "convert-attn-to-kern": ["✓"]})
        self.assertEqual(page.inner_text(".diff .head .verdict"), "✓ equal")
        self.assertIn("the same function of weights and inputs", page.get_attribute(".diff .head .verdict", "title"))

    def test_a_difference(self):
        page = self.open(self.make(made_up.verify(made_up.explanation(), "attn-fuse-all")))
        self.assertIn("✗ different", page.inner_text(".verification"))
        # The pass that differs is shown first, before the one that missed something.
        self.assertEqual(self.state(page)["pass"], 1)
        page.click(".verification .link")
        self.assertEqual((self.state(page)["view"], self.state(page)["pass"]), ("passes", 1))
        self.assertEqual(page.inner_text(".diff .head .verdict"), "✗ different")
        for text in ("after 'attn-fuse-all': a result differs", "before  %1 = attn.gelu %0", "after   %1 = attn.fused %0", "replay  transom-opt"):
            self.assertIn(text, page.inner_text(".diff .difference"))
        self.assertEqual(list_signs(page), ["✗", "–", "–"])
        page.fill("#search", "different")
        self.assertEqual(page.locator("#passes .pass .flag").all_inner_texts(), ["attn-fuse-all"])

    def test_errors_of_operations(self):
        page = self.open(self.make(made_up.verify(made_up.explanation())), hash="#operations")
        self.assertIn("|bits − float64|", page.inner_text(".head p"))
        # The instruction set with the largest error counts; the tip names all.
        values = {row.locator("td").nth(1).inner_text(): [one.get_attribute("data-value") for one in row.locator(".number").all()][-2:]
                  for row in page.locator(".operations-table tbody tr").all()}
        self.assertEqual({name: [float(value) for value in pair] for name, pair in values.items()},
                         {"embedding the kern.embedding": [0, 0], "product the kern.gemm": [5e-6, 1e-6], "norm the kern.norm": [1e-5, 2e-6]})
        tip = page.locator(".operations-table tr:has-text('the kern.norm') .number").last.get_attribute("title")
        self.assertIn("avx2: 0.000005, relative 0.000001; 64 numbers; largest in a call on avx2", tip)
        self.assertIn("avx512: 0.00001", tip)
        page.click("th:has-text('relative error') button")
        self.assertEqual(page.locator(".operations-table tbody tr td:nth-child(2)").first.inner_text(), "norm the kern.norm")

    def test_one_side_is_no_number(self):
        explanation = made_up.verify(made_up.explanation())
        explanation["entries"][0]["phases"][0]["operations"][0]["errors"] = [{"isa": "avx2", "absolute": None, "relative": None, "numbers": 1, "call": "a call"}]
        page = self.open(self.make(explanation), hash="#operations")
        page.click("th:has-text('relative error') button")
        self.assertIn("no number", page.locator(".operations-table tbody tr").first.inner_text())

    def test_the_overview_says_what_was_checked(self):
        page = self.open(self.make(made_up.verify(made_up.explanation())))
        text = page.inner_text(".verification")
        for words in ("✓ equal", "no difference found", "encode on avx2 the bits of the kern module", "neon: this CPU lacks it"):
            self.assertIn(words, text)
        page.click(".verification summary >> nth=0")
        legend = page.inner_text(".verification .legend")
        for word in ("✓ equal", "✗ different", "unchanged", "– not run", "error", "relative error"):
            self.assertIn(word, legend)

    def test_without_a_verification(self):
        page = self.open(self.make(made_up.explanation()))
        self.assertEqual(page.locator(".verification").count(), 0)
        for key in "25":
            page.keyboard.press(key)
            self.assertEqual(page.locator(".verdict").count(), 0)
        self.assertEqual(page.locator("th").count(), 8)

    def test_two_compilations(self):
        one = made_up.verify(made_up.explanation(), "attn-fuse-all")
        page = self.open(self.make(made_up.explanation(), one), hash="#passes,0,1")
        self.assertEqual(list_signs(page), [])
        page.keyboard.press("a")
        self.assertEqual(list_signs(page), ["✗", "–", "–"])

    def test_html_is_text(self):
        page = self.open(self.make(made_up.rename(made_up.verify(made_up.explanation(2), "attn-fuse-all"), HTML)))
        for key in "125":
            page.keyboard.press(key)
            self.assertEqual(page.locator("img").count(), 0)

    def test_paper(self):
        page = self.open(self.make(made_up.verify(made_up.explanation(), "attn-fuse-all")), size=(1360, 300))
        page.emulate_media(media="print")
        self.assertTrue(page.is_visible(".verification .difference"))
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 1360)


class CompiledTest(Browser):
    def test_views_of_an_example(self):
        path = os.path.join(self.folder, "tiny-bert.html")
        subprocess.run([TOOL, "explain", os.path.join(os.environ["TRANSOM_SOURCE_DIR"], "examples", "tiny-bert"), "--verify", "--html", path], check=True, stdout=subprocess.DEVNULL)
        (explanation,) = read_data(path)["explanations"]
        page = self.open(path, hash="#passes")
        self.assertEqual(list_signs(page), ["✓"] * sum(one["changed"] and not one["isa"] for one in explanation["passes"])
                         + ["–"] * sum((one["changed"] or one["remarks"] != []) and one["isa"] != "" for one in explanation["passes"]))
        page.keyboard.press("5")
        rows = page.locator(".operations-table tbody tr")
        self.assertEqual(rows.count(), sum(len(phase["operations"]) for phase in explanation["entries"][0]["phases"]))
        for row in rows.all():
            error, relative = [float(one.get_attribute("data-value")) for one in row.locator(".number").all()][-2:]
            self.assertLess(relative, 1e-5)
            self.assertGreaterEqual(error, 0)


main()
