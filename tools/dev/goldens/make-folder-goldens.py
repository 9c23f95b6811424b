#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes test/goldens/tokenizer/folders: small tokenizer folders, mostly without tokenizer.json. Each cases.json contains texts, ids, offsets
# and decoded texts from the transformers classes. Classes written in Python provide neither offsets nor texts with special tokens.
#
#   pip install transformers==5.23.0 sentencepiece==0.2.3
#   tools/dev/goldens/make-folder-goldens.py [FOLDER [NAME]...]
import functools
import importlib
import itertools
import json
import os
import sys

import folder_tokenizers

compare_tokenizers = importlib.import_module("compare-tokenizers")
NAMES = ["t5_settings", "xlm_roberta_settings", "mbart", "mbart50", "nllb", "nllb_legacy", "pegasus", "llama", "llama_legacy", "llama_decoder", "m2m100_bpe", "m2m100_settings",
         "marian_two", "bart_settings", "blenderbot", "gpt2_opt", "roberta", "qwen2", "bert_type", "bert_cased", "bert_accents", "distilbert", "electra", "mpnet", "mpnet_settings", "albert", "albert_settings", "camembert_settings",
         "deberta_settings", "deberta_v2", "deberta_v2_settings", "english_bpe", "english_bpe_forced", "english_unigram", "english_wordpiece",
         "serialized_bert", "serialized_general", "serialized_tokens", "serialized_type",
         "saved_albert_foreign", "saved_bart_settings", "saved_camembert_settings", "saved_cohere", "saved_deberta_v2_settings", "saved_gemma", "saved_general", "saved_general_split",
         "saved_gpt2_settings", "saved_llama_settings", "saved_neox", "saved_nllb_foreign", "saved_t5_foreign", "saved_xlm_roberta_settings"]
TEXTS = ["", " ", "\u2581", "a", " a  b ", "ka</s>lo", "ka <unk> lo <pad>", "\ufb01 \u00bd \u2026", "e\u0301\u0301 q\u0323", "ka\u2581lo \u2581", "\u4e2d\u6587", "<s>ka <mask> lo",
         "1234567", "KA Lo", "\u0640\u200b", "\r\n ka\r\n", "a\nb", "\U0001f600\u0000"]


SECOND = "lo [SEP] Ka"


def case(tokenizer, text, pairs=False):
    encoding = tokenizer(text, return_offsets_mapping=tokenizer.is_fast)
    ids = encoding.input_ids
    if hasattr(tokenizer, "separate_vocabs"):
        # For target language texts, the class gives <pad> the source language's id.
        target = tokenizer(text_target=text.replace("<pad>", "")).input_ids
        found = {"text": text, "ids": ids, "target": target, "plain": tokenizer.decode(target, skip_special_tokens=True)}
        return {key: found[key] for key in (["text", "ids"] if "<pad>" in text else found)}
    found = {"text": text, "ids": ids, "plain": tokenizer.decode(ids, skip_special_tokens=True)}
    if tokenizer.is_fast:
        found["decoded"] = tokenizer.decode(ids)
        found["offsets"] = list(itertools.chain(*compare_tokenizers.byte_offsets(text, encoding.offset_mapping)))
    if pairs:
        pair = tokenizer(text, SECOND, return_token_type_ids=True)
        found.update(second=SECOND, pair=pair.input_ids, types=pair.token_type_ids)
    return found


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "test/goldens/tokenizer/folders")
    train = folder_tokenizers.train
    folder_tokenizers.train = functools.partial(train, characters=60)
    for name in sys.argv[2:] or NAMES:
        folder = os.path.join(top, name)
        folder_tokenizers.FOLDERS[name].write(folder, 500 if name == "marian_two" else 200)
        tokenizer = folder_tokenizers.FOLDERS[name].load(folder)
        pairs = getattr(folder_tokenizers.FOLDERS[name], "pairs", False)
        texts = getattr(folder_tokenizers.FOLDERS[name], "texts", []) + TEXTS + [folder_tokenizers.string("golden %d" % i, tokenizer) for i in range(40)]
        with open(os.path.join(folder, "cases.json"), "w") as file:
            file.write("[\n" + ",\n".join(json.dumps(case(tokenizer, t, i < 20 and pairs), separators=(",", ":")) for i, t in enumerate(texts)) + "\n]\n")
        print(name, flush=True)


if __name__ == "__main__":
    main()
