# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes BERT folders of any size without holding them: weights follow from their index, large tables are holes. Standard library only."""
import array
import json
import os
import random
import struct


def tensor_shapes(hidden, layers, intermediate, vocab, positions):
    shapes = {
        "embeddings.word_embeddings.weight": (vocab, hidden),
        "embeddings.position_embeddings.weight": (positions, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
        "embeddings.LayerNorm.weight": (hidden,),
        "embeddings.LayerNorm.bias": (hidden,),
    }
    for layer in range(layers):
        products = {f"attention.self.{n}": (hidden, hidden) for n in ("query", "key", "value")}
        products["attention.output.dense"] = (hidden, hidden)
        products["intermediate.dense"] = (intermediate, hidden)
        products["output.dense"] = (hidden, intermediate)
        for name, shape in products.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"encoder.layer.{layer}.{name}.weight"] = (hidden,)
            shapes[f"encoder.layer.{layer}.{name}.bias"] = (hidden,)
    return shapes


def values_of(name, count):
    """The same for a tensor of that name in every model; a longer one begins like a shorter."""
    if name.endswith("LayerNorm.weight"):
        return array.array("f", [1.0]) * count
    source = random.Random(name)
    return array.array("f", (source.uniform(-0.2, 0.2) for _ in range(count)))


def write_bert(folder, hidden=64, layers=2, heads=4, intermediate=128, vocab=1000, positions=128, filled=1 << 20):
    """Tensors of more than `filled` elements get values in their first 64000 elements; the rest is a hole in the file."""
    os.makedirs(folder)
    config = dict(architectures=["BertModel"], model_type="bert", hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=intermediate, vocab_size=vocab, max_position_embeddings=positions, type_vocab_size=2, hidden_act="gelu", layer_norm_eps=1e-12, pad_token_id=0)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    shapes, header, end = tensor_shapes(hidden, layers, intermediate, vocab, positions), {}, 0
    counts = {}
    for name, shape in shapes.items():
        counts[name] = shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + 4 * counts[name]]}
        end += 4 * counts[name]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, count in counts.items():
            file.seek(8 + len(text) + header[name]["data_offsets"][0])
            values_of(name, count if count <= filled else 64000).tofile(file)
        file.truncate(8 + len(text) + end)
