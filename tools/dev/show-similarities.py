#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Prints a table with the cosine similarity of each text pair in the JSON lines from `transom embed`.
import json
import math
import sys


def cosine(left, right):
    dot = sum(a * b for a, b in zip(left, right))
    return dot / math.sqrt(sum(a * a for a in left) * sum(b * b for b in right))


def main():
    with open(sys.argv[1], encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    width = max(len(row["text"]) for row in rows) + 4
    print(" " * width + "".join(f"{column:>7}" for column in range(1, len(rows) + 1)))
    for number, row in enumerate(rows, 1):
        values = "".join(f"{cosine(row['embedding'], other['embedding']):7.3f}" for other in rows)
        print(f"{number}  {row['text']}".ljust(width) + values)


main()
