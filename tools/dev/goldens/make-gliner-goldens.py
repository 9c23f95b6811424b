#!/usr/bin/env python3
"""Writes test/goldens/gliner: tiny GLiNER models with random weights, texts, entity types, and the entities that the package gliner
finds. Needs gliner, torch, transformers and tokenizers; the tests that read the folders do not. With folder names it writes these only."""
import json
import pathlib
import random
import re
import shutil
import sys
import unicodedata

import tokenizers
import torch
import transformers as tf
from gliner import GLiNER
from gliner.config import GLiNERConfig
from gliner.data_processing.tokenizer import WhitespaceTokenSplitter
from gliner.model import UniEncoderSpanGLiNER, UniEncoderTokenGLiNER

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens" / "gliner"

TEXTS = [
    "Ada Lovelace lives in New York, near Central Park.",
    "She was unbelievably happy in Zürich (Switzerland)!",
    "The rivers of South America: Amazon, Orinoco and Paraná.",
    "nothing here",
    "   ",
    "São Paulo ☃ beats Rio—3½ times, e.g. well-known_places in 東京 and नमस्ते",
    "x",
    " ".join(["Ada met Paul in Rio de Janeiro ,"] * 7),
]
TYPES = {
    "few": ["person", "place"],
    "words": ["name of a river", "São Paulo", "person", "person", "-"],
    "one": ["x"],
    "many": [f"type {i}" for i in range(40)] + ["city", "river", "country", "person"],
}
SPECIAL = ["[FLERT]", "<<ENT>>", "<<SEP>>"]
WORDS = ("ada love lace lives in new york near central park she was un believ ably happy zurich switzerland the river s of south america "
         "amazon orinoco and parana nothing here sao paulo beats rio times well known _ x person place name type city country met de , . ( ) ! : - e "
         "g").split()


def word_piece():
    pieces = WORDS + [str(i) for i in range(10)] + ["##" + w for w in ("lace", "believ", "ably", "s", "land", "ber", "e", "a", "o")]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + pieces
    return tf.BertTokenizer(vocab={w: i for i, w in enumerate(dict.fromkeys(vocabulary))}, model_max_length=512)


def unigram():
    letters = sorted({c for text in TEXTS for c in text if not c.isspace()} | set("abcdefghijklmnopqrstuvwxyz0123456789"))
    pieces = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "▁"] + ["▁" + w for w in WORDS if len(w) > 2] + [c for c in letters if c not in "京"]
    return tf.DebertaV2Tokenizer(vocab=[(p, 0.0 if p[0] == "[" else -1.0 - 0.1 * i) for i, p in enumerate(dict.fromkeys(pieces))],
                                 do_lower_case=False, model_max_length=200)


def byte_level():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=330, special_tokens=["[PAD]", "[CLS]", "[SEP]", "[UNK]"],
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:0 [SEP]:0", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
                                      model_max_length=60)


def bert():
    return tf.BertConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=512)


def deberta():
    return tf.DebertaV2Config(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=64,
                              relative_attention=True, position_buckets=8, max_relative_positions=-1, pos_att_type=["p2c", "c2p"],
                              norm_rel_ebd="layer_norm", share_att_key=True, position_biased_input=False, type_vocab_size=0, layer_norm_eps=1e-7)


def modern_bert():
    return tf.ModernBertConfig(hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=24, max_position_embeddings=128,
                               local_attention=8, global_attn_every_n_layers=2, pad_token_id=0, bos_token_id=None, eos_token_id=None,
                               cls_token_id=1, sep_token_id=2)


def randomize(model, seed, scale):
    """Sets weights for which span probabilities spread."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if not tensor.is_floating_point():
                continue
            noise = torch.randn(tensor.shape, generator=generator)
            if "norm" in name.lower():
                tensor.copy_((1 if name.endswith("weight") else 0) + 0.15 * noise)
            elif tensor.dim() == 2:
                tensor.copy_(noise * (0.7 if "embeddings" in name else scale * tensor.shape[1] ** -0.5))
            else:
                tensor.copy_(0.1 * noise)
    return model.eval()


# Folder: tokenizer, encoder config, seed and scale for weights, GLiNER config, thresholds.
RECIPES = {
    "bert-span": (word_piece, bert, 3, 1.3, {"hidden_size": 16, "max_width": 4, "max_len": 40}, [0.5, 0.8]),
    "bert-marker": (word_piece, bert, 7, 1.0, {"hidden_size": 8, "span_mode": "marker", "max_width": 3, "subtoken_pooling": "mean"}, [0.5, 0.6]),
    "deberta-span": (unigram, deberta, 4, 1.0, {"hidden_size": 12, "max_width": 12, "max_len": 384, "subtoken_pooling": "last"}, [0.5, 0.97]),
    "deberta-token": (unigram, deberta, 5, 1.6, {"hidden_size": 16, "span_mode": "token_level", "max_len": 30}, [0.5, 0.1]),
    "modernbert-token": (byte_level, modern_bert, 6, 1.6, {"hidden_size": 20, "span_mode": "token_level", "embed_ent_token": False,
                          "subtoken_pooling": "max"}, [0.5, 0.2]),
}


def plain(entities, names):
    """Returns start and end in characters, type number, score."""
    return [[[e["start"], e["end"], names.index(e["label"]), round(e["score"], 7)] for e in text] for text in entities]


def make(name):
    make_tokenizer, make_encoder, seed, scale, keys, thresholds = RECIPES[name]
    tokenizer, encoder = make_tokenizer(), make_encoder()
    tokenizer.add_tokens(SPECIAL, special_tokens=True)
    encoder.vocab_size = len(tokenizer)
    config = GLiNERConfig(**{"model_name": "tiny", "num_rnn_layers": 0, "vocab_size": len(tokenizer), "encoder_config": encoder.to_dict(),
                             "class_token_index": tokenizer.convert_tokens_to_ids("<<ENT>>"), **keys})
    kind = UniEncoderTokenGLiNER if config.span_mode == "token_level" else UniEncoderSpanGLiNER
    model = kind(config, tokenizer=tokenizer)
    randomize(model.model, seed, scale)
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, safe_serialization=True)

    # The results that a user gets who loads the folder, except for rounding.
    model = GLiNER.from_pretrained(str(folder), local_files_only=True).double()
    cases = []
    for types, names in TYPES.items():
        for threshold in thresholds:
            for flat, several in ((True, False), (False, False), (True, True), (False, True)):
                if types != "few" and (threshold != thresholds[0] or (types != "words" and (several or not flat))):
                    continue
                found = [model.inference([text], names, flat_ner=flat, threshold=threshold, multi_label=several)[0] for text in TEXTS]
                cases.append({"types": names, "threshold": threshold, "nested": not flat, "multi_label": several, "entities": plain(found, names)})
    with open(folder / "expected.json", "w") as file:
        json.dump({"texts": TEXTS, "cases": cases}, file, ensure_ascii=False, separators=(",", ":"))
    counts = [sum(map(len, case["entities"])) for case in cases]
    print(name, counts, sum(f.stat().st_size for f in folder.iterdir()) // 1000, "kB")


def make_words():
    """Returns texts with characters of all kinds, and the package's word boundaries, in bytes."""
    numbers = random.Random(7)
    known = [chr(c) for c in range(0x30000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    texts = TEXTS + ["a-b c--d -e f- _g_ h_-i-_ 3.5 x-\u0301y", "\x1ca\x1fb\u200bc\u00a0d"]
    texts += ["".join(numbers.choice(known + list("ab-_ ") * 4000) for _ in range(400)) for _ in range(8)]
    words = [[[len(text[:i].encode()) for i in (begin, end)] for _, begin, end in WhitespaceTokenSplitter()(text)] for text in texts]
    # Word characters, as first and last in ranges.
    ranges = []
    for code in range(0x110000):
        if re.match(r"\w", chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    unassigned = [c for c in range(0x110000) if unicodedata.category(chr(c)) == "Cn"]
    gaps = []
    for code in unassigned:
        if gaps and gaps[-1][1] == code - 1:
            gaps[-1][1] = code
        else:
            gaps.append([code, code])
    with open(ROOT / "words.json", "w") as file:
        json.dump({"texts": texts, "words": words, "characters": ranges, "unassigned": gaps}, file, ensure_ascii=False, separators=(",", ":"))


for each in sys.argv[1:] or ["words", *RECIPES]:
    make_words() if each == "words" else make(each)
