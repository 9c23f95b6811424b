# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""embed, classify and tokenize: one JSON line a text."""
import json
import math
import os
import shutil
import unittest

from base import GOLDENS, ToolTest

WORDS = "[PAD] [UNK] [CLS] [SEP] the cat dog sat on a mat big ##s , .".split()


def tokenizer(truncation=None):
    template = lambda *parts: [{"SpecialToken": {"id": p, "type_id": t}} if p[0] == "[" else {"Sequence": {"id": p, "type_id": t}} for p, t in parts]
    return {
        "version": "1.0",
        "truncation": truncation,
        "padding": None,
        "added_tokens": [{"id": i, "content": WORDS[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i in range(4)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": template(("[CLS]", 0), ("A", 0), ("[SEP]", 0)),
            "pair": template(("[CLS]", 0), ("A", 0), ("[SEP]", 0), ("B", 1), ("[SEP]", 1)),
            "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for i, t in ((2, "[CLS]"), (3, "[SEP]"))},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {w: i for i, w in enumerate(WORDS)}},
    }


class Texts(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = {name: cls.with_tokenizer(name) for name in ("bert", "bert-classify", "bert-tokens")}

    @classmethod
    def with_tokenizer(cls, name, folder=None, **files):
        """A golden model's artifact with the tokenizer above."""
        folder = os.path.join(cls.shared, "text-" + (folder or name))
        shutil.copytree(os.path.join(GOLDENS, name), folder, ignore=shutil.ignore_patterns("encode.*", "cases.json"))
        files.setdefault("tokenizer", tokenizer())
        for file, content in files.items():
            with open(os.path.join(folder, file + ".json"), "w") as out:
                json.dump(content, out)
        return cls.compiled(folder)

    def lines(self, *arguments, **options):
        return [json.loads(line) for line in self.succeed(*arguments, **options).stdout.splitlines()]

    def test_tokenize(self):
        (line,) = self.lines("tokenize", self.models["bert"], "--text", "The cats, sat.")
        self.assertEqual(line, {"text": "The cats, sat.", "ids": [2, 4, 5, 12, 13, 7, 14, 3], "offsets": [[0, 0], [0, 3], [4, 7], [7, 8], [8, 9], [10, 13], [13, 14], [0, 0]]})
        (line,) = self.lines("tokenize", self.models["bert"], "--text", "cat", "--no-special")
        self.assertEqual(line["ids"], [5])

    def test_sources_of_texts(self):
        model = self.models["bert"]
        with open(self.path("texts"), "w", newline="") as file:
            file.write("the cat\r\n\nthe dog")
        from_file = self.lines("tokenize", model, "--file", self.path("texts"))
        self.assertEqual([line["text"] for line in from_file], ["the cat", "", "the dog"])
        self.assertEqual(from_file, self.lines("tokenize", model, "-", input="the cat\n\nthe dog\n"))
        self.assertEqual(from_file, self.lines("tokenize", model, "--file", "-", input="the cat\n\nthe dog\n"))
        self.assertEqual(from_file, self.lines("tokenize", model, "--text", "the cat", "--text", "", "--text", "the dog"))
        self.assertEqual(self.lines("tokenize", model, "-", input=""), [])
        self.fail_with(6, "tokenize", model, "--file", self.path("none"), says="none")
        self.fail_with(6, "tokenize", model, "--file", self.folder)

    def test_embeddings_are_the_same_alone_and_together(self):
        texts = ["the cat sat on a mat", "", "a big dog", "cat " * 30]
        alone = [self.lines("embed", self.models["bert"], "--text", text)[0] for text in texts]
        for threads in ("1", "2"):
            together = self.lines("embed", self.models["bert"], "-", "-t", threads, input="\n".join(texts))
            self.assertEqual([line["embedding"] for line in together], [line["embedding"] for line in alone])
        for line in alone:
            self.assertAlmostEqual(math.hypot(*line["embedding"]), 1, places=5)

    def test_pooling_and_length(self):
        flags = {name: self.lines("embed", self.models["bert"], "--text", "the cat sat", *values)[0]["embedding"] for name, values in {"mean": [], "cls": ["--pooling", "cls"], "raw": ["--no-normalize"]}.items()}
        self.assertNotEqual(flags["mean"], flags["cls"])
        length = math.hypot(*flags["raw"])
        for raw, mean in zip(flags["raw"], flags["mean"]):
            self.assertAlmostEqual(raw / length, mean, places=5)

    def test_folder_says_how_to_embed(self):
        modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}, {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
        model = self.with_tokenizer("bert", "st", modules=modules, sentence_bert_config={"max_seq_length": 4, "do_lower_case": False})
        result = self.succeed("embed", model, "--text", "the cat sat on a mat", "--text", "cat")
        self.assertIn("1 text was cut to the model's 4 tokens", result.stderr)
        raw = self.lines("embed", model, "--text", "cat", "--no-normalize")
        self.assertEqual(raw, self.lines("embed", model, "--text", "cat"))
        self.assertEqual(self.succeed("embed", model, "-q", "--text", "the cat sat on a mat").stderr, "")

    def test_truncation_of_the_tokenizer(self):
        model = self.with_tokenizer("bert", "cut", tokenizer=tokenizer({"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}))
        self.assertEqual(self.lines("tokenize", model, "--text", "a big cat sat on a mat")[0]["ids"], [2, 9, 11, 5, 3])
        self.assertEqual(len(self.lines("tokenize", model, "--no-truncation", "--text", "a big cat sat on a mat")[0]["ids"]), 9)

    def test_classify_texts_and_pairs(self):
        (line,) = self.lines("classify", self.models["bert-classify"], "--text", "the cat", "--pair", "the dog")
        self.assertEqual(line["pair"], "the dog")
        self.assertAlmostEqual(sum(line["scores"].values()), 1, places=5)
        self.assertEqual(line["label"], max(line["scores"], key=line["scores"].get))
        self.assertEqual(line["score"], line["scores"][line["label"]])
        self.assertEqual([line], self.lines("classify", self.models["bert-classify"], "-", input="the cat\tthe dog\n"))
        single = self.lines("classify", self.models["bert-classify"], "--text", "the cat")[0]
        self.assertNotIn("pair", single)
        self.assertNotEqual(single["scores"], line["scores"])
        mixed = self.lines("classify", self.models["bert-classify"], "-", input="the cat\nthe cat\tthe dog\n")
        self.assertEqual(mixed, [single, line])

    def test_classify_by_regression(self):
        with open(os.path.join(GOLDENS, "bert-classify", "config.json")) as file:
            config = dict(json.load(file), problem_type="regression")
        model = self.with_tokenizer("bert-classify", "regression", config=config)
        (raw,) = self.lines("classify", model, "--text", "the cat")
        (line,) = self.lines("classify", self.models["bert-classify"], "--text", "the cat")
        total = sum(math.exp(value) for value in raw["scores"].values())
        for label, value in raw["scores"].items():
            self.assertAlmostEqual(math.exp(value) / total, line["scores"][label], places=5)
        self.assertNotAlmostEqual(sum(raw["scores"].values()), 1, places=3)

    def test_classify_tokens(self):
        (line,) = self.lines("classify", self.models["bert-tokens"], "--text", "the cats")
        self.assertEqual([(t["token"], t["start"], t["end"]) for t in line["tokens"]], [("the", 0, 3), ("cat", 4, 7), ("s", 7, 8)])
        for token in line["tokens"]:
            self.assertTrue(0 < token["score"] <= 1)

    def test_models_without_what_it_takes(self):
        self.fail_with(4, "embed", self.compiled("bert"), "--text", "a", says="no tokenizer")
        self.fail_with(4, "classify", self.models["bert"], "--text", "a", says="head")
        self.fail_with(4, "embed", self.models["bert-classify"], "--text", "a", says="embeddings")

    def test_unsupported_tokenizer_leaves_a_note(self):
        folder = self.path("model")
        shutil.copytree(os.path.join(GOLDENS, "bert"), folder)
        with open(os.path.join(folder, "tokenizer.json"), "w") as file:
            json.dump(dict(tokenizer(), model={"type": "Unigram", "unk_id": 0, "vocab": [["a", 0.0]]}), file)
        result = self.succeed("compile", folder, "-o", self.path("m.so"))
        self.assertIn("Unigram", result.stderr)
        self.assertTrue(all(line.startswith("transom: note: ") for line in result.stderr.splitlines()))
        self.fail_with(4, "tokenize", self.path("m.so"), "--text", "a", says="no tokenizer")

    def test_malformed_text_file_is_an_error(self):
        folder = self.path("model")
        shutil.copytree(os.path.join(GOLDENS, "bert"), folder)
        for name in ("tokenizer.json", "modules.json", "sentence_bert_config.json"):
            with open(os.path.join(folder, name), "w") as file:
                file.write("{")
            self.fail_with(3, "compile", folder, "-o", self.path("m.so"), says=name)
            os.remove(os.path.join(folder, name))

    def test_text_that_is_not_utf8(self):
        with open(self.path("texts"), "wb") as file:
            file.write(b"a\xff\n")
        self.fail_with(3, "tokenize", self.models["bert"], "--file", self.path("texts"))


if __name__ == "__main__":
    unittest.main()
