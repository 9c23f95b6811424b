# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Digests of the functions and tables in an assembly file that do not depend on
# the names of symbols, so that two compilers' code can be compared.
import hashlib
import re
from collections import Counter

LABEL = re.compile(r'^("[^"]+"|[\w.$]+):')
SYMBOL = re.compile(r'"[^"]+"|\.?[A-Za-z_][\w.$]*')
# Labels within a function.
LOCAL = (".LBB", ".Lfunc", ".Ltmp", ".LJTI")
# Lines that name a symbol or the file but make no bytes.
SILENT = (".file", ".globl", ".local", ".hidden", ".type", ".size", ".ident", ".weak", ".addrsig", ".cfi", ".section", ".text", ".data")


def strip_comment(line):
    """The line without a comment; strings of the compiler's files hold no '#' or '//'."""
    return re.split(r"\s#|\s//|^#|^//", line, maxsplit=1)[0].strip()


def read_symbols(text):
    """Lines below each label: a list of (label, lines). Local labels of a function (.LBB) stay within its lines."""
    symbols = []
    for raw in text.splitlines():
        line = strip_comment(raw)
        label = LABEL.match(line)
        if label and not label.group(1).startswith(LOCAL):
            symbols.append((label.group(1), []))
        elif line and symbols and not line.startswith(SILENT):
            symbols[-1][1].append(line)
    # The alignment of the next symbol is at the end of this one.
    for _, lines in symbols:
        while lines and lines[-1].startswith(".p2align"):
            lines.pop()
    return symbols


def normalise(lines, digests):
    """The lines with local labels numbered in order of appearance, and symbols replaced by digests or a mark."""
    numbers = {}

    def replace(match):
        name = match.group()
        if name.startswith(LOCAL):
            return f".L{numbers.setdefault(name, len(numbers))}"
        return digests.get(name, name)

    return "\n".join(SYMBOL.sub(replace, line) for line in lines)


def digest_symbols(text, rounds=4):
    """Digest of each symbol's content. Each round replaces names by the digests of the round before, so that after some
    rounds the digest of a caller also depends on the content of what it refers to, never on its name."""
    symbols = read_symbols(text)
    digests = {name: "SYMBOL" for name, _ in symbols}
    for _ in range(rounds):
        digests = {name: "S" + hashlib.sha256(normalise(lines, digests).encode()).hexdigest()[:20] for name, lines in symbols}
    return {name: digest for name, digest in digests.items() if not name.startswith(".L")}


def compare_code(old, new):
    """Names of symbols of each side whose content the other side lacks, as two lists, given digest_symbols of both."""
    spare_old, spare_new = Counter(old.values()), Counter(new.values())
    common = spare_old & spare_new
    spare_old, spare_new = spare_old - common, spare_new - common

    def names(symbols, spare):
        found = []
        for name, digest in sorted(symbols.items()):
            if spare[digest] > 0:
                spare[digest] -= 1
                found.append(name)
        return found

    return names(old, spare_old), names(new, spare_new)
