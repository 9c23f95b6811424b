#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes configs.json: configs with well-known sizes, and statistics from transformers on torch's meta device.

Needs torch and transformers; run manually, never by a test. Operations are counted per dispatched matmul: `linear` counts
matmuls with weights, `attention` matmuls with two activations (without the angles of rotary positions, whose inner size is 1).
`cache_numbers` is the element count for one position. `prompt` has POSITIONS tokens, returns logits for the last one, and
includes all pairs of positions, masked ones too; `token` is the last of POSITIONS tokens, the others are in the cache.
"""
import json
import os

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode

POSITIONS = 2048
OWN = os.path.dirname(os.path.abspath(__file__))

SHAPES = {
    "gpt3-175b": ("GPT2", dict(n_layer=96, n_embd=12288, n_head=96, n_positions=2048, vocab_size=50257)),
    "gpt2": ("GPT2", {}),
    "llama-7b": ("Llama", dict(max_position_embeddings=2048)),
    "llama-70b": ("Llama", dict(hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64,
                                num_key_value_heads=8, max_position_embeddings=4096)),
    "mistral-7b": ("Mistral", dict(sliding_window=1024)),
    "qwen2-7b": ("Qwen2", dict(hidden_size=3584, intermediate_size=18944, num_hidden_layers=28, num_attention_heads=28,
                               num_key_value_heads=4, vocab_size=152064)),
    "qwen3-8b": ("Qwen3", dict(hidden_size=4096, intermediate_size=12288, num_hidden_layers=36, num_attention_heads=32,
                               num_key_value_heads=8, head_dim=128, vocab_size=151936)),
    "phi3-mini": ("Phi3", dict(max_position_embeddings=4096, pad_token_id=0)),
    "gemma2-9b": ("Gemma2", dict(hidden_size=3584, intermediate_size=14336, num_hidden_layers=42, num_attention_heads=16,
                                 num_key_value_heads=8, head_dim=256, sliding_window=1024)),
    "gpt-neox-20b": ("GPTNeoX", dict(rotary_pct=0.25)),
    "opt-6.7b": ("OPT", dict(hidden_size=4096, ffn_dim=16384, num_hidden_layers=32, num_attention_heads=32,
                             word_embed_proj_dim=4096)),
    "bloom-7b": ("Bloom", dict(hidden_size=4096, n_layer=30, n_head=32)),
}

SEQ2SEQ = {
    "marian-base": ("MarianMTModel", dict(d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
                                          encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_position_embeddings=512, scale_embedding=True)),
    "bart-large": ("BartForConditionalGeneration", {}),
    "mbart-large-50": ("MBartForConditionalGeneration", dict(vocab_size=250054, scale_embedding=True)),
    "pegasus-large": ("PegasusForConditionalGeneration", dict(vocab_size=96103, encoder_layers=16, decoder_layers=16)),
    "nllb-600m": ("M2M100ForConditionalGeneration", dict(vocab_size=256206)),
    "blenderbot-3b": ("BlenderbotForConditionalGeneration", {}),
    "t5-base": ("T5ForConditionalGeneration", dict(d_model=768, d_ff=3072, num_layers=12, num_heads=12)),
    "t5-11b": ("T5ForConditionalGeneration", dict(d_model=1024, d_kv=128, d_ff=65536, num_layers=24, num_heads=128)),
    "flan-t5-xl": ("T5ForConditionalGeneration", dict(d_model=2048, d_ff=5120, num_layers=24, num_heads=32, feed_forward_proj="gated-gelu")),
    "mt5-large": ("MT5ForConditionalGeneration", dict(d_model=1024, d_ff=2816, num_layers=24, num_heads=16)),
}


class Counter(TorchDispatchMode):
    """Adds up the operations in matmuls."""

    def __init__(self):
        super().__init__()
        self.linear = self.attention = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        operands = {"mm": args[:2], "addmm": args[1:3], "bmm": args[:2], "baddbmm": args[1:3]}.get(name)
        if operands:
            left, right = operands
            flops = 2 * left.numel() * right.shape[-1]
            if name in ("mm", "addmm"):
                self.linear += flops
            elif left.shape[-1] > 1:
                self.attention += flops
        return function(*args, **(kwargs or {}))


def count(model, rows, cache=None):
    with Counter() as counter, torch.no_grad():
        out = model(input_ids=torch.zeros(1, rows, dtype=torch.int64, device="meta"), past_key_values=cache, use_cache=True,
                    logits_to_keep=1)
    return {"linear": counter.linear, "attention": counter.attention}, out.past_key_values


def numbers_of(stem, options):
    head = "LMHeadModel" if stem == "GPT2" else "ForCausalLM"
    config = getattr(transformers, stem + "Config")(**options)
    config._attn_implementation = "eager"
    with torch.device("meta"):
        model = getattr(transformers, stem + head)(config).eval()
    written = dict(config.to_diff_dict(), architectures=[stem + head], model_type=config.model_type)
    prompt, _ = count(model, POSITIONS)
    _, cache = count(model, POSITIONS - 1)
    token, _ = count(model, 1, cache)
    _, first = count(model, 1)
    numbers = sum(layer.keys.numel() + layer.values.numel() for layer in first.layers)
    return {"config": {key: written[key] for key in sorted(written)}, "parameters": sum(p.numel() for p in model.parameters()),
            "cache_numbers": numbers, "positions": POSITIONS, "prompt": prompt, "token": token}


def seq2seq_numbers_of(name, options):
    """Returns the statistics for an encoder-decoder; its caches hold one target position."""
    model_class = getattr(transformers, name)
    config = model_class.config_class(**options)
    config._attn_implementation = "eager"
    with torch.device("meta"), torch.no_grad():
        model = model_class(config).eval()
        ids = torch.zeros(1, 1, dtype=torch.int64)
        cache = model(input_ids=ids, decoder_input_ids=ids, use_cache=True).past_key_values
    written = dict(config.to_diff_dict(), architectures=[name], model_type=config.model_type)
    # Sines and cosines are computed if the checkpoint omits them.
    computed = "embed_positions" if config.model_type in ("marian", "pegasus") else "none"
    return {"config": {key: written[key] for key in sorted(written)},
            "parameters": sum(p.numel() for n, p in model.named_parameters() if computed not in n),
            "cache_numbers": sum(layer.keys.numel() + layer.values.numel() for layer in cache.self_attention_cache.layers)}


def main():
    numbers = {"made_with": f"torch {torch.__version__}, transformers {transformers.__version__}", "models": {}}
    for name, (stem, options) in SHAPES.items():
        numbers["models"][name] = numbers_of(stem, options)
        print(name, numbers["models"][name]["parameters"])
    numbers["encoder_decoders"] = {name: seq2seq_numbers_of(*shape) for name, shape in SEQ2SEQ.items()}
    with open(os.path.join(OWN, "configs.json"), "w", encoding="utf-8") as file:
        json.dump(numbers, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
