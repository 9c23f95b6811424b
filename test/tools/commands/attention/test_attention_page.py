# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attention page: its size and contents; and, where Debian's chromium-headless-shell and PyPI's playwright are installed,
its display in a browser. `test_attention_page.py PROGRAM`: PROGRAM creates pages with generated weights."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BROWSER = "/usr/bin/chromium-headless-shell"
# Where the continuous integration installs playwright.
sys.path.append(os.path.join(os.environ["TRANSOM_SOURCE_DIR"], "build", "playwright"))
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None
MISSING = None if sync_playwright and os.path.exists(BROWSER) else "chromium-headless-shell or playwright is not installed"
MAKE = sys.argv.pop(1)
HTML = "</script><img src=x onerror=alert(1)>\u2028"


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def make(self, kind, layers, heads, tokens, form="html"):
        path = os.path.join(self.folder, f"{kind}-{layers}-{heads}-{tokens}.{form}")
        subprocess.run([MAKE, form, kind, str(layers), str(heads), str(tokens), path], check=True)
        return path


class FileTest(Folder):
    def test_sizes(self):
        # A pair's page has the encoder matrices, the decoder matrices with half as many tokens, and the cross attention
        # matrices.
        for kind in ("encoder", "decoder", "pair"):
            for layers, heads, tokens, most in ((12, 12, 128, 4e6), (24, 16, 128, 12e6)):
                path = self.make(kind, layers, heads, tokens)
                self.assertLess(os.path.getsize(path), most, (kind, layers, heads, tokens))
                os.remove(path)
        # 1/24 of the matrices for 24 layers with 16 heads.
        for kind in ("encoder", "pair"):
            path = self.make(kind, 2, 8, 512)
            self.assertLess(24 * os.path.getsize(path), 130e6, kind)
            os.remove(path)

    def test_text_is_data(self):
        with open(self.make("malformed", 1, 2, 4), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("<img", text)
        self.assertNotIn("\u2028", text)
        page = json.loads(re.search(r'<script type="application/json" id="attention">(.*?)</script>', text).group(1))
        self.assertEqual(page["groups"][0]["queries"], [HTML] * 4)

    def test_policy(self):
        with open(self.make("encoder", 1, 1, 2), encoding="utf-8") as file:
            text = file.read()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
        self.assertRegex(policy, r"^default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src 'sha256-[\w+/]{43}=';")
        self.assertNotRegex(re.sub(r'<script type="text/plain".*?</script>', "", text), r"https?://|url\(|@import|<link|<iframe|src=")


class Browser(Folder):
    """Opens pages; each test fails on a network request, on a console error and on a dialog."""

    @classmethod
    def setUpClass(cls):
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        cls.browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        cls.addClassCleanup(cls.browser.close)

    def open(self, path, theme="dark", hash=""):
        context = self.browser.new_context(color_scheme=theme, viewport={"width": 1280, "height": 800})
        self.addCleanup(context.close)
        page = context.new_page()
        page.set_default_timeout(120000)
        self.trouble = []
        page.on("console", lambda message: self.trouble.append(message.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("dialog", lambda dialog: (self.trouble.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: None if request.url.startswith("file:") else self.trouble.append(request.url))
        page.goto(pathlib.Path(path).as_uri() + hash)
        page.wait_for_selector("html[data-ready]")
        return page

    def tearDown(self):
        self.assertEqual(self.trouble, [])

    def pixels(self, page, selector):
        """Counts the colors on a canvas."""
        return page.eval_on_selector(selector, """canvas => {
          const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          return new Set(new Uint32Array(data.buffer)).size; }""")


@unittest.skipIf(MISSING, MISSING)
class ViewTest(Browser):
    def test_each_view_in_both_themes(self):
        path = self.make("encoder", 3, 4, 12)
        for theme in ("dark", "light"):
            page = self.open(path, theme)
            self.assertEqual(page.get_attribute("html", "data-theme"), theme)
            self.assertEqual(page.inner_text("#model"), "made-up-encoder")
            self.assertEqual(page.locator(".queries .token").all_inner_texts()[:4], ["[CLS]", "the", "quick", "brown"])
            self.assertGreater(self.pixels(page, ".lines canvas"), 20)
            page.keyboard.press("2")
            page.wait_for_selector("html[data-ready=model]")
            self.assertEqual(page.locator(".cell canvas.ready").count(), 12)
            self.assertGreater(self.pixels(page, ".cell canvas"), 10)
            page.keyboard.press("3")
            page.wait_for_selector("html[data-ready=matrix]")
            self.assertGreater(self.pixels(page, ".matrix canvas"), 20)

    def test_numbers_are_the_weights(self):
        path, exact = self.make("pair", 2, 3, 20), self.make("pair", 2, 3, 20, "json")
        with open(exact, encoding="utf-8") as file:
            groups = json.load(file)["attention"]
        page = self.open(path)
        for index, group in enumerate(groups):
            for layer in range(2):
                for head in range(3):
                    shown = page.evaluate("""async ([group, layer, head]) => {
                      const matrix = await attention.getMatrix(group, layer, head);
                      return Array.from({length: matrix.rows}, (_, query) => Array.from({length: matrix.columns},
                        (_, key) => [matrix.value(query, key), matrix.isExact(query, key)]));
                    }""", [index, layer, head])
                    for row, numbers in zip(group["weights"][layer][head], shown):
                        eighth = sorted(row)[-min(8, len(row))]
                        for weight, (number, is_exact) in zip(row, numbers):
                            self.assertLess(abs(weight - number), 1 / 2222)
                            self.assertTrue(is_exact or weight <= eighth)
                            if is_exact:
                                self.assertLess(abs(weight - number), 3e-8)

    def test_inspector_shows_f32_exactly(self):
        path, exact = self.make("encoder", 2, 3, 20), self.make("encoder", 2, 3, 20, "json")
        with open(exact, encoding="utf-8") as file:
            row = json.load(file)["attention"][0]["weights"][1][2][5]
        page = self.open(path, hash="#matrix,0,1,2,5")
        page.wait_for_selector("#inspector .value")
        values = page.locator("#inspector .value").all_inner_texts()
        keys = [int(element.get_attribute("data-key")) for element in page.locator("#inspector .row").all()]
        # Both strings are the shortest decimals for the same f32.
        self.assertEqual([float(value) for value in values], [row[key] for key in keys])
        self.assertEqual(sorted(row, reverse=True)[:8], [row[key] for key in keys])

    def test_tip_shows_the_weight_under_the_pointer(self):
        path, exact = self.make("encoder", 1, 1, 8), self.make("encoder", 1, 1, 8, "json")
        with open(exact, encoding="utf-8") as file:
            weights = json.load(file)["attention"][0]["weights"][0][0]
        page = self.open(path, hash="#matrix")
        box = page.locator(".matrix canvas").bounding_box()
        seen = {}
        for y in range(20, int(box["height"]), 40):
            for x in range(20, int(box["width"]), 40):
                page.mouse.move(box["x"] + x, box["y"] + y)
                if page.is_visible("#tip"):
                    query, key = map(int, re.findall(r"\d+", page.inner_text("#tip div:last-child")))
                    seen[query, key] = float(page.inner_text("#tip b"))
        self.assertGreater(len(seen), 40)
        for (query, key), number in seen.items():
            self.assertEqual(number, weights[query][key])

    def test_keys(self):
        page = self.open(self.make("pair", 3, 4, 9))
        state = lambda: page.evaluate("({...attention.state, heads: [...attention.state.heads]})")
        for key, name, value in (("a", "group", 0), ("ArrowDown", "layer", 1), ("ArrowUp", "layer", 0), ("ArrowUp", "layer", 2), ("ArrowRight", "head", 1),
                                 ("ArrowLeft", "head", 0), ("ArrowLeft", "head", 3), ("j", "query", 0), ("j", "query", 1),
                                 ("k", "query", 0), ("Escape", "query", None), ("h", "heads", [3]), ("h", "heads", [0, 1, 2, 3]),
                                 ("a", "group", 1), ("3", "view", "matrix"), ("2", "view", "model"), ("1", "view", "heads")):
            page.keyboard.press(key)
            self.assertEqual(state()[name], value, key)
        page.keyboard.press("t")
        self.assertEqual(page.get_attribute("html", "data-theme"), "light")
        page.keyboard.press("?")
        self.assertTrue(page.is_visible("#keys"))
        page.keyboard.press("Escape")
        self.assertFalse(page.is_visible("#keys"))

    def test_clicks(self):
        page = self.open(self.make("encoder", 2, 3, 9))
        state = lambda: page.evaluate("({...attention.state, heads: [...attention.state.heads]})")
        page.click("#layers button >> nth=1")
        page.click("#heads button >> nth=1")
        self.assertEqual((state()["layer"], state()["heads"]), (1, [0, 2]))
        page.click(".queries .token >> nth=4")
        self.assertEqual(state()["query"], 4)
        page.click("#views button >> nth=1")
        page.click(".cell >> nth=2")
        self.assertEqual((state()["view"], state()["layer"], state()["head"]), ("matrix", 0, 2))
        # The address specifies the current view.
        self.assertTrue(page.url.endswith("#matrix,0,0,2,4"))

    def test_html_is_text(self):
        path = self.make("malformed", 2, 2, 5)
        page = self.open(path)
        self.assertEqual(page.inner_text("#model"), HTML.replace("(1)", "(2)").rstrip("\u2028"))
        self.assertEqual(page.locator(".queries .token").first.text_content(), HTML.replace(" ", "·"))
        for key in ("j", "2", "3"):
            page.keyboard.press(key)
            page.wait_for_timeout(300)
            self.assertEqual(page.locator("img").count(), 0)

    def test_kinds_of_an_encoder_decoder(self):
        page = self.open(self.make("pair", 2, 3, 12))
        # The page opens with the target's attention to the source.
        self.assertEqual(page.locator("#groups button").all_inner_texts(), ["encoder", "decoder", "cross"])
        self.assertEqual(page.inner_text("#groups button[aria-pressed=true]"), "cross")
        self.assertEqual((page.locator(".queries .token").count(), page.locator(".keys .token").count()), (6, 12))
        captions = lambda: [text.lower() for text in page.locator(".caption").all_inner_texts()]
        self.assertEqual(captions(), ["target", "source"])
        self.assertEqual(page.inner_text("#shape"), "2 layers × 3 heads × 6 × 12 tokens")
        for index, (name, queries, keys) in enumerate((("encoder", 12, 12), ("decoder", 6, 6), ("cross", 6, 12))):
            page.click(f"#groups button:text-is('{name}')")
            for view in ("model", "matrix", "heads"):
                page.click(f"#views button:text-is('{view.capitalize()}')")
                page.wait_for_selector(f"html[data-ready={view}]")
            self.assertEqual((page.locator(".queries .token").count(), page.locator(".keys .token").count()), (queries, keys))
            self.assertEqual(page.evaluate("attention.state.group"), index)
        page.click("#groups button:text-is('decoder')")
        self.assertEqual(captions(), ["query", "key"])

    def test_aligned_words(self):
        path, exact = self.make("pair", 2, 3, 12), self.make("pair", 2, 3, 12, "json")
        with open(exact, encoding="utf-8") as file:
            alignment = json.load(file)["alignments"]
        self.assertTrue(alignment["pairs"])
        page = self.open(path)
        page.keyboard.press("4")
        page.wait_for_selector("html[data-ready=words]")
        self.assertEqual(page.locator(".queries .token").all_inner_texts(), alignment["source"])
        self.assertEqual(page.locator(".keys .token").all_inner_texts(), alignment["target"])
        self.assertEqual(page.locator("#inspector .value").all_inner_texts(), [f"{i}-{j}" for i, j in alignment["pairs"]])
        self.assertGreater(self.pixels(page, ".lines canvas"), 10)
        self.assertFalse(page.is_visible("#groups"))
        # Hovering over a word fades unrelated words.
        source, target = alignment["pairs"][0]
        page.hover(f".queries .token >> nth={source}")
        page.wait_for_timeout(300)
        faded = lambda side: [element.evaluate("element => Number(element.style.opacity) < 1") for element in page.locator(f".{side} .token").all()]
        self.assertEqual(faded("keys"), [[source, index] not in alignment["pairs"] for index in range(len(alignment["target"]))])
        self.assertEqual([index for index, is_faded in enumerate(faded("queries")) if not is_faded], [source])
        page.keyboard.press("1")
        page.wait_for_selector("html[data-ready=heads]")
        self.assertTrue(page.is_visible("#groups"))

    def test_html_is_text_in_all_kinds(self):
        page = self.open(self.make("malformed-pair", 2, 2, 6))
        for view in ("1", "2", "3", "4"):
            page.keyboard.press(view)
            page.wait_for_timeout(200)
            for _ in range(3):
                page.keyboard.press("a")
                page.keyboard.press("j")
                page.wait_for_timeout(100)
                self.assertEqual(page.locator("img").count(), 0)
        self.assertEqual(page.locator(".queries .token").first.text_content(), HTML.replace(" ", "·"))

    def test_a_page_without_alignments_has_no_words(self):
        page = self.open(self.make("decoder", 1, 2, 4), hash="#words")
        page.keyboard.press("4")
        self.assertEqual(page.evaluate("attention.state.view"), "heads")
        self.assertEqual(page.locator("#views button").all_inner_texts(), ["Heads", "Model", "Matrix"])

    def test_one_token(self):
        page = self.open(self.make("decoder", 1, 1, 1))
        for view in ("model", "matrix"):
            page.click(f"#views button:text-is('{view.capitalize()}')")
            page.wait_for_selector(f"html[data-ready={view}]")


def load_tests(loader, tests, pattern):
    if MISSING:
        print("skipped:", MISSING)
    return tests


unittest.main()
