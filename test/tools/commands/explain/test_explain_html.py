# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page from `explain --html` contains the output of `explain --json`; test_explain_page*.py open pages in a browser."""
import json
import os
import re
import unittest

from explains import ExplainTest


class ExplainHtml(ExplainTest):
    def write(self, *arguments):
        """Returns a page's data."""
        path = os.path.join(self.folder, "page.html")
        self.succeed("explain", *arguments, "--html", path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        data = json.loads(re.search(r'<script type="application/json" id="explanation">(.*?)</script>', text, re.S).group(1))
        # The code for all compilations has a separate limit.
        code = len(json.dumps([data["code"], data["code_lines"]]))
        self.assertLess(code, 3 << 20)
        self.assertLess(len(text) - code, 1e6)
        return data

    def read_json(self, *arguments):
        """Returns the JSON without IR, and the lines in each module."""
        explanation = json.loads(self.succeed("explain", *arguments, "--json", "--ir").stdout)
        modules = [explanation["imported_ir"], *(one["ir"] for one in explanation["passes"])]
        explanation["imported_ir"] = explanation["code"] = None
        for one in explanation["passes"]:
            one["ir"] = None
        return explanation, [module and module["text"].splitlines() for module in modules]

    def check(self, data, index, explanation, modules):
        self.assertEqual(data["explanations"][index], explanation)
        for module, listing in zip(modules, data["ir"][index], strict=True):
            if module is None:
                self.assertEqual(listing, -1)
                continue
            runs = data["listings"][listing]["lines"]
            self.assertEqual([data["lines"][first + i] for first, count in zip(runs[::2], runs[1::2]) for i in range(count)], module)

    def test_page_has_the_json(self):
        data = self.write(self.example("tiny-bert"))
        explanation, modules = self.read_json(self.example("tiny-bert"))
        self.assertGreater(sum(module is not None for module in modules), 8)
        self.check(data, 0, explanation, modules)
        self.assertEqual((len(data["explanations"]), data["profiles"], data["assembly"]), (1, [None], [{}]))

    def test_prints_what_it_prints_without_a_page(self):
        model, page = self.example("tiny-bert"), os.path.join(self.folder, "page.html")
        for flags in ([], ["-v"], ["--json"], ["--other-flags", "--dtype bf16"], ["--other-flags", "--dtype bf16", "--json"]):
            with self.subTest(flags):
                plain = self.succeed("explain", model, *flags).stdout
                self.assertGreater(len(plain), 300)
                self.assertEqual(self.succeed("explain", model, *flags, "--html", page).stdout, plain)
                self.assertTrue(os.path.exists(page))
                os.remove(page)

    def test_two_compilations_with_a_profile(self):
        profile = os.path.join(self.folder, "profile.json")
        with open(profile, "w", encoding="utf-8") as file:
            file.write('[{"entry": "encode", "batch": 1, "seq": 16, "profile": []}]')
        data = self.write(self.example("tiny-bert"), "--other-flags", "--dtype bf16", "--other-profile", profile)
        self.check(data, 0, *self.read_json(self.example("tiny-bert")))
        self.check(data, 1, *self.read_json(self.example("tiny-bert"), "--dtype", "bf16"))
        self.assertEqual(data["profiles"], [None, [{"entry": "encode", "batch": 1, "seq": 16, "profile": []}]])


unittest.main()
