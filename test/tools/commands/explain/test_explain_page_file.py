# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contents and size of the explanation page's file."""
import json
import os
import re

import made_up
from explain_pages import HTML, Folder, main, read_data


class FileTest(Folder):
    def test_data_is_the_explanation(self):
        explanation = json.loads(json.dumps(made_up.explanation(5)))
        data = read_data(self.make(explanation))
        explanation.pop("code")
        modules = [explanation.pop("imported_ir"), *(one.pop("ir") for one in explanation["passes"])]
        found = data["explanations"][0]
        self.assertIsNone(found.pop("code"))
        self.assertEqual([found.pop("imported_ir"), *(one.pop("ir") for one in found["passes"])], [None] * 5)
        self.assertEqual(found, explanation)
        self.assertEqual(len(data["ir"][0]), len(modules))
        for module, index in zip(modules, data["ir"][0]):
            if module is None:
                self.assertEqual(index, -1)
                continue
            listing = data["listings"][index]
            runs = listing.pop("lines")
            lines = [data["lines"][first + i] for first, count in zip(runs[::2], runs[1::2]) for i in range(count)]
            self.assertEqual("\n".join([*lines, ""]), module.pop("text"))
            self.assertEqual(listing, module)

    def test_lines_are_stored_once(self):
        data = read_data(self.make(made_up.explanation(50), made_up.explanation(50)))
        self.assertEqual(len(data["lines"]), len(set(data["lines"])))
        self.assertEqual(len(data["listings"]), 6)

    def test_size_of_many_layers(self):
        # The IR for 48 layers and its passes, twice; without line sharing it would be ten times as long.
        path = self.make(made_up.explanation(48))
        self.assertLess(os.path.getsize(path), 300e3)

    def test_profile_and_assembly(self):
        profile = [{"entry": "encode", "batch": 1, "ms_min": 1.5, "profile": [{"phase": "layer.0.gemm", "ms": 1}]}]
        text = "\t.text\ntransom.p.avx2.layer.0.gemm:\n\tpushq %rbp\n.LBB0_1:\n\tretq\n.Lfunc_end0:\n\t.size x\n\"transom.k.gemm-6\":\n\tvzeroupper\nother:\n\tnop\n"
        data = read_data(self.make(made_up.explanation(), made_up.explanation(), profile=profile, assembly=text))
        self.assertEqual(data["profiles"], [profile, None])
        self.assertEqual(data["assembly"], [{"transom.p.avx2.layer.0.gemm": ["\tpushq %rbp", ".LBB0_1:", "\tretq"], "transom.k.gemm-6": ["\tvzeroupper", "other:", "\tnop"]}, {}])

    def test_text_is_data(self):
        path = self.make(made_up.rename(made_up.explanation(2), HTML))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertFalse("<img" in text)
        self.assertFalse("\u2028" in text[text.index("explanation\">"):])
        self.assertEqual(read_data(path)["explanations"][0]["model"]["name"], HTML)

    def test_policy(self):
        with open(self.make(made_up.explanation()), encoding="utf-8") as file:
            text = file.read()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
        self.assertRegex(policy, r"^default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src 'sha256-[\w+/]{43}=';")
        self.assertIsNone(re.search(r"https?://|url\(|@import|<link|<iframe|src=|innerHTML|eval\(", text))


main()
