#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes test/goldens/tokenizer/bpe and unigram with the PyPI package `tokenizers`: small tokenizers, complete cases, and result hashes for
# the corpus in make-tokenizer-goldens.py, which test/runtime/tokenizer/Corpus.cpp generates.
#
#   pip install tokenizers==0.23.3
#   tools/dev/goldens/make-bpe-goldens.py [--train] [FOLDER] [NAME]...      --train makes the tokenizers anew, too
#
# NAME.json        the tokenizer
# NAME.cases.json  text, pair, ids, type ids, byte offsets, decoded with and without special tokens
# NAME.hashes.bin  per string of the corpus one byte: the first of the SHA-256 of ids, offsets and decoded text
import hashlib
import importlib
import itertools
import json
import os
import sys

from tokenizers import Tokenizer

import bpe_tokenizers
import unigram_tokenizers  # adds its tokenizers

corpus = importlib.import_module("make-tokenizer-goldens")

NAMES = ["gpt2", "llama3", "qwen2", "llama2", "metaspace", "roberta", "o200k", "cl100k", "scripts", "word_end", "no_unknown", "script_words", "bytes_first"]
UNIGRAM = ["t5", "xlmr", "unigram_bytes", "unigram_first"]
FULL = ["gpt2", "llama3", "qwen2", "llama2", "metaspace"]  # with more cases
# The package takes too long on the corpus with these.
WITHOUT_CORPUS = ["word_end", "no_unknown", "script_words", "bytes_first"]
CORPUS = list(range(8192)) + list(range(corpus.RANDOM_STRINGS, corpus.CORPUS_SIZE))
TEXTS = [
    "", " ", "  ", "\n", " a", "a ", "Hello, world!", "I've don't WE'LL they're it's 'S '\u017f x'x", "1234567 12 3.14e-10 \u0661\u0662\u0663 \u00bd\u2167\u2463",
    "   leading and trailing   ", "a\n\n  b\r\n\tc \n", "tabs\t\tand\u00a0\u3000spaces\u2028\u0085end", "caf\u00e9 cafe\u0301 CAFE\u0301 \u212b \uac00\u1100\u1161\u11a8",
    "\u5317\u4eac\u662f\u4e2d\u56fd\u7684\u9996\u90fd\u3002", "mixed\u4e2d\u6587and\u65e5\u672c\u8a9e\u30c6\u30ad\u30b9\u30c8ABC\u65e5Abc", "\U0001f600\U0001f44d\U0001f3fd\U0001f469\u200d\U0001f469\u200d\U0001f467 ok",
    "e\u0301\u0323\u0307 q\u0307\u0323 \u0344\u0323 \u0f73\u0f71", "def f(x):\n    return x**2  # done\n\n\n", "HTTPServer fooBar XMLHttp2 a_b-c", "https:" "//a.b/c?d=e&f=%20#g",
    "\ufffd\u0000\u0001\u200b\ufeff", "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "!?...---###", "<0x41><0xE2>", "\u2581under \u2581\u2581 bars\u2581"]
PAIRS = [("one text", "and another one"), ("", "only the second"), ("only the first", "")]


def case(tokenizer, text, pair=None):
    encoding = tokenizer.encode(text, pair)
    found = {"text": text, "pair": pair, "ids": encoding.ids, "type_ids": encoding.type_ids if pair is not None else None,
             "offsets": list(itertools.chain(*corpus.byte_offsets(text, encoding, pair)))}
    decoded = tokenizer.decode(encoding.ids, skip_special_tokens=False)
    plain = tokenizer.decode(encoding.ids)
    found.update({"decoded": decoded, "plain": plain if plain != decoded else None})
    return {key: value for key, value in found.items() if value is not None}


def hashes(tokenizer):
    strings = [corpus.corpus_string(i) for i in CORPUS]
    for start in range(0, len(strings), 1024):
        batch = strings[start : start + 1024]
        encodings = tokenizer.encode_batch(batch)
        texts = tokenizer.decode_batch([e.ids for e in encodings], skip_special_tokens=False)
        for text, encoding, decoded in zip(batch, encodings, texts):
            offsets = list(itertools.chain(*corpus.byte_offsets(text, encoding)))
            yield hashlib.sha256(corpus.pack(encoding.ids) + corpus.pack(offsets) + decoded.encode()).digest()


def make(folder, name, anew):
    path = os.path.join(folder, name)
    if anew or not os.path.exists(path + ".json"):
        with open(path + ".json", "w") as file:
            file.write(bpe_tokenizers.make(name, 1000 if name in NAMES else 600))
    tokenizer = Tokenizer.from_str(open(path + ".json").read())
    added = bpe_tokenizers.added_of(tokenizer)
    texts = TEXTS + [" x ".join(added)] + [bpe_tokenizers.string("golden %s %d" % (name, i), added) for i in range(400 if name in FULL else 60)]
    corpus.write_json(path + ".cases.json", [case(tokenizer, text) for text in texts] + [case(tokenizer, *pair) for pair in PAIRS])
    if name not in WITHOUT_CORPUS:
        digests = list(hashes(tokenizer))
        with open(path + ".hashes.bin", "wb") as file:
            file.write(bytes(digest[0] for digest in digests) + hashlib.sha256(b"".join(digests)).digest())
    print(name, flush=True)


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    arguments = [a for a in sys.argv[1:] if a != "--train"]
    folder = arguments[0] if arguments else os.path.join(root, "test/goldens/tokenizer")
    for name in arguments[1:] or NAMES + UNIGRAM:
        kind = os.path.join(folder, "unigram" if name in unigram_tokenizers.TOKENIZERS else "bpe")
        os.makedirs(kind, exist_ok=True)
        make(kind, name, "--train" in sys.argv)


if __name__ == "__main__":
    main()
