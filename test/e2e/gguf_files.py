# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converts model folders to GGUF files as llama.cpp's converter does: names, metadata, and the tensors that it changes.
Standard library only."""
import array
import json
import math
import os
import re
import struct

F32, BF16 = 0, 30
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9


class Writer:
    """A file in memory: `set` assigns a value to a key, `add` adds an F32 or BF16 tensor, or bytes with any type."""

    def __init__(self):
        self.metadata, self.tensors = {}, []

    def set(self, key, value):
        if value is not None:
            self.metadata[key] = value

    def add(self, name, shape, values, kind=F32):
        self.tensors.append((name, list(shape), values, kind))

    def write(self, path, alignment=32):
        out = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.metadata))
        for key, value in self.metadata.items():
            out += text(key) + typed(value)
        offset, data = 0, []
        for name, shape, values, kind in self.tensors:
            out += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind, offset)
            raw = values if isinstance(values, bytes) else array.array("f", values).tobytes()
            if kind == BF16:  # the upper halves; values have no lower ones
                raw = spread(raw, 4, (2, 3), 2, (0, 1))
            data.append(raw + bytes(-len(raw) % alignment))
            offset += len(data[-1])
        out += bytes(-len(out) % alignment)
        with open(path, "wb") as file:
            file.write(out + b"".join(data))


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def element(value):
    """Returns the type and the bytes for one value."""
    if isinstance(value, bool):
        return BOOL, struct.pack("<?", value)
    if isinstance(value, int):
        return (UINT32, struct.pack("<I", value)) if value >= 0 else (INT32, struct.pack("<i", value))
    if isinstance(value, float):
        return FLOAT32, struct.pack("<f", value)
    return STRING, text(value)


def typed(value):
    if not isinstance(value, list):
        kind, data = element(value)
        return struct.pack("<I", kind) + data
    kind = element(value[0])[0] if value else STRING
    if kind == UINT32:  # lists of integers are signed
        return struct.pack("<IIQ", ARRAY, INT32, len(value)) + struct.pack(f"<{len(value)}i", *value)
    return struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(element(one)[1] for one in value)


def read_folder(folder):
    """Returns config.json, and {name: (shape, values, type)} for model.safetensors."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            raw, kind = data[8 + length + begin : 8 + length + end], F32 if entry["dtype"] == "F32" else BF16
            if kind == BF16:
                raw = spread(raw, 2, (0, 1), 4, (2, 3))
            tensors[name] = (entry["shape"], array.array("f", raw), kind)
    return config, tensors


def spread(raw, size, taken, new_size, places):
    """Converts elements with `size` bytes to `new_size` bytes: copies the bytes `taken` to `places`, and sets the others to zero."""
    out = bytearray(len(raw) // size * new_size)
    for source, place in zip(taken, places):
        out[place::new_size] = raw[source::size]
    return bytes(out)


def pair_rows(shape, values, heads):
    """Interleaves the first and the second half of the rows in each head, as required by llama.cpp's rope."""
    width = math.prod(shape[1:])
    size = shape[0] // heads
    order = [head * size + half * (size // 2) + pair for head in range(heads) for pair in range(size // 2) for half in (0, 1)]
    paired = array.array("f")
    for row in order:
        paired.extend(values[row * width : (row + 1) * width])
    return paired


def transposed(shape, values):
    rows, columns = shape
    turned = array.array("f")
    for column in range(columns):
        turned.extend(values[column::columns])
    return [columns, rows], turned


# Hugging Face module names and their GGUF names; {} is the layer.
DECODER = {
    "embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output",
    "layers.{}.input_layernorm": "blk.{}.attn_norm", "layers.{}.self_attn.q_proj": "blk.{}.attn_q",
    "layers.{}.self_attn.k_proj": "blk.{}.attn_k", "layers.{}.self_attn.v_proj": "blk.{}.attn_v",
    "layers.{}.self_attn.o_proj": "blk.{}.attn_output", "layers.{}.self_attn.q_norm": "blk.{}.attn_q_norm",
    "layers.{}.self_attn.k_norm": "blk.{}.attn_k_norm", "layers.{}.self_attn.qkv_proj": "blk.{}.attn_qkv",
    "layers.{}.post_attention_layernorm": "blk.{}.ffn_norm", "layers.{}.mlp.gate_proj": "blk.{}.ffn_gate",
    "layers.{}.mlp.up_proj": "blk.{}.ffn_up", "layers.{}.mlp.gate_up_proj": "blk.{}.ffn_up",
    "layers.{}.mlp.down_proj": "blk.{}.ffn_down", "layers.{}.mlp.c_fc": "blk.{}.ffn_up", "layers.{}.mlp.c_proj": "blk.{}.ffn_down"}
GEMMA = {**DECODER, "layers.{}.post_attention_layernorm": "blk.{}.post_attention_norm",
         "layers.{}.pre_feedforward_layernorm": "blk.{}.ffn_norm", "layers.{}.post_feedforward_layernorm": "blk.{}.post_ffw_norm"}
GPT2 = {
    "wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "lm_head": "output", "h.{}.ln_1": "blk.{}.attn_norm",
    "h.{}.attn.c_attn": "blk.{}.attn_qkv", "h.{}.attn.c_proj": "blk.{}.attn_output", "h.{}.ln_2": "blk.{}.ffn_norm",
    "h.{}.mlp.c_fc": "blk.{}.ffn_up", "h.{}.mlp.c_proj": "blk.{}.ffn_down"}
BERT = {
    "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
    "encoder.layer.{}.attention.self.query": "blk.{}.attn_q", "encoder.layer.{}.attention.self.key": "blk.{}.attn_k",
    "encoder.layer.{}.attention.self.value": "blk.{}.attn_v", "encoder.layer.{}.attention.output.dense": "blk.{}.attn_output",
    "encoder.layer.{}.attention.output.LayerNorm": "blk.{}.attn_output_norm",
    "encoder.layer.{}.intermediate.dense": "blk.{}.ffn_up", "encoder.layer.{}.output.dense": "blk.{}.ffn_down",
    "encoder.layer.{}.output.LayerNorm": "blk.{}.layer_output_norm"}
NOMIC = {
    "embeddings.word_embeddings": "token_embd", "embeddings.token_type_embeddings": "token_types", "emb_ln": "token_embd_norm",
    "encoder.layers.{}.attn.Wqkv": "blk.{}.attn_qkv", "encoder.layers.{}.attn.out_proj": "blk.{}.attn_output",
    "encoder.layers.{}.norm1": "blk.{}.attn_output_norm", "encoder.layers.{}.mlp.fc11": "blk.{}.ffn_up",
    "encoder.layers.{}.mlp.fc12": "blk.{}.ffn_gate", "encoder.layers.{}.mlp.fc2": "blk.{}.ffn_down",
    "encoder.layers.{}.norm2": "blk.{}.layer_output_norm"}
# Architecture and module names by model_type.
KINDS = {"llama": ("llama", DECODER), "mistral": ("llama", DECODER), "qwen2": ("qwen2", DECODER), "qwen3": ("qwen3", DECODER),
         "phi3": ("phi3", DECODER), "gemma": ("gemma", DECODER), "gemma2": ("gemma2", GEMMA), "gemma3_text": ("gemma3", GEMMA),
         "olmo2": ("olmo2", GEMMA), "starcoder2": ("starcoder2", DECODER), "gpt2": ("gpt2", GPT2), "bert": ("bert", BERT),
         "nomic_bert": ("nomic-bert", NOMIC)}
PREFIXES = ("model.", "transformer.", "bert.")


def convert(folder, path):
    """Writes the model in a folder to a GGUF file."""
    convert_to(Writer(), folder, path).write(path)


def convert_to(writer, folder, path):
    config, tensors = read_folder(folder)
    kind, names = KINDS[config["model_type"]]
    writer.set("general.architecture", kind)
    writer.set("general.name", os.path.basename(path))
    set_parameters(writer, kind, config)
    for name, tensor in tensors.items():
        add_tensor(writer, kind, config, names, name, *tensor)
    set_tokenizer(writer, folder)
    return writer


def set_parameters(writer, kind, config):
    def first(*keys):
        return next((config[key] for key in keys if config.get(key) is not None), None)

    def set_key(key, value):
        writer.set(f"{kind}.{key}", value)

    hidden, heads = first("hidden_size", "n_embd"), first("num_attention_heads", "n_head")
    set_key("block_count", first("num_hidden_layers", "n_layer"))
    set_key("context_length", first("max_position_embeddings", "n_positions"))
    set_key("embedding_length", hidden)
    set_key("feed_forward_length", first("intermediate_size", "n_inner") or 4 * hidden)
    set_key("attention.head_count", heads)
    if kind not in ("gpt2", "bert", "nomic-bert"):
        set_key("attention.head_count_kv", first("num_key_value_heads") or heads)
    if epsilon := first("rms_norm_eps"):
        set_key("attention.layer_norm_rms_epsilon", float(epsilon))
    if epsilon := first("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"):
        set_key("attention.layer_norm_epsilon", float(epsilon))
    if kind != "phi3":
        set_key("attention.key_length", first("head_dim"))
        set_key("attention.value_length", first("head_dim"))
    for key in ("attn_logit_softcapping", "final_logit_softcapping"):
        if value := first(key):
            set_key(key, float(value))
    if kind in ("phi3", "gemma2", "gemma3", "starcoder2") or config["model_type"] == "mistral":
        set_key("attention.sliding_window", first("sliding_window") or 0)
    if kind in ("bert", "nomic-bert"):
        set_key("attention.causal", False)
    if kind == "nomic-bert":
        set_key("rope.freq_base", float(config["rotary_emb_base"]))
    elif kind not in ("gpt2", "bert"):
        set_rope(writer, kind, config, first("head_dim") or hidden // heads)


def set_rope(writer, kind, config, size):
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    local, rope = rope.get("sliding_attention", {}), rope.get("full_attention", rope)
    base = float(rope.get("rope_theta", config.get("rope_theta", 10000.0)))
    writer.set(f"{kind}.rope.freq_base", base)
    if local.get("rope_theta"):
        writer.set(f"{kind}.rope.freq_base_swa", float(local["rope_theta"]))
    share = rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0))
    if kind in ("llama", "phi3"):
        writer.set(f"{kind}.rope.dimension_count", int(share * size))
    scaling = rope.get("rope_type", rope.get("type", "default"))
    if scaling in ("linear", "yarn"):
        writer.set(f"{kind}.rope.scaling.type", scaling)
        writer.set(f"{kind}.rope.scaling.factor", float(rope["factor"]))
    if scaling == "yarn":
        writer.set(f"{kind}.rope.scaling.original_context_length", rope["original_max_position_embeddings"])
        for key in ("beta_fast", "beta_slow"):
            if key in rope:
                writer.set(f"{kind}.rope.scaling.yarn_{key}", float(rope[key]))
    if scaling == "llama3":
        writer.add("rope_freqs.weight", [size // 2], llama3_factors(rope, base, size))


def llama3_factors(rope, base, size):
    """Returns the divisors for the frequencies."""
    factor, low, high = rope["factor"], rope["low_freq_factor"], rope["high_freq_factor"]
    original, factors = rope["original_max_position_embeddings"], []
    for pair in range(size // 2):
        wave = 2 * math.pi * base ** (2 * pair / size)
        smooth = min(max((original / wave - low) / (high - low), 0), 1)
        factors.append(1 / ((1 - smooth) / factor + smooth))
    return factors


def add_tensor(writer, kind, config, names, name, shape, values, stored_type):
    module, end = name.rsplit(".", 1)
    if end == "position_ids":
        return
    for prefix in PREFIXES:
        module = module.removeprefix(prefix)
    layer = re.search(r"\.(\d+)\.", "." + module + ".")
    number = layer.group(1) if layer else ""
    stored = names.get(re.sub(r"(^|\.)\d+\.", r"\1{}.", module))
    if stored is None or (module == "lm_head" and config.get("tie_word_embeddings", False)):
        if module.startswith(("pooler", "lm_head", "cls")):
            return
        raise ValueError(f"tensor '{name}' has no name in '{kind}'")
    if kind == "llama" and module.endswith(("q_proj", "k_proj")):
        heads = config["num_attention_heads"] if module.endswith("q_proj") else config["num_key_value_heads"]
        values = pair_rows(shape, values, heads)
    if kind.startswith("gemma") and "norm" in module:
        values = [1 + value for value in values]
    if kind == "gpt2" and len(shape) == 2 and module.startswith("h."):
        shape, values = transposed(shape, values)
    # Vectors are never rounded.
    writer.add(f"{stored.format(number)}.{end}", shape, values, stored_type if len(shape) > 1 else F32)


def set_tokenizer(writer, folder):
    """Writes the vocabulary in tokenizer.json: GPT-2 vocabularies with the pre-tokenizer `gpt-2`, or BERT vocabularies."""
    path = os.path.join(folder, "tokenizer.json")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        described = json.load(file)
    model, added = described["model"], {token["id"]: token for token in described["added_tokens"]}
    vocabulary = {**{number: token for token, number in model["vocab"].items()},
                  **{number: token["content"] for number, token in added.items()}}
    tokens = [vocabulary[number] for number in range(len(vocabulary))]
    types = [(3 if added[number]["special"] else 4) if number in added else 1 for number in range(len(tokens))]
    if model["type"] == "WordPiece":  # word starts are marked instead of continuations
        tokens = [token if kind != 1 else token[2:] if token.startswith("##") else "\u2581" + token for token, kind in zip(tokens, types)]
        roles = {"bos": "[CLS]", "seperator": "[SEP]", "unknown": "[UNK]", "padding": "[PAD]"}
    else:
        roles = {"bos": "<s>", "eos": "</s>"}
        writer.set("tokenizer.ggml.pre", "gpt-2")
        writer.set("tokenizer.ggml.merges", [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]])
        writer.set("tokenizer.ggml.add_bos_token", True)
    writer.set("tokenizer.ggml.model", "bert" if model["type"] == "WordPiece" else "gpt2")
    writer.set("tokenizer.ggml.tokens", tokens)
    writer.set("tokenizer.ggml.token_type", types)
    for role, token in roles.items():
        if token in vocabulary.values():
            writer.set(f"tokenizer.ggml.{role}_token_id", next(number for number, other in vocabulary.items() if other == token))
