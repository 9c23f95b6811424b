#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares ids and decoded texts of Marian folders with those of the class
# MarianTokenizer on many generated strings: a folder that is trained here, or
# those given. Texts are those without special tokens.
#
#   pip install transformers==5.23.0 sentencepiece==0.2.3
#   tools/dev/goldens/compare-marian.py build/release/bin/tokenizer-compare [--count 20000] [FOLDER]...
import argparse
import importlib
import os
import struct
import subprocess
import sys
import tempfile

from transformers import MarianTokenizer

import marian_tokenizers

compare_tokenizers = importlib.import_module("compare-tokenizers")


def compare(program, folder, count, scratch):
    tokenizer = MarianTokenizer.from_pretrained(folder)
    tokenizer.punc_normalizer = lambda text: text
    strings = [marian_tokenizers.string("marian %d" % i) for i in range(count)]
    paths = [os.path.join(scratch, p) for p in ("strings", "results")]
    with open(paths[0], "wb") as file:
        for text in strings:
            data = text.encode()
            file.write(struct.pack("<I", len(data)) + data)
    subprocess.run([program, folder, *paths], check=True)
    wrong = {"ids": 0, "texts": 0}
    for text, have in zip(strings, compare_tokenizers.read_results(paths[1]), strict=True):
        ids = tokenizer(text).input_ids
        plain = tokenizer.decode(ids, skip_special_tokens=True)
        for kind, same, pair in (("ids", have[0] == ids, (have[0], ids)), ("texts", have[3] == plain.encode() or have[0] != ids, (have[3].decode(), plain))):
            if not same:
                wrong[kind] += 1
                if wrong[kind] <= 4:
                    print("%s of %r\n  got      %r\n  expected %r\n  %r" % (kind, text, *pair, tokenizer.tokenize(text)))
    print("%s: %d strings, %d tokens in the vocabulary; wrong: %s" % (folder, count, len(tokenizer.encoder), wrong), flush=True)
    return sum(wrong.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--count", type=int, default=20000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folders = arguments.folders
        if not folders:
            folders = [os.path.join(scratch, "trained")]
            marian_tokenizers.make(folders[0], 1200)
        wrong = sum(compare(arguments.program, folder, arguments.count, scratch) for folder in folders)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
