# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of the generate and score tests: golden decoders with separate files next to the weights."""
import json
import os
import shutil

from base import GOLDENS, ToolTest, goldens

END, BEGIN = 1, 2


def byte_characters():
    """GPT-2's printable character for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{byte: chr(byte) for byte in printable}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


# Tokens in the tests' tokenizer by text: single bytes for ASCII and for three other characters, and two words.
BYTES = byte_characters()
TOKENS = {"<|end|>": END, "<|begin|>": BEGIN}
for _byte in [*range(32, 127), *"\u00e9\u20ac\U0001f600".encode()]:
    TOKENS.setdefault(BYTES[_byte], 3 + len(TOKENS))
TOKENS["th"] = 3 + len(TOKENS)
TOKENS["the"] = 3 + len(TOKENS)


def tokenizer():
    """A byte-level BPE with few tokens."""
    special = [
        {"id": TOKENS[text], "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for text in ("<|end|>", "<|begin|>")
    ]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": level,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": TOKENS,
            "merges": ["t h", "th e"],
        },
    }


def ids_of(pieces):
    """Returns the ids for pieces: tokens by their text, or single bytes."""
    return [TOKENS[BYTES[piece] if isinstance(piece, int) else piece] for piece in pieces]


def script(ids):
    """Returns flags that make the model generate these tokens, each once, in this order."""
    flags = ["--no-repeat-ngram-size", "1", "-n", str(len(ids))]
    for i, token in enumerate(ids):
        flags += ["--logit-bias", f"{token}:{100000 - 100 * i}"]
    return flags


def golden(model, case):
    """Returns a golden case's result."""
    ((_, values),) = goldens.read_tensors(os.path.join(GOLDENS, model, case + ".out.safetensors")).values()
    return list(values)


def golden_ids(model, case):
    """Returns the prompt in a one-row golden case."""
    return list(goldens.read_tensors(os.path.join(GOLDENS, model, case + ".in.safetensors"))["input_ids"][1])


def golden_shape(model, tensor):
    """Returns a weight's shape."""
    return goldens.read_tensors(os.path.join(GOLDENS, model, "model.safetensors"))[tensor][0]


class DecoderTest(ToolTest):
    @classmethod
    def variant(cls, model, name, without=(), **files):
        """Returns the artifact for a golden decoder whose folder has other JSON files: each dict is merged into the golden's."""
        folder = os.path.join(cls.shared, f"{model}-{name}")
        if "tokenizer" in files:
            # The model's own class would take only the tokens.
            files.setdefault("tokenizer_config", {"tokenizer_class": "PreTrainedTokenizerFast"})
        if not os.path.exists(folder):
            shutil.copytree(os.path.join(GOLDENS, model), folder, ignore=shutil.ignore_patterns("*.in.*", "*.out.*", "cases.json"))
            for file, content in files.items():
                path = os.path.join(folder, file + ".json")
                if os.path.exists(path):
                    with open(path) as old:
                        content = {**json.load(old), **content}
                with open(path, "w") as out:
                    json.dump({key: value for key, value in content.items() if key not in without}, out)
        return cls.compiled(folder)

    def lines(self, *arguments, **options):
        return [json.loads(line) for line in self.succeed(*arguments, **options).stdout.splitlines()]
