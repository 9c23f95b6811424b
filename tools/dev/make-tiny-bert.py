#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes the model folder examples/tiny-bert: a two-layer BERT with random weights from a fixed seed, and a small WordPiece tokenizer. It
# has everything that a real folder has, in 100 kB; its results are meaningless.
import json
import math
import os
import random
import struct
import sys

HIDDEN, LAYERS, HEADS, INTERMEDIATE, POSITIONS = 32, 2, 2, 64, 64
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
WORDS = """a an the and or of to in on at is are was it he she they we you with for by from this that not one two
man woman child dog cat bird house street city river sea rain sun snow day night music song guitar plays playing
sings reads writes runs walks sleeps eats market stock price shares fell rose today morning new old big small
compiler model layer tensor""".split()
PIECES = ["##s", "##ed", "##ing", "##er", "##ly", "##tion", "##est"]


def make_vocabulary():
    pieces = SPECIAL + list(CHARACTERS) + ["##" + c for c in CHARACTERS] + list(PUNCTUATION)
    pieces += [word for word in WORDS if word not in pieces]
    pieces += [piece for piece in PIECES if piece not in pieces]
    return {piece: index for index, piece in enumerate(pieces)}


def make_config(vocabulary):
    return {
        "architectures": ["BertModel"],
        "attention_probs_dropout_prob": 0.0,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "hidden_size": HIDDEN,
        "initializer_range": 0.02,
        "intermediate_size": INTERMEDIATE,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": POSITIONS,
        "model_type": "bert",
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "pad_token_id": vocabulary["[PAD]"],
        "type_vocab_size": 2,
        "vocab_size": len(vocabulary),
    }


def make_tokenizer(vocabulary):
    def added(token):
        return {
            "id": vocabulary[token], "content": token, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True,
        }

    def special(token):
        return {"id": token, "ids": [vocabulary[token]], "tokens": [token]}

    def piece(kind, name, type_id):
        return {kind: {"id": name, "type_id": type_id}}

    single = [piece("SpecialToken", "[CLS]", 0), piece("Sequence", "A", 0), piece("SpecialToken", "[SEP]", 0)]
    pair = single + [piece("Sequence", "B", 1), piece("SpecialToken", "[SEP]", 1)]
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": POSITIONS, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": [added(token) for token in SPECIAL],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing", "single": single, "pair": pair,
            "special_tokens": {token: special(token) for token in ("[CLS]", "[SEP]")},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary,
        },
    }


def tensor_shapes(rows):
    """Returns the name and shape of each tensor, with Hugging Face names."""
    yield "embeddings.word_embeddings.weight", [rows, HIDDEN]
    yield "embeddings.position_embeddings.weight", [POSITIONS, HIDDEN]
    yield "embeddings.token_type_embeddings.weight", [2, HIDDEN]
    yield "embeddings.LayerNorm.weight", [HIDDEN]
    yield "embeddings.LayerNorm.bias", [HIDDEN]
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        linears = [("attention.self." + name, HIDDEN, HIDDEN) for name in ("query", "key", "value")]
        linears.append(("attention.output.dense", HIDDEN, HIDDEN))
        linears.append(("intermediate.dense", INTERMEDIATE, HIDDEN))
        linears.append(("output.dense", HIDDEN, INTERMEDIATE))
        for name, outputs, inputs in linears:
            yield prefix + name + ".weight", [outputs, inputs]
            yield prefix + name + ".bias", [outputs]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            yield prefix + name + ".weight", [HIDDEN]
            yield prefix + name + ".bias", [HIDDEN]
    yield "pooler.dense.weight", [HIDDEN, HIDDEN]
    yield "pooler.dense.bias", [HIDDEN]


def make_values(source, name, shape):
    """Returns weights with variance 1 / inputs, norms around one, small biases."""
    count = math.prod(shape)
    if name.endswith("LayerNorm.weight"):
        return [1 + source.gauss(0, 0.1) for _ in range(count)]
    deviation = 0.05 if name.endswith("bias") else 0.5 if "embeddings" in name else shape[-1] ** -0.5
    return [source.gauss(0, deviation) for _ in range(count)]


def write_safetensors(path, shapes):
    source = random.Random(20240607)
    header, data = {}, bytearray()
    for name, shape in shapes:
        values = make_values(source, name, shape)
        begin = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text + data)


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "examples", "tiny-bert")
    os.makedirs(folder, exist_ok=True)
    vocabulary = make_vocabulary()
    for name, content in (("config.json", make_config(vocabulary)), ("tokenizer.json", make_tokenizer(vocabulary))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            json.dump(content, stream, indent=2)
            stream.write("\n")
    write_safetensors(os.path.join(folder, "model.safetensors"), tensor_shapes(len(vocabulary)))


main()
