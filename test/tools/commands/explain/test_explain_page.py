# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The explanation page in a browser: all views, the overview, model strings, and paper."""
import os
import subprocess

import made_up
from explain_pages import HTML, TOOL, VIEWS, Browser, main, read_data


class ViewTest(Browser):
    def test_each_view_in_both_themes_and_on_a_phone(self):
        path = self.make(made_up.explanation())
        for theme, size in (("dark", (1360, 800)), ("light", (390, 800))):
            page = self.open(path, theme, size=size)
            self.assertEqual(page.get_attribute("html", "data-theme"), theme)
            for index, view in enumerate(VIEWS):
                page.keyboard.press(str(index + 1))
                page.wait_for_selector(f"html[data-ready={view}]")
                self.assertGreater(len(page.inner_text("#view")), 20)
                # Nothing is wider than the screen.
                self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), size[0])
                self.assertLessEqual(page.evaluate("document.getElementById('view').scrollWidth - document.getElementById('view').clientWidth"), 0, view)

    def test_findings_come_first(self):
        explanation = made_up.explanation()
        explanation["compile"]["disabled_passes"] = [{"pass": "attn-fuse-all", "summary": "fuses all"}]
        page = self.open(self.make(explanation))
        self.assertEqual(page.inner_text(".finding b"), "Pass 'attn-fuse-all' is switched off: it fuses all.")
        self.assertLess(page.locator(".finding").first.bounding_box()["y"], page.locator(".pass-step").first.bounding_box()["y"])

    def test_remarks_of_layers_are_one_and_lead_to_their_pass(self):
        page = self.open(self.make(made_up.explanation(4)))
        messages = page.locator(".remark-item .message").all_inner_texts()
        self.assertEqual(messages, ["the embedding is not fused: it has 2 users", "fused 3 operations ×4"])
        self.assertEqual(page.locator(".remark-item .path").nth(1).inner_text(), "encoder.layer.{0-3}.mlp config.json/hidden_size")
        page.click(".kinds .kind.missed")
        self.assertEqual(page.locator(".remark-item .message").all_inner_texts(), messages[1:])
        page.click(".remark-item")
        self.assertEqual((self.state(page)["view"], self.state(page)["pass"]), ("passes", 1))
        self.assertEqual(page.inner_text("#inspector .title"), "attn.fused")


# Visible words that are split across two lines.
BROKEN_WORDS = """() => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; node = walker.nextNode();) {
    if (!node.parentElement.offsetParent)
      continue;
    for (const {0: word, index} of node.data.matchAll(/[A-Za-z0-9]+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      if (new Set([...range.getClientRects()].map(({top}) => Math.round(top))).size > 1)
        found.push(`${word} in ${node.data.slice(0, 60)}`);
    }
  }
  return found;
}"""


class CompiledTest(Browser):
    def test_views_of_an_example(self):
        path = os.path.join(self.folder, "tiny-bert.html")
        subprocess.run([TOOL, "explain", os.path.join(os.environ["TRANSOM_SOURCE_DIR"], "examples", "tiny-bert"), "--html", path], check=True, stdout=subprocess.DEVNULL)
        page = self.open(path)
        for index, view in enumerate(VIEWS):
            page.keyboard.press(str(index + 1))
            page.wait_for_selector(f"html[data-ready={view}]")
            self.assertFalse("cannot be shown" in page.inner_text("#view"), view)
        page.keyboard.press("2")
        for _ in range(len(read_data(path)["ir"][0])):
            page.keyboard.press("j")
            page.keyboard.press("ArrowDown")
        page.keyboard.press("5")
        page.click(".operations-table .link")
        self.assertTrue(page.is_visible("#inspector"))
        self.assertIn("transom.k.", page.inner_text("#inspector"))


    def test_no_line_ends_inside_of_a_word(self):
        path = os.path.join(self.folder, "words.html")
        flags = ["--other-flags", "--dtype bf16 --disable-pass attn-fuse-attention"]
        subprocess.run([TOOL, "explain", os.path.join(os.environ["TRANSOM_SOURCE_DIR"], "examples", "tiny-bert"), "--html", path, *flags], check=True, stdout=subprocess.DEVNULL)
        for width in (1280, 900, 420):
            page = self.open(path, size=(width, 900))
            for view in ["overview", "memory", "operations", "compare", "model"]:
                page.evaluate(f"location.hash = '#{view},0,3'")
                page.wait_for_selector(f"html[data-ready={view}]")
                with self.subTest(width=width, view=view):
                    self.assertEqual(page.evaluate(BROKEN_WORDS), [])

    def test_first_interaction(self):
        page = self.open(self.make(made_up.explanation(48)))
        page.keyboard.press("2")
        page.wait_for_selector("html[data-ready=passes]")
        self.frame(page)
        spent = page.evaluate("performance.now()")
        print(f"first interaction: {spent:.0f} ms after the navigation; test/bench/explain-page measures real models")
        self.assertLess(spent, 5000)


class SafetyTest(Browser):
    def test_html_is_text(self):
        one = made_up.rename(made_up.explanation(2), HTML)
        page = self.open(self.make(one, one))
        self.assertEqual(page.locator("#model").text_content(), HTML)
        for key in "123456":
            page.keyboard.press(key)
            for further in ("j", "j", "ArrowDown", "o"):
                page.keyboard.press(further)
                self.assertEqual(page.locator("img").count(), 0)
        page.keyboard.press("2")
        page.click(".pane[data-side=after] .row[data-pair] >> nth=2")
        self.assertEqual(page.locator("img").count(), 0)

    def test_a_long_diff_is_printed_whole(self):
        page = self.open(self.make(made_up.explanation(60)), hash="#passes,0,1", size=(1360, 500))
        page.keyboard.press("F")
        shown = page.locator(".row .text").count()
        page.emulate_media(media="print")
        self.frame(page)
        lines = page.locator(".row .text")
        # Each line on both sides appears once; common lines are shared.
        kinds = page.evaluate("explanation.diff.pairs.map(pair => pair.kind)")
        self.assertEqual(lines.count(), len(kinds) + kinds.count("changed"))
        self.assertGreater(lines.count(), 2 * shown)
        bottom = lines.last.bounding_box()
        self.assertLessEqual(bottom["y"] + bottom["height"], page.evaluate("document.documentElement.scrollHeight"))
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 1360)
        page.emulate_media(media="screen")
        self.frame(page)
        self.assertEqual(page.locator(".row .text").count(), shown)

    def test_print(self):
        page = self.open(self.make(made_up.explanation(30)), size=(1360, 300))
        page.emulate_media(media="print")
        self.assertFalse(page.is_visible("#views"))
        # The complete text is on paper, not only the window's part.
        self.assertGreater(page.evaluate("document.documentElement.scrollHeight"), 600)
        self.assertGreater(len(page.pdf()), 10000)


main()
