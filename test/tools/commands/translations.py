# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Golden encoder-decoders with a word tokenizer."""
import json
import os
import shutil

from base import GOLDENS, ToolTest, goldens
from texts import tokenizer

# Tokenizer words by id; the model has end token 2, padding 1.
WORDS = ["<s>", "<pad>", "</s>", "<unk>", *[f"w{i}" for i in range(36)]]
LIMIT = 48
VOCABULARY = 55


def word_tokenizer(languages=(), after=False):
    """One token per word, the first language's token before or after the text, and the end token."""
    made = tokenizer({"max_length": LIMIT, "strategy": "LongestFirst", "stride": 0, "direction": "Right"})
    special = [*WORDS[:4], *languages]
    words = [*WORDS, *languages]
    made["added_tokens"] = [{"id": words.index(word), "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for word in special]
    made["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    made["normalizer"] = None
    code = [{"SpecialToken": {"id": language, "type_id": 0}} for language in languages[:1]]
    end = [{"SpecialToken": {"id": "</s>", "type_id": 0}}]
    made["post_processor"]["single"] = [*([] if after else code), {"Sequence": {"id": "A", "type_id": 0}}, *end, *(code if after else [])]
    made["post_processor"]["pair"] = [*made["post_processor"]["single"], {"Sequence": {"id": "B", "type_id": 1}}]
    made["post_processor"]["special_tokens"] = {word: {"id": word, "ids": [words.index(word)], "tokens": [word]} for word in ("</s>", *languages[:1])}
    made["model"].update(unk_token="<unk>", vocab={word: i for i, word in enumerate(words)})
    return made


class TranslationTest(ToolTest):
    @classmethod
    def with_words(cls, family, languages=(), after=False, name=None, **generation):
        """Compiles a golden model with the tokenizer above. Models with equal family and settings need names."""
        folder = os.path.join(cls.shared, name or "-".join(["text", family, *generation]) + "-after" * after)
        shutil.copytree(os.path.join(GOLDENS, "random-beams", family), folder)
        for name, content in (("tokenizer", word_tokenizer(languages, after)), ("generation_config", {"max_length": 14, "forced_eos_token_id": None, **generation})):
            with open(os.path.join(folder, name + ".json"), "w") as file:
                json.dump(content, file)
        return cls.compiled(folder)

    def generated(self, line, *flags, ids=None, model=None):
        """Returns the result ids for a line from the entry 'generate', each up to its end token."""
        ids = ids or [WORDS.index(word) for word in line.split()] + [2]
        goldens.write_tensors(self.path("in"), {"input_ids": ([1, len(ids)], ids)})
        self.succeed("run", model or self.model, "generate", "--in", self.path("in"), "--out", self.path("out"), *flags)
        rows = goldens.rows_of(goldens.read_tensors(self.path("out"))["output_ids"])
        return [row[:row.index(2) + 1] if 2 in row else row for row in rows]

    def translated(self, lines, *flags, command="translate", model=None):
        result = self.succeed(command, model or self.model, "--json", *flags, input="".join(line + "\n" for line in lines))
        return [json.loads(line) for line in result.stdout.splitlines()]

    @staticmethod
    def words_only():
        """Flags that restrict results to words and an end."""
        others = [0, 1, 3, *range(len(WORDS), VOCABULARY)]
        return [flag for token in others for flag in ("--logit-bias", f"{token}:-inf")]
