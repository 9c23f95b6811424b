# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes BERT and Llama folders in any size with bounded memory: weights are a function of their index, large tables are holes.
Standard library only."""
import array
import json
import os
import random
import struct


def bert_shapes(hidden, layers, intermediate, vocab, positions):
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
    """Returns the same values for a given tensor name in every model; a longer tensor starts with the shorter one's values."""
    if name.lower().endswith("norm.weight"):
        return array.array("f", [1.0]) * count
    source = random.Random(name)
    return array.array("f", (source.uniform(-0.2, 0.2) for _ in range(count)))


def llama_shapes(hidden, layers, kv, intermediate, vocab):
    shapes = {"model.embed_tokens.weight": (vocab, hidden), "model.norm.weight": (hidden,), "lm_head.weight": (vocab, hidden)}
    products = {"self_attn.q_proj": (hidden, hidden), "self_attn.k_proj": (kv, hidden), "self_attn.v_proj": (kv, hidden),
                "self_attn.o_proj": (hidden, hidden), "mlp.gate_proj": (intermediate, hidden), "mlp.up_proj": (intermediate, hidden),
                "mlp.down_proj": (hidden, intermediate)}
    for layer in range(layers):
        for name, shape in {**products, "input_layernorm": (hidden,), "post_attention_layernorm": (hidden,)}.items():
            shapes[f"model.layers.{layer}.{name}.weight"] = shape
    return shapes


def write_model(folder, config, shapes, filled):
    """Tensors with more than `filled` elements get values in their first 64000 elements; the rest is a hole in the file."""
    os.makedirs(folder)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    header, counts, end = {}, {}, 0
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


def write_bert(folder, hidden=64, layers=2, heads=4, intermediate=128, vocab=1000, positions=128, filled=1 << 20):
    config = dict(architectures=["BertModel"], model_type="bert", hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=intermediate, vocab_size=vocab, max_position_embeddings=positions, type_vocab_size=2, hidden_act="gelu", layer_norm_eps=1e-12, pad_token_id=0)
    write_model(folder, config, bert_shapes(hidden, layers, intermediate, vocab, positions), filled)


def write_llama(folder, hidden=64, layers=2, heads=4, kv_heads=2, intermediate=128, vocab=1000, positions=128, filled=1 << 20):
    config = dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads, intermediate_size=intermediate, vocab_size=vocab, max_position_embeddings=positions, hidden_act="silu", rms_norm_eps=1e-5, tie_word_embeddings=False)
    write_model(folder, config, llama_shapes(hidden, layers, hidden // heads * kv_heads, intermediate, vocab), filled)
