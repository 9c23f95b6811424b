# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds precompiled character maps, as used by SentencePiece models and the normalizer `Precompiled` in `tokenizers`: the size of a double
# array in bytes (Darts-clone format), the array, and NUL-terminated strings.
import struct


class DoubleArray:
    def __init__(self, values):
        self.units = {0: 0}
        self.place(0, sorted(values.items()), 0)

    def place(self, at, items, depth):
        groups = {}
        for key, value in items:
            groups.setdefault(key[depth] if depth < len(key) else 0, []).append((key, value))
        offset = next(o for o in range(1, 1 << 21) if all(at ^ o ^ label not in self.units for label in groups))
        self.units[at] |= offset << 10 | (256 if 0 in groups else 0)
        for label in groups:
            self.units[at ^ offset ^ label] = label
        for label, group in groups.items():
            if label:
                self.place(at ^ offset ^ label, group, depth + 1)
            else:
                self.units[at ^ offset] = 1 << 31 | group[0][1]

    def bytes(self):
        size = (max(self.units) // 256 + 1) * 256
        return struct.pack("<%dI" % size, *(self.units.get(i, 0) for i in range(size)))


def build(rules):
    """Returns the character map for the replacements in `rules`."""
    strings, values = b"", {}
    for key, value in rules.items():
        values[key.encode()] = len(strings)
        strings += value.encode() + b"\0"
    array = DoubleArray(values).bytes()
    return struct.pack("<I", len(array)) + array + strings
