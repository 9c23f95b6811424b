# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of the explanation page tests: pages for generated explanations and a browser. They are run as
`test_explain_page_X.py PROGRAM TOOL`: PROGRAM creates a page from the JSON of explanations, TOOL is transom. The browser is
Debian's chromium-headless-shell with PyPI's playwright."""
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
MAKE, TOOL = sys.argv.pop(1), sys.argv.pop(1)
HTML = "</script><img src=x onerror=alert(1)>\u2028"
VIEWS = ["overview", "passes", "graph", "memory", "operations"]


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    def make(self, *explanations, profile=None, assembly=None, config=None, other_profile=None):
        """Returns a page's path; `profile`, `assembly` and `config` belong to the first explanation."""
        path = os.path.join(self.folder, f"{len(os.listdir(self.folder))}.html")
        inputs = []
        for index, explanation in enumerate(explanations):
            inputs.append(f"{path}.{index}.json")
            with open(inputs[-1], "w", encoding="utf-8") as file:
                json.dump(explanation, file)
        if profile is not None:
            pathlib.Path(inputs[0] + ".profile").write_text(json.dumps(profile))
        if assembly is not None:
            pathlib.Path(inputs[0] + ".s").write_text(assembly)
        if config is not None:
            pathlib.Path(inputs[0] + ".config").write_text(config)
        if other_profile is not None:
            pathlib.Path(inputs[1] + ".profile").write_text(json.dumps(other_profile))
        subprocess.run([MAKE, path, *inputs], check=True)
        return path


def read_data(path):
    """The data in a page."""
    with open(path, encoding="utf-8") as file:
        return json.loads(re.search(r'<script type="application/json" id="explanation">(.*?)</script>', file.read(), re.S).group(1))


@unittest.skipIf(MISSING, MISSING)
class Browser(Folder):
    """Opens pages; each test fails on a network request, on a console error and on a dialog."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        cls.browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.trouble = []

    def open(self, path, theme="dark", hash="", size=(1360, 800)):
        context = self.browser.new_context(color_scheme=theme, viewport={"width": size[0], "height": size[1]})
        self.addCleanup(context.close)
        page = context.new_page()
        page.set_default_timeout(60000)
        page.on("console", lambda message: self.trouble.append(message.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("dialog", lambda dialog: (self.trouble.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: None if request.url.startswith("file:") else self.trouble.append(request.url))
        page.goto(pathlib.Path(path).as_uri() + hash)
        page.wait_for_selector("html[data-ready]")
        return page

    def tearDown(self):
        self.assertEqual(self.trouble, [])

    def state(self, page):
        return page.evaluate("({...explanation.state, kinds: explanation.state.kinds && [...explanation.state.kinds]})")

    def frame(self, page):
        """Waits until the requested frame is drawn."""
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def main():
    if MISSING:
        print("skipped:", MISSING)
    unittest.main()
