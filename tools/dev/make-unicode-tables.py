#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes runtime/tokenizer/UnicodeTables.cpp and, for regular expressions, compiler/import/tokenizer/regex/UnicodeCategories.cpp: the character
# properties that the tokenizer needs, as in the PyPI package `tokenizers`. That package mixes the Unicode versions of several libraries, so
# no single Unicode version reproduces its ids. Therefore each property is queried from the package for every code point, and the number of
# differences from Python's unicodedata is printed.
#
#   pip install tokenizers==0.23.3
#   tools/dev/make-unicode-tables.py
import os
import textwrap
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

WHITESPACE, PUNCTUATION, REMOVED, NONSPACING, MARK, WORD, DECOMPOSES, EXPANDS = (1 << i for i in range(8))
HANGUL = range(0xAC00, 0xAC00 + 11172)
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
HIGHEST_CLASS = "\u0345"  # combining class 240, the last one
LOWEST_CLASS = "\u0334"  # combining class 1, the first one

BANNER = """\
// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
"""


def bert(**flags):
    options = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    options.update(flags)
    return normalizers.BertNormalizer(**options).normalize_str


def images(normalize):
    """Returns the image of every single code point."""
    return {c: normalize(chr(c)) for c in CODE_POINTS}


def reorders(pairs):
    """Returns for each character pair whether canonical ordering swaps it after a base."""
    nfd = normalizers.NFD().normalize_str
    return [nfd("a" + x + y)[1:] != x + y for x, y in pairs]


def combining_classes(nfd):
    """Returns the combining class of each code point that has one, determined from its ordering."""
    stable = [c for c in CODE_POINTS if nfd[c] == chr(c)]
    after = reorders([(HIGHEST_CLASS, chr(c)) for c in stable])
    before = reorders([(chr(c), LOWEST_CLASS) for c in stable])
    marks = [c for c, x, y in zip(stable, after, before) if x or y]
    representative = {}
    for c in marks:
        k = unicodedata.combining(chr(c))
        if k:
            representative.setdefault(k, chr(c))
    classes = {}
    for c in marks:
        for k, mark in representative.items():
            if reorders([(chr(c), mark), (mark, chr(c))]) == [False, False]:
                classes[c] = k
    assert len(classes) == len(marks)
    return classes


def properties():
    nfd = images(normalizers.NFD().normalize_str)
    lower = images(normalizers.Lowercase().normalize_str)
    clean = images(bert(clean_text=True))
    marks = images(normalizers.StripAccents().normalize_str)
    accents = images(bert(strip_accents=True))
    classes = combining_classes(nfd)
    bert_words, words = pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Whitespace()
    records, decompositions, expansions = {}, {}, {}
    for c in CODE_POINTS:
        char, flags, delta = chr(c), 0, 0
        pieces = len(bert_words.pre_tokenize_str("a" + char + "a"))
        flags |= {1: 0, 2: WHITESPACE, 3: PUNCTUATION}[pieces]
        if clean[c] == "":
            flags |= REMOVED
        if marks[c] == "":
            flags |= MARK
        if nfd[c] == char and accents[c] == "":
            flags |= NONSPACING
        if len(words.pre_tokenize_str("_" + char)[0][0]) == 2:
            flags |= WORD
        if nfd[c] != char:
            flags |= DECOMPOSES
            if c not in HANGUL:
                decompositions[c] = nfd[c]
        if len(lower[c]) == 1:
            delta = ord(lower[c]) - c
        else:
            flags |= EXPANDS
            expansions[c] = lower[c]
        records[c] = (flags, classes.get(c, 0), delta)
    for c in range(0xD800, 0xE000):
        records[c] = (0, 0, 0)
    for c in HANGUL:
        assert nfd[c] == unicodedata.normalize("NFD", chr(c))
    return records, decompositions, expansions


def compositions(decompositions):
    """Returns the character pairs that canonical composition joins."""
    nfc, found = normalizers.NFC().normalize_str, []
    for c, image in decompositions.items():
        if len(image) > 1 and nfc(image) == chr(c):
            first = nfc(image[:-1])
            assert len(first) == 1 and nfc(first + image[-1]) == chr(c)
            found.append((ord(first), ord(image[-1]), c))
    return sorted(found)


# --- Properties for regular expressions and `Digits` ---

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
CLASSES = ["\\s", "\\w", None, "\\p{Han}", "\\p{Hiragana}", "\\p{Katakana}"]  # None: `Digits` splits them


def members(step):
    """Returns the code points that a pre-tokenizer drops from a text with all of them."""
    text = "".join(map(chr, CODE_POINTS))
    kept = set()
    for _, (begin, end) in step.pre_tokenize_str(text):
        kept.update(CODE_POINTS[begin:end])
    return [c for c in CODE_POINTS if c not in kept]


def digits():
    text = "".join("_" + chr(c) for c in CODE_POINTS)
    pieces = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str(text)
    return [CODE_POINTS[begin // 2] for _, (begin, end) in pieces if begin % 2 == 1 and end == begin + 1]


def regex_properties():
    values = {}
    for number, name in enumerate(CATEGORIES):
        for c in members(pre_tokenizers.Split(Regex("\\p{%s}" % name), "removed")):
            assert c not in values
            values[c] = number
    assert len(values) == len(CODE_POINTS)
    for bit, pattern in enumerate(CLASSES):
        for c in members(pre_tokenizers.Split(Regex(pattern), "removed")) if pattern else digits():
            values[c] |= 32 << bit
    for c in range(0xD800, 0xE000):
        values[c] = CATEGORIES.index("Cs")
    return values


def write_categories(path):
    values = regex_properties()
    runs = [(c, values[c]) for c in range(0x110000) if c == 0 or values[c] != values[c - 1]]
    differ = sum(1 for c in CODE_POINTS if CATEGORIES[values[c] & 31] != unicodedata.category(chr(c)))
    text = (
        "Generated by tools/dev/make-unicode-tables.py; do not edit. General categories and classes as the regular"
        " expressions of the PyPI package tokenizers %s have them; %d categories differ from Unicode %s."
        % (tokenizers.__version__, differ, unicodedata.unidata_version)
    )
    out = [BANNER + textwrap.fill(text, 80, initial_indent="// ", subsequent_indent="// ")]
    out += ['#include "compiler/import/tokenizer/regex/CharSet.h"', "", "// clang-format off", "namespace transom::tokenizer {"]
    array(out, "const uint32_t propertyRuns[%d]" % len(runs), [c << 11 | v for c, v in runs])
    out.append("const size_t propertyRunCount = %d;" % len(runs))
    out.append("} // namespace transom::tokenizer")
    with open(path, "w") as file:
        file.write("\n".join(out) + "\n")
    print("%d runs of categories, %d categories differ" % (len(runs), differ))


def differences(records, decompositions, expansions):
    """Returns the number of code points that differ from Python's unicodedata, by property."""

    def count(predicate):
        return sum(1 for c in CODE_POINTS if predicate(c, chr(c), records[c][0]))

    category = unicodedata.category
    ascii_punctuation = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    lowered = lambda c: expansions.get(c) or chr(c + records[c][2])
    return {
        "punctuation": count(lambda c, x, f: bool(f & PUNCTUATION) != (category(x)[0] == "P" or x in ascii_punctuation)),
        "marks": count(lambda c, x, f: bool(f & MARK) != (category(x)[0] == "M")),
        "nonspacing": count(lambda c, x, f: not f & DECOMPOSES and bool(f & NONSPACING) != (category(x) == "Mn")),
        "control": count(lambda c, x, f: bool(f & REMOVED) != (category(x) in ("Cc", "Cf", "Co") and x not in "\t\n\r")),
        "combining class": count(lambda c, x, f: not f & DECOMPOSES and records[c][1] != unicodedata.combining(x)),
        "decomposition": count(lambda c, x, f: c not in HANGUL and decompositions.get(c, x) != unicodedata.normalize("NFD", x)),
        "lower case": count(lambda c, x, f: lowered(c) != x.lower()),
    }


def split(records):
    """Returns the smallest two-stage table: (shift, first stage, second stage, distinct records)."""
    distinct = sorted(set(records.values()))
    number = {r: i for i, r in enumerate(distinct)}
    assert len(distinct) < 256
    flat = bytes(number[records[c]] for c in range(0x110000))
    best = None
    for shift in (5, 6, 7, 8):
        blocks, first = {}, []
        for i in range(0, len(flat), 1 << shift):
            first.append(blocks.setdefault(flat[i : i + (1 << shift)], len(blocks)))
        second = b"".join(blocks)
        size = 2 * len(first) + len(second)
        if best is None or size < best[0]:
            best = (size, shift, first, second)
    return best[1], best[2], best[3], distinct


def array(out, declaration, values):
    out.append(declaration + " = {")
    line = ""
    for value in values:
        if len(line) + len(str(value)) > 96:
            out.append(line)
            line = ""
        line += str(value) + ","
    out.append(line)
    out.append("};")


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.path.join(root, "runtime/tokenizer/UnicodeTables.cpp")
    write_categories(os.path.join(root, "compiler/import/tokenizer/regex/UnicodeCategories.cpp"))
    records, decompositions, expansions = properties()
    differ = differences(records, decompositions, expansions)
    text = (
        "Generated by tools/dev/make-unicode-tables.py; do not edit. Character properties as the PyPI package tokenizers"
        " %s has them, which mixes Unicode versions. Differences to Unicode %s: %s."
        % (tokenizers.__version__, unicodedata.unidata_version, ", ".join("%s %d" % item for item in differ.items()))
    )
    shift, first, second, distinct = split(records)
    out = [BANNER + textwrap.fill(text, 80, initial_indent="// ", subsequent_indent="// ")]
    out += ['#include "runtime/tokenizer/UnicodeData.h"', ""]
    out.append("// clang-format off")
    out.append("namespace transom::unicode {")
    out.append("const unsigned blockShift = %d;" % shift)
    array(out, "const uint16_t blocks[%d]" % len(first), first)
    array(out, "const uint8_t recordNumbers[%d]" % len(second), second)
    array(out, "const Record records[%d]" % len(distinct), ["{%d,%d,%d}" % r for r in distinct])
    pool, entries = [], []
    for c, image in sorted(decompositions.items()):
        entries.append("{%d,%d,%d}" % (c, len(pool), len(image)))
        pool += [ord(x) for x in image]
    out.append("const size_t decompositionCount = %d;" % len(entries))
    array(out, "const Expansion decompositions[%d]" % len(entries), entries)
    array(out, "const char32_t decomposed[%d]" % len(pool), pool)
    pairs = compositions(decompositions)
    out.append("const size_t compositionCount = %d;" % len(pairs))
    array(out, "const Composition compositions[%d]" % len(pairs), ["{%d,%d,%d}" % p for p in pairs])
    pool, entries = [], []
    for c, image in sorted(expansions.items()):
        entries.append("{%d,%d,%d}" % (c, len(pool), len(image)))
        pool += [ord(x) for x in image]
    out.append("const size_t lowerExpansionCount = %d;" % len(entries))
    array(out, "const Expansion lowerExpansions[%d]" % len(entries), entries)
    array(out, "const char32_t lowered[%d]" % len(pool), pool)
    out.append("} // namespace transom::unicode")
    with open(path, "w") as file:
        file.write("\n".join(out) + "\n")
    print("tokenizers %s against unicodedata %s: %s" % (tokenizers.__version__, unicodedata.unidata_version, ", ".join("%s %d" % i for i in differ.items())))
    print("%d records, %d bytes of tables" % (len(distinct), 2 * len(first) + len(second) + 8 * len(distinct)))


if __name__ == "__main__":
    main()
