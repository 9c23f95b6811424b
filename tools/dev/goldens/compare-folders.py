#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares ids and decoded texts for folders without tokenizer.json with the transformers classes on many generated strings. Folders are
# generated here, or given; tokenizer_config.json names the class. For classes written in Python, only texts without special tokens are
# compared, and no offsets.
#
#   pip install transformers==5.23.0 sentencepiece==0.2.3
#   tools/dev/goldens/compare-folders.py build/release/bin/tokenizer-compare [--count 20000] [NAME | FOLDER]...
import argparse
import importlib
import os
import struct
import subprocess
import sys
import tempfile

from transformers import AutoTokenizer

import folder_tokenizers

compare_tokenizers = importlib.import_module("compare-tokenizers")


def get_differences(tokenizer, text, have):
    """Yields the kinds of results that differ, each with both values."""
    encoding = tokenizer(text, return_offsets_mapping=tokenizer.is_fast)
    ids = encoding.input_ids
    if have[0] != ids:
        yield "ids", have[0], ids
        return
    if getattr(tokenizer, "separate_vocabs", False):
        return  # they are ids in the other language
    plain = tokenizer.decode(ids, skip_special_tokens=True)
    if have[3] != plain.encode():
        yield "texts", have[3].decode(), plain
    if not tokenizer.is_fast:
        return
    offsets = compare_tokenizers.byte_offsets(text, encoding.offset_mapping)
    if have[1] != offsets:
        yield "offsets", have[1], offsets
    whole = tokenizer.decode(ids)
    if have[2] != whole.encode():
        yield "texts", have[2].decode(), whole


def compare(program, folder, tokenizer, count, scratch):
    strings = [folder_tokenizers.string("%s %d" % (os.path.basename(folder), i), tokenizer) for i in range(count)]
    paths = [os.path.join(scratch, p) for p in ("strings", "results")]
    with open(paths[0], "wb") as file:
        for text in strings:
            data = text.encode()
            file.write(struct.pack("<I", len(data)) + data)
    subprocess.run([program, folder, *paths], check=True)
    wrong = {"ids": 0, "offsets": 0, "texts": 0}
    for text, have in zip(strings, compare_tokenizers.read_results(paths[1]), strict=True):
        for kind, got, expected in get_differences(tokenizer, text, have):
            wrong[kind] += 1
            if wrong[kind] <= 2:
                print("%s of %r\n  got      %r\n  expected %r\n  %r" % (kind, text, got, expected, tokenizer.tokenize(text)))
    print("%-24s %-20s %d strings, %d tokens in the vocabulary; wrong: %s" % (os.path.basename(folder), type(tokenizer).__name__, count, len(tokenizer), wrong), flush=True)
    return sum(wrong.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--size", type=int, default=900, help="pieces of a trained model")
    arguments = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.names or folder_tokenizers.FOLDERS:
            if os.path.isdir(name):
                folder, tokenizer = name, AutoTokenizer.from_pretrained(name)
            else:
                folder = os.path.join(scratch, name)
                folder_tokenizers.FOLDERS[name].write(folder, arguments.size)
                tokenizer = folder_tokenizers.FOLDERS[name].load(folder)
            wrong += compare(arguments.program, folder, tokenizer, arguments.count, scratch)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
