# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Golden models with a tokenizer, and the JSON lines that text commands print."""
import json
import os
import shutil

from base import GOLDENS, ToolTest

WORDS = "[PAD] [UNK] [CLS] [SEP] the cat dog sat on a mat big ##s , .".split()


def tokenizer(truncation=None, lower=True):
    template = lambda *parts: [{"SpecialToken": {"id": p, "type_id": t}} if p[0] == "[" else {"Sequence": {"id": p, "type_id": t}} for p, t in parts]
    return {
        "version": "1.0",
        "truncation": truncation,
        "padding": None,
        "added_tokens": [{"id": i, "content": WORDS[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i in range(4)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": lower},
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


class TextsTest(ToolTest):
    """A test on golden models with the tokenizer above."""

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
            os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
            with open(os.path.join(folder, file + ".json"), "w") as out:
                json.dump(content, out)
        return cls.compiled(folder)

    def lines(self, *arguments, **options):
        return [json.loads(line) for line in self.succeed(*arguments, **options).stdout.splitlines()]
