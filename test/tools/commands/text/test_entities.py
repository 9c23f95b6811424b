# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tag --entity: the same entities as the package gliner."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import GOLDENS, ToolTest  # noqa: E402
from tasks import count_bytes  # noqa: E402

FOLDER = os.path.join(GOLDENS, "gliner")
TOLERANCE = 1e-5


def get_types(names):
    return [word for name in names for word in ("--entity", name)]


class Entities(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models, cls.expected = {}, {}
        for name in sorted(os.listdir(FOLDER)):
            if os.path.isdir(os.path.join(FOLDER, name)):
                cls.models[name] = cls.compiled(os.path.join(FOLDER, name))
                with open(os.path.join(FOLDER, name, "expected.json")) as file:
                    cls.expected[name] = json.load(file)
        assert len(cls.models) >= 4

    def find(self, name, texts, types, *flags, **options):
        """Returns the lines for texts in one file."""
        done = self.succeed("tag", self.models[name], "-", *get_types(types), *flags, input="\n".join(texts) + "\n", **options)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_all_cases(self):
        for name, expected in self.expected.items():
            texts = expected["texts"]
            for case in expected["cases"]:
                flags = ["--threshold", str(case["threshold"])]
                flags += ["--nested"] * case["nested"] + ["--multi-label"] * case["multi_label"]
                where = f"{name} {case['types'][:3]} {flags}"
                lines = self.find(name, texts, case["types"], *flags)
                self.assertEqual([line["text"] for line in lines], texts)
                for text, line, wanted in zip(texts, lines, case["entities"], strict=True):
                    found = [(e["start"], e["end"], e["label"]) for e in line["entities"]]
                    self.assertEqual(found, [(count_bytes(text, start), count_bytes(text, end), case["types"][label])
                                             for start, end, label, _ in wanted], f"{where} {text}")
                    for entity, (start, end, _, score) in zip(line["entities"], wanted):
                        self.assertEqual(entity["text"], text[start:end])
                        self.assertAlmostEqual(entity["score"], score, delta=TOLERANCE, msg=f"{where} {text}")

    def test_one_text_has_the_bits_of_many(self):
        for name, expected in self.expected.items():
            texts = expected["texts"]
            together = self.find(name, texts, ["person", "place"])
            alone = [self.find(name, [text], ["person", "place"], "--threads", "1")[0] for text in texts]
            self.assertEqual(together, alone)

    def test_long_texts_are_cut(self):
        text = self.expected["bert-span"]["texts"][-1]
        done = self.succeed("tag", self.models["bert-span"], "--text", text, "--entity", "person")
        self.assertIn("1 text was cut", done.stderr)
        self.assertNotIn("cut", self.succeed("tag", self.models["bert-span"], "--text", "Ada", "--entity", "person").stderr)

    def test_errors(self):
        model = self.models["bert-span"]
        self.fail_with(2, "tag", model, "--text", "Ada", says="name one or more with '--entity'")
        self.fail_with(2, "tag", model, "--text", "Ada", "--entity", "", says="'--entity' is empty")
        self.fail_with(2, "tag", model, "--text", "Ada", "--entity", "person", "--threshold", "1.5", says="--threshold")
        self.fail_with(2, "tag", model, "--text", "Ada", "--entity", "person", "--aggregation", "first", says="--aggregation")
        self.fail_with(4, "embed", model, "--text", "Ada", says="zero_shot_entities")
        tagger = self.compiled(os.path.join(GOLDENS, "tasks", "bert-tags"))
        for flags in (["--entity", "person"], ["--threshold", "0.5"], ["--nested"], ["--multi-label"]):
            self.fail_with(4, "tag", tagger, "--text", "Ada", *flags, says="takes no types of entities")
        for text in ("", "   "):
            done = self.succeed("tag", model, "--text", text, "--entity", "person")
            self.assertEqual(json.loads(done.stdout), {"text": text, "entities": []})


if __name__ == "__main__":
    unittest.main()
