# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares the machine code that two builds of the compiler generate: digests of the functions and tables in an assembly file. A digest
# does not depend on symbol names.
import hashlib
import re
from collections import Counter

LABEL = re.compile(r'^("[^"]+"|[\w.$]+):')
SYMBOL = re.compile(r'"[^"]+"|\.?[A-Za-z_][\w.$]*')
# Labels within a function.
LOCAL = (".LBB", ".Lfunc", ".Ltmp", ".LJTI")
# Lines that name a symbol or the file but emit no bytes.
SILENT = (".file", ".globl", ".local", ".hidden", ".type", ".size", ".ident", ".weak", ".addrsig", ".cfi", ".section", ".text", ".data")


def strip_comment(line):
    """Returns the line without a comment; strings in the compiler's output contain no '#' or '//'."""
    return re.split(r"\s#|\s//|^#|^//", line, maxsplit=1)[0].strip()


def read_symbols(text):
    """Returns a list of (label, lines below it). A function's local labels (.LBB) stay within its lines."""
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
    """Returns the lines with local labels numbered in order of appearance, and symbols replaced by digests or a mark."""
    numbers = {}

    def replace(match):
        name = match.group()
        if name.startswith(LOCAL):
            return f".L{numbers.setdefault(name, len(numbers))}"
        return digests.get(name, name)

    return "\n".join(SYMBOL.sub(replace, line) for line in lines)


def digest_symbols(text, rounds=4):
    """Returns a content digest for each symbol. Each round replaces names by the digests from the previous round, so that a caller's
    digest eventually depends on the content of referenced symbols, never on their names."""
    symbols = read_symbols(text)
    digests = {name: "SYMBOL" for name, _ in symbols}
    for _ in range(rounds):
        digests = {name: "S" + hashlib.sha256(normalise(lines, digests).encode()).hexdigest()[:20] for name, lines in symbols}
    return {name: digest for name, digest in digests.items() if not name.startswith(".L")}


def compare_code(old, new):
    """Compares two results of digest_symbols. Returns two lists with the symbols on each side whose content the other side lacks."""
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
