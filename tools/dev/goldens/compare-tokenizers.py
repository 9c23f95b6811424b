#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares ids, offsets and decoded texts with the PyPI package `tokenizers` on many generated strings, and the texts for random ids (bytes
# in any order, special tokens, ids without a token). Tokenizers are trained here or given as files.
#
#   pip install tokenizers==0.23.3
#   tools/dev/goldens/compare-tokenizers.py build/release/bin/tokenizer-compare [--count 40000] [NAME | tokenizer.json]...
#   tools/dev/goldens/compare-tokenizers.py build/release/bin/tokenizer-compare --patterns 5000
import argparse
import itertools
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

from tokenizers import Regex, Tokenizer

import bpe_tokenizers
import regex_patterns
import unigram_tokenizers  # noqa: F401, adds its tokenizers


def byte_offsets(text, offsets):
    if text.isascii():
        return offsets
    table = [0, *itertools.accumulate(len(c.encode()) for c in text)]
    return [(table[b], table[e]) for b, e in offsets]


def read_results(path):
    """Returns per string: ids, offsets, text with and without special tokens."""
    data = open(path, "rb").read()
    at = 0

    def number():
        nonlocal at
        at += 4
        return struct.unpack_from("<I", data, at - 4)[0]

    while at < len(data):
        count = number()
        values = struct.unpack_from("<%dI" % (3 * count), data, at)
        at += 12 * count
        texts = []
        for _ in range(2):
            size = number()
            texts.append(data[at : at + size])
            at += size
        yield list(values[:count]), list(zip(values[count::2], values[count + 1 :: 2])), texts[0], texts[1]


def expected(tokenizer, strings):
    for start in range(0, len(strings), 2048):
        batch = strings[start : start + 2048]
        encodings = tokenizer.encode_batch(batch)
        ids = [e.ids for e in encodings]
        whole = tokenizer.decode_batch(ids, skip_special_tokens=False)
        plain = tokenizer.decode_batch(ids, skip_special_tokens=True)
        for text, e, a, b in zip(batch, encodings, whole, plain):
            yield e.ids, byte_offsets(text, e.offsets), a.encode(), b.encode()


def random_ids(name, tokenizer, count):
    """Returns id lists: all tokens, bytes, and bytes between added tokens; some ids have no token."""
    rng = random.Random("%s ids" % name)
    every = sorted(tokenizer.get_vocab().items())
    codes = [i for t, i in every if re.fullmatch("<0x..>", t)] or [i for t, i in every if len(t) == 1 and t >= "\x7f"]
    added = list(tokenizer.get_added_tokens_decoder())
    kinds = [[i for _, i in every], codes or added or [0], codes + added or [0]]
    for _ in range(count):
        kind = rng.choice(kinds)
        yield [rng.choice(kind) if rng.random() < 0.97 else rng.randrange(1 << 20) for _ in range(rng.randint(0, 24))]


def expected_texts(tokenizer, lists):
    whole = tokenizer.decode_batch(lists, skip_special_tokens=False)
    plain = tokenizer.decode_batch(lists, skip_special_tokens=True)
    for ids, a, b in zip(lists, whole, plain):
        yield ids, [(0, 0)] * len(ids), a.encode(), b.encode()


def compare(program, name, json_text, count, folder):
    tokenizer = Tokenizer.from_str(json_text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    added = bpe_tokenizers.added_of(tokenizer)
    strings = [bpe_tokenizers.string("%s %d" % (name, i), added) for i in range(count)]
    lists = list(random_ids(name, tokenizer, count // 4))
    paths = [os.path.join(folder, p) for p in ("tokenizer.json", "strings", "results")]
    with open(paths[0], "w") as file:
        file.write(json_text)
    with open(paths[1], "wb") as file:
        for text in strings:
            data = text.encode()
            file.write(struct.pack("<I", len(data)) + data)
        for ids in lists:
            file.write(struct.pack("<I%dI" % len(ids), 1 << 31 | 4 * len(ids), *ids))
    subprocess.run([program, *paths], check=True)
    wrong = {"ids": 0, "offsets": 0, "texts": 0}
    got = read_results(paths[2])
    wanted = itertools.chain(expected(tokenizer, strings), expected_texts(tokenizer, lists))
    for text, want in zip(strings + lists, wanted):
        have = next(got)
        kinds = [("ids", have[0] == want[0]), ("offsets", have[0] != want[0] or have[1] == want[1]), ("texts", have[0] != want[0] or have[2:] == want[2:])]
        for kind, same in kinds:
            if not same:
                wrong[kind] += 1
                if wrong[kind] <= 3:
                    print("%s: %s of %r\n  got      %r\n  expected %r" % (name, kind, text, have, want))
    print("%-12s %7d strings, %7d lists of ids, %7d tokens in the vocabulary; wrong: %s"
          % (name, count, len(lists), tokenizer.get_vocab_size(), wrong), flush=True)
    return sum(wrong.values())


def compare_patterns(program, count, folder):
    """Compares matches of random patterns; returns the number of differences and of rejected patterns."""
    cases = [regex_patterns.random_case(seed) for seed in range(count)]
    pairs = [(pattern, text) for pattern, texts in cases for text in texts]
    paths = [os.path.join(folder, p) for p in ("patterns", "matches")]
    with open(paths[0], "wb") as file:
        for item in itertools.chain(*pairs):
            file.write(struct.pack("<I", len(item.encode())) + item.encode())
    subprocess.run([program, "--patterns", *paths], check=True)
    data, at, wrong, refused = open(paths[1], "rb").read(), 0, 0, {}
    for pattern, text in pairs:
        size = struct.unpack_from("<I", data, at)[0]
        got, at = data[at + 4 : at + 4 + size].decode(), at + 4 + size
        want = regex_patterns.marked(text, Regex(pattern))
        if got.startswith("\0"):
            refused[pattern] = got[1:]
        elif got != want:
            wrong += 1
            print("%r on %r\n  got      %r\n  expected %r" % (pattern, text, got, want))
    print("%d patterns, %d texts; wrong: %d; refused: %s" % (len(cases), len(pairs), wrong, sorted(refused.values())[:5]), flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=40000)
    parser.add_argument("--patterns", type=int, default=0, help="compare the matches of so many random patterns instead")
    parser.add_argument("--size", type=int, default=2000, help="tokens of a trained vocabulary")
    arguments = parser.parse_args()
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        if arguments.patterns:
            sys.exit(1 if compare_patterns(arguments.program, arguments.patterns, folder) else 0)
        for name in arguments.names or bpe_tokenizers.TOKENIZERS:
            text = open(name).read() if os.path.exists(name) else bpe_tokenizers.make(name, arguments.size)
            total += compare(arguments.program, name, text, arguments.count, folder)
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
