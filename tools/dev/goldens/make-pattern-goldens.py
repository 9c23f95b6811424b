#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes test/goldens/tokenizer/patterns.json with the PyPI package `tokenizers`:
# regular expressions, texts, and the texts with each match in brackets.
#
#   pip install tokenizers==0.23.3
#   tools/dev/goldens/make-pattern-goldens.py
import json
import os

from tokenizers import Regex

import regex_patterns

RANDOM = 700


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    cases = [(pattern, regex_patterns.TEXTS) for pattern in regex_patterns.WRITTEN]
    cases += [regex_patterns.random_case(seed) for seed in range(RANDOM)]
    lines = []
    for pattern, texts in cases:
        regex = Regex(pattern)
        pairs = [[text, regex_patterns.marked(text, regex)] for text in texts]
        lines.append(json.dumps([pattern, pairs], ensure_ascii=False, separators=(",", ":")))
    with open(os.path.join(root, "test/goldens/tokenizer/patterns.json"), "w") as file:
        file.write("[\n%s\n]\n" % ",\n".join(lines))
    print("%d patterns" % len(cases))


if __name__ == "__main__":
    main()
