# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tokenizers for Marian folders, trained on generated text with the PyPI package `sentencepiece`. Used by make-marian-goldens.py and
# folder_tokenizers.py.
import io
import json
import os

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

import bpe_tokenizers
import unigram_tokenizers

CODES = [">>de<<", ">>fr<<", ">>zho_Hans<<"]


def train(texts, size, rule):
    written = io.BytesIO()
    options = {"normalization_rule_name": rule} if rule else {}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=written, vocab_size=size, hard_vocab_limit=False,
                                             character_coverage=1.0, minloglevel=2, num_threads=1, **options)
    model = sentencepiece_model_pb2.ModelProto.FromString(written.getvalue())
    if not rule:
        model.normalizer_spec.precompiled_charsmap = unigram_tokenizers.charsmap()
    return model


def make(folder, size, rule="nmt_nfkc"):
    """Writes source.spm, target.spm and vocab.json; some source pieces are missing in vocab.json, and most target pieces are not
    source pieces."""
    texts = [t for t in unigram_tokenizers.training_text(220) if t.strip()]
    source = train(texts[0::2], size, rule)
    target = train([t.translate({ord(c): c.upper() for c in "abcdef"}) for t in texts[1::2]], size // 2, rule)
    pieces = [p.piece for i, p in enumerate(source.pieces) if p.type == 1 and i % 17 != 5]
    others = [p.piece for p in target.pieces if p.type == 1 and p.piece not in pieces] + ["\u4e2d\u6587", "\u00e6", "x\u0301"]
    dropped = {p.piece for p in source.pieces}
    tokens = ["</s>", "<unk>"] + pieces + [t for t in others if t not in dropped] + CODES + ["<pad>"]
    os.makedirs(folder, exist_ok=True)
    for name, model in (("source", source), ("target", target)):
        with open(os.path.join(folder, name + ".spm"), "wb") as file:
            file.write(model.SerializeToString())
    with open(os.path.join(folder, "vocab.json"), "w") as file:
        json.dump({t: i for i, t in enumerate(tokens)}, file, ensure_ascii=False, separators=(",", ":"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump({"tokenizer_class": "MarianTokenizer"}, file)


ADDED = CODES + [">>xx<<", ">>", "<<", "</s>", "<unk>", "<pad>", "\u2581", " \u2581 ", "<s>", "\u4e2d\u6587", "\u00e6\u00e6"]


def string(seed):
    text = bpe_tokenizers.string(seed, ADDED)
    head = bpe_tokenizers.random.Random(seed + " head")
    return head.choice(CODES + [">>yy<< "]) + head.choice(["", " "]) + text if head.random() < 0.2 else text
