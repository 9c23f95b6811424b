# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Unigram tokenizers with the configurations of common encoders and translators, trained on generated text with the PyPI packages
# `tokenizers` and `sentencepiece`. Used by make-bpe-goldens.py and compare-tokenizers.py.
import collections
import io
import json
import os
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import bpe_tokenizers
import charsmap as charsmaps

BYTES = ["<0x%02X>" % b for b in range(256)]
# Rules in a small character map: longer ones, several characters, none, marks that follow.
RULES = {"\ufb01": "fi", "\u00bd": "1\u20442", "\u2460": "1", "\u00a0": " ", "\u3000": " ", "\n": " ", "\t": " ", "\r": " ", "\u2028": " ", "\u200b": "",
         "\x0b": "", "\u0085": " ", "e\u0301": "\u00e9", "a\u0308": "\u00e4", "\u0300": "", "\u212b": "\u00c5", "\uff21": "A", "\uff22": "B", "\u2026": "...",
         "\ufe0f": "", "\U0001f600": ":)", "\u30ac": "\u30ab\u3099", "\u0130": "i\u0307", "\u2122": "TM", "\u0660": "0", "\u0661": "1", "\u3000\u3000": "_",
         "\u093c": "", "\u0958": "\u0915\u093c", "'": "\u2019", "\u00e9\u0301": "\u00c9", "q\u0323": "Q", "\u0640": "", "\u1161": "\uac00"}


def charsmap(rule=None):
    """Returns a precompiled character map: a named map in sentencepiece, or RULES."""
    if not rule:
        return charsmaps.build(RULES)
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["a b c d e f g"] * 8), model_writer=written, vocab_size=16, hard_vocab_limit=False, minloglevel=2,
                                             normalization_rule_name=rule)
    return sentencepiece_model_pb2.ModelProto.FromString(written.getvalue()).normalizer_spec.precompiled_charsmap


def precompiled(rule=None):
    return normalizers.Precompiled(charsmap(rule))


def training_text(characters):
    """Returns strings with only the most frequent characters: the trainer keeps all that it sees."""
    strings = [bpe_tokenizers.string("train %d" % i) for i in range(3000)]
    kept = {c for c, _ in collections.Counter("".join(strings)).most_common(characters)}
    return ["".join(c for c in text if c in kept) for text in strings]


def train(tokenizer, size, special, characters):
    trainer = trainers.UnigramTrainer(vocab_size=size + len(special), show_progress=False, unk_token="<unk>", special_tokens=special)
    tokenizer.train_from_iterator(training_text(characters), trainer)
    return json.loads(tokenizer.to_str())


def finish(text, processor=None, added=()):
    tokenizer = Tokenizer.from_str(json.dumps(text))
    tokenizer.add_tokens(list(added))
    if processor:
        tokenizer.post_processor = processor
    return tokenizer


def t5(size, rule=None):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = precompiled(rule)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    text = train(tokenizer, size, ["<pad>", "</s>", "<unk>"], 250)
    added = [AddedToken("<extra_id_%d>" % i, lstrip=i == 1, rstrip=i == 2, special=True, normalized=False) for i in range(3)]
    return finish(text, processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)]), added)


def t5_nfkc(size):
    return t5(size, "nmt_nfkc")


def xlmr(size):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([precompiled(), normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "\u2581")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    text = train(tokenizer, size, ["<s>", "<pad>", "</s>", "<unk>"], 300)
    template = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 0), ("</s>", 2)])
    return finish(text, template, [AddedToken("<mask>", lstrip=True, special=True)])


def unigram_bytes(size):
    """Bytes for unknown characters; an additional space character before a text, as in newer models."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    text = train(tokenizer, size, ["<unk>", "<s>", "</s>"] + BYTES, 150)
    text["model"]["byte_fallback"] = True
    text["added_tokens"] = [t for t in text["added_tokens"] if t["content"] not in BYTES]
    text["pre_tokenizer"] = None
    parts = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer = finish(text, processors.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 1)]))
    tokenizer.decoder = decoders.Sequence(parts)
    return tokenizer


def unigram_first(size):
    """Only a text's first word gets a space; some bytes are missing."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    text = train(tokenizer, size, ["<unk>", "<s>"] + BYTES[:0xF0], 200)
    text["model"]["byte_fallback"] = True
    tokenizer = finish(text, None, [AddedToken("<sep>", special=True), AddedToken("plus", single_word=True)])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return tokenizer


def unigram_compatible(size, forms=("NFKC",)):
    """Compatibility normal forms after the rule nmt, as in newer models."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), *(getattr(normalizers, form)() for form in forms)])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    text = train(tokenizer, size, ["<unk>", "</s>"], 250)
    return finish(text, processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)]), [AddedToken("<sep>", special=True), AddedToken("\ufb01", normalized=True)])


def unigram_decomposed(size):
    return unigram_compatible(size, ("NFKD", "Lowercase"))


TOKENIZERS = dict(unigram_compatible=unigram_compatible, unigram_decomposed=unigram_decomposed, t5=t5, t5_nfkc=t5_nfkc, xlmr=xlmr, unigram_bytes=unigram_bytes, unigram_first=unigram_first)
bpe_tokenizers.TOKENIZERS.update(TOKENIZERS)
