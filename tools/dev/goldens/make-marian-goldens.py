#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes test/goldens/tokenizer/marian: a small Marian folder, and cases.json
# with text, ids and text without special tokens as the class MarianTokenizer
# has them.
#
#   pip install transformers==5.23.0 sentencepiece==0.2.3
#   tools/dev/goldens/make-marian-goldens.py [FOLDER]
import json
import os
import sys

from transformers import MarianTokenizer

import marian_tokenizers

TEXTS = ["", " ", "\u2581", "a", " a  b ", ">>de<< ka lo", ">>de<<ka", ">>xx<<ka", "ka >>de<< lo", "ka</s>lo", "ka <unk> lo <pad>", "\ufb01 \u00bd \u2026", "e\u0301\u0301 q\u0323", "ka\u2581lo \u2581",
         "\u4e2d\u6587", "\u00e6\u00e6 \u00e6", "<s>ka", "1234567", "KA Lo", "\u0640\u200b", "\r\n ka\r\n", ">>de<<", ">>de<<>>fr<<ka", ">> << ka", ">>ka"]


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "test/goldens/tokenizer/marian")
    marian_tokenizers.make(folder, 700, rule=None)
    tokenizer = MarianTokenizer.from_pretrained(folder)
    tokenizer.punc_normalizer = lambda text: text
    texts = TEXTS + [marian_tokenizers.string("golden %d" % i) for i in range(400)]
    cases = []
    for text in texts:
        ids = tokenizer(text).input_ids
        cases.append({"text": text, "ids": ids, "plain": tokenizer.decode(ids, skip_special_tokens=True)})
    with open(os.path.join(folder, "cases.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
    os.remove(os.path.join(folder, "target.spm"))
    os.remove(os.path.join(folder, "tokenizer_config.json"))


if __name__ == "__main__":
    main()
