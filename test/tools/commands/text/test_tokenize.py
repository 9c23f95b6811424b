# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tokenize: ids and back, pairs, errors, with byte and word tokenizers; with MPNet's WordPiece: the same ids as transformers."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import texts
from base import GOLDENS  # noqa: E402
from decoders import TOKENS, DecoderTest, tokenizer  # noqa: E402


class Tokenize(DecoderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = cls.variant("gpt2", "tokenize", tokenizer=tokenizer())

    def test_ids_and_back(self):
        (line,) = self.lines("tokenize", self.text, "--text", "the\u20ac<|end|>")
        euro = [TOKENS[c] for c in "\u00e2\u0124\u00ac"]
        self.assertEqual(line["ids"], [TOKENS["the"], *euro, TOKENS["<|end|>"]])
        self.assertEqual(line["offsets"][1:4], [[3, 6]] * 3)
        ids = " ".join(map(str, line["ids"]))
        (back,) = self.lines("tokenize", self.text, "--decode", "--text", ids)
        self.assertEqual(back, {"ids": line["ids"], "text": "the\u20ac<|end|>"})
        (back,) = self.lines("tokenize", self.text, "--decode", "--no-special", "--text", str(line["ids"]))
        self.assertEqual(back["text"], "the\u20ac")

    def test_half_a_character(self):
        (back,) = self.lines("tokenize", self.text, "--decode", "--text", str(TOKENS["\u00e2"]))
        self.assertEqual(back["text"], "\ufffd")

    def test_ids_from_stdin(self):
        the = TOKENS["the"]
        lines = self.lines("tokenize", self.text, "--decode", "-", input=f"{the},{the}\n\n")
        self.assertEqual([line["text"] for line in lines], ["thethe", ""])

    def test_pairs(self):
        (line,) = self.lines("tokenize", self.text, "--text", "the", "--pair", "th")
        self.assertEqual(line, {"text": "the", "pair": "th", "ids": [TOKENS["the"], TOKENS["th"]], "offsets": [[0, 3], [0, 2]]})
        self.fail_with(2, "tokenize", self.text, "--text", "a", "--pair", "b", "--pair", "c", says="each '--pair' belongs to a '--text'")

    def test_what_is_no_id(self):
        for ids in ("7x", "-1", "99999999999999999999"):
            self.fail_with(2, "tokenize", self.text, "--decode", "--text", ids, says="expected ids")
        self.fail_with(3, "tokenize", self.text, "--decode", "--text", "1 3000", says="the tokenizer has no token of id 3000")
        self.fail_with(2, "tokenize", self.text, "--decode", "--text", "1", "--text", "x", says="text 1: expected ids for '--decode', got 'x'")

    def test_languages(self):
        parts = tokenizer()
        names = ["eng_Latn", "fra_Latn"]
        ids = {name: len(TOKENS) + 3 + i for i, name in enumerate(names)}
        parts["model"]["vocab"] = {**TOKENS, **ids}
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        parts["added_tokens"] += [{"id": id, "content": name, **flags} for name, id in ids.items()]
        text, end = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|end|>", "type_id": 0}}
        special = {name: {"id": name, "ids": [id], "tokens": [name]} for name, id in {**ids, "<|end|>": TOKENS["<|end|>"]}.items()}
        template = [{"SpecialToken": {"id": "eng_Latn", "type_id": 0}}, text, end]
        parts["post_processor"] = {"type": "TemplateProcessing", "single": template, "pair": template, "special_tokens": special}
        model = self.variant("gpt2", "languages", tokenizer=parts)
        for flag, name in (((), "eng_Latn"), (("--source-lang", "fra_Latn"), "fra_Latn"), (("--target-lang", "fra_Latn"), "fra_Latn")):
            (line,) = self.lines("tokenize", model, "--text", "the", *flag)
            self.assertEqual(line["ids"], [ids[name], TOKENS["the"], TOKENS["<|end|>"]])
        says = "unknown language 'fra'; did you mean 'fra_Latn'? supported: eng_Latn, fra_Latn"
        self.fail_with(2, "tokenize", model, "--text", "a", "--source-lang", "fra", says=says)
        self.fail_with(2, "tokenize", model, "--text", "a", "--source-lang", "eng_Latn", "--target-lang", "eng_Latn", says="exclude each other")
        self.fail_with(2, "tokenize", model, "--text", "1", "--decode", "--target-lang", "eng_Latn", says="'--decode' takes no language")
        self.fail_with(4, "tokenize", self.text, "--text", "a", "--source-lang", "en", says="the tokenizer has no languages")

    def test_mpnet(self):
        with open(os.path.join(GOLDENS, "mpnet", "texts.json"), encoding="utf-8") as file:
            cases = json.load(file)
        for case in cases:
            pair = ("--pair", case["pair"]) if "pair" in case else ()
            (line,) = self.lines("tokenize", self.compiled("mpnet"), "--text=" + case["text"], *pair)
            self.assertEqual(line["ids"], case["ids"], case["text"])


class TokenizeWords(texts.TextsTest):
    def test_tokenize(self):
        (line,) = self.lines("tokenize", self.models["bert"], "--text", "The cats, sat.")
        self.assertEqual(line, {"text": "The cats, sat.", "ids": [2, 4, 5, 12, 13, 7, 14, 3], "offsets": [[0, 0], [0, 3], [4, 7], [7, 8], [8, 9], [10, 13], [13, 14], [0, 0]]})
        (line,) = self.lines("tokenize", self.models["bert"], "--text", "cat", "--no-special")
        self.assertEqual(line["ids"], [5])

    def test_truncation_of_the_tokenizer(self):
        # As in transformers, a length in tokenizer.json has no effect.
        tokenizer = texts.tokenizer({"direction": "Right", "max_length": 7, "strategy": "LongestFirst", "stride": 0})
        model = self.with_tokenizer("bert", "cut", tokenizer=tokenizer, tokenizer_config={"model_max_length": 5})
        self.assertEqual(self.lines("tokenize", model, "--text", "a big cat sat on a mat")[0]["ids"], [2, 9, 11, 5, 3])
        self.assertEqual(len(self.lines("tokenize", model, "--no-truncation", "--text", "a big cat sat on a mat")[0]["ids"]), 9)
        for config in ({}, {"model_max_length": 10**30}, {"model_max_length": None}):
            model = self.with_tokenizer("bert", f"uncut-{len(str(config))}", tokenizer=tokenizer, tokenizer_config=config)
            self.assertEqual(len(self.lines("tokenize", model, "--text", "a big cat sat on a mat")[0]["ids"]), 9)

    def test_conditions_in_patterns(self):
        parts = texts.tokenizer()
        split = {"type": "Replace", "pattern": {"Regex": "(?<=[a-z])(?=[A-Z])"}, "content": " "}
        parts["normalizer"] = {"type": "Sequence", "normalizers": [split, {"type": "Lowercase"}]}
        model = self.with_tokenizer("bert", "conditions", tokenizer=parts, tokenizer_config={"tokenizer_class": "PreTrainedTokenizerFast"})
        (line,) = self.lines("tokenize", model, "--text", "theCatSat onTHE", "--no-special")
        self.assertEqual(line["ids"], [4, 5, 7, 8, 4])
        parts["normalizer"] = {**split, "pattern": {"Regex": "(a)\\1"}}
        folder = os.path.join(self.shared, "text-conditions")
        with open(os.path.join(folder, "tokenizer.json"), "w") as file:
            json.dump(parts, file)
        done = self.succeed("compile", folder, "--emit", "attn", "-o", self.path("attn.mlir"))
        self.assertIn("unsupported regular expression '(a)\\1': a backreference '\\1'", done.stderr)

    def test_ids_beyond_the_embedding(self):
        parts = texts.tokenizer()
        parts["model"]["vocab"]["dogs"] = 211
        settings = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]"}
        says = "token 'dogs' has id 211, but the model's embedding has 211 rows; supported: ids below that"
        with self.assertRaises(subprocess.CalledProcessError):
            self.with_tokenizer("bert", "beyond", tokenizer=parts, tokenizer_config=settings)
        self.fail_with(3, "compile", os.path.join(self.shared, "text-beyond"), "-o", self.path("m.so"), says=says)
        parts["model"]["vocab"]["dogs"] = 210
        parts["added_tokens"].append({**parts["added_tokens"][0], "id": 211, "content": "<pad>"})
        parts["model"]["vocab"].update({f"word{i}": i for i in range(len(parts["model"]["vocab"]) - 1, 210)})
        model = self.with_tokenizer("bert", "padding", tokenizer=parts, tokenizer_config={**settings, "pad_token": "<pad>"})
        self.assertEqual(self.lines("tokenize", model, "--text", "dogs", "--no-special")[0]["ids"], [210])
        self.fail_with(3, "embed", model, "--text", "the<pad>")


if __name__ == "__main__":
    unittest.main()
