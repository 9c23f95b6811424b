#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes quantized models into test/goldens/gguf: GGUF files with results that transformers computes in float64 from the weights that the
package gguf dequantizes. The package also quantizes; types that it can only read get random bytes with fitting scales. The folder `blocks`
has some blocks for each type, with their values. Needs gguf, numpy, torch, transformers and safetensors; the tests that read the folders do
not.

usage: make-quantized-goldens.py [NAME ...]"""
import importlib.util
import json
import pathlib
import shutil
import sys

import gguf
import numpy
import torch
import transformers as tf
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2] / "test" / "goldens" / "gguf"
sys.path.insert(0, str(HERE.parents[2] / "test" / "e2e"))
import gguf_files  # noqa: E402

SPEC = importlib.util.spec_from_file_location("decoders", HERE / "make-decoder-goldens.py")
decoders = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(decoders)
VOCAB = decoders.VOCAB
TYPES = gguf.GGMLQuantizationType
QUANTIZED = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")
RANDOM = ("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS")
RECIPES = {}


def recipe(function):
    RECIPES[function.__name__.replace("_", "-")] = function
    return function


def half(values):
    return numpy.asarray(values, numpy.float16).reshape(-1, 1).view(numpy.uint8)


def random_blocks(kind, rows, columns, deviation, random):
    """Returns blocks [rows, bytes] with random elements and scales, whose values have about this deviation."""
    elements, size = gguf.GGML_QUANT_SIZES[TYPES[kind]]
    blocks = random.integers(0, 256, (rows * columns // elements, size), dtype=numpy.uint8)
    d = deviation * random.uniform(0.7, 1.3, len(blocks))
    if kind in ("Q4_K", "Q5_K"):  # offsets are about a mean element times the scale
        levels = 15 if kind == "Q4_K" else 31
        blocks[:, 0:2], blocks[:, 2:4] = half(d / (32 * levels * 0.3)), half(d / (32 * 0.6))
    elif kind == "Q2_K":
        blocks[:, 80:82], blocks[:, 82:84] = half(d / 8), half(d / 6)
    elif kind == "Q3_K":
        blocks[:, 108:110] = half(d / (18 * 2.3))
    elif kind == "Q6_K":
        blocks[:, 208:210] = half(d / (18 * 74))
    else:
        blocks[:, 0:2] = half(d / (64 if kind == "IQ4_NL" else 64 * 18))
    return blocks.reshape(rows, -1)


def encode(kind, matrix, random):
    """Returns a matrix's bytes, and its values as read back."""
    if kind in QUANTIZED:
        raw = gguf.quants.quantize(matrix, TYPES[kind])
    else:
        raw = random_blocks(kind, *matrix.shape, float(matrix.std()), random)
    numbers = gguf.quants.dequantize(raw, TYPES[kind])
    return raw.tobytes(), numpy.ascontiguousarray(numbers, numpy.float32)


def unpaired(rows, heads):
    """Returns the rows of a query or key in checkpoint order."""
    size = rows.shape[0] // heads
    return rows.reshape(heads, size // 2, 2, -1).transpose(0, 2, 1, 3).reshape(rows.shape)


@recipe
def blocks(folder):
    random = numpy.random.default_rng(5)
    writer, numbers = gguf_files.Writer(), {}
    for kind in QUANTIZED + RANDOM:
        matrix = random.standard_normal((2, 512 if "_K" in kind or kind == "IQ4_XS" else 64)).astype(numpy.float32)
        raw, numbers[kind] = encode(kind, matrix, random)
        writer.add(kind, matrix.shape, raw, int(TYPES[kind]))
    writer.write(folder / "blocks.gguf")
    save_file(numbers, folder / "numbers.safetensors")


def make(folder, architecture, config, choose):
    """Writes a model with tensor types from `choose`, by name: a type, or None for F32."""
    kind, seed = config.model_type, sum(map(ord, folder.name))
    random = numpy.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    config._attn_implementation = "eager"
    model = getattr(tf, architecture)(config).double().eval()
    with torch.no_grad():
        decoders.randomize(model, False, False, generator)
    model.tie_weights()
    described = {**config.to_dict(), "architectures": [architecture]}
    kind, names = gguf_files.KINDS[described["model_type"]]
    writer = gguf_files.Writer()
    writer.set("general.architecture", kind)
    gguf_files.set_parameters(writer, kind, described)
    seen = set()
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() in seen:
            continue
        seen.add(tensor.data_ptr())
        values = tensor.float().numpy()
        gguf_files.add_tensor(writer, kind, described, names, name, list(values.shape), values.flatten().tolist(), gguf_files.F32)
        stored, shape, values, _ = writer.tensors[-1]
        chosen = choose(stored) if len(shape) == 2 else None
        numbers = numpy.array(values, numpy.float32).reshape(shape)
        if chosen:
            raw, numbers = encode(chosen, numbers, random)
            writer.tensors[-1] = (stored, shape, raw, int(TYPES[chosen]))
        if kind == "llama" and name.endswith(("q_proj.weight", "k_proj.weight")):
            numbers = unpaired(numbers, config.num_attention_heads if "q_proj" in name else config.num_key_value_heads)
        tensor.copy_(torch.from_numpy(numpy.ascontiguousarray(numbers)).double())
    writer.write(folder / "model.gguf")

    ids = torch.Generator().manual_seed(seed)
    cases = decoders.Cases(folder)
    for batch, length in ((1, 1), (2, 13), (1, 40)):
        rows = [torch.randint(3, VOCAB, (length,), generator=ids).tolist() for _ in range(batch)]
        cases.add("logits", {"input_ids": torch.tensor(rows)},
                  {"logits": torch.stack([decoders.logits_of(model, row) for row in rows])})
    (folder / "cases.json").write_text(json.dumps(
        {"model_class": architecture, "kind": "decoder",
         "oracle": f"transformers {tf.__version__}, float64, on weights dequantized by gguf", "atol": 0.0002, "rtol": 0.0002,
         "cases": cases.cases}, indent=1) + "\n")


@recipe
def q8_0(folder):
    make(folder, "LlamaForCausalLM", tf.LlamaConfig(**decoders.sizes(hidden=64, wide=96, tie_word_embeddings=False)), lambda name: "Q8_0")


@recipe
def q8_0_tied(folder):
    """Biases, and a table that is also the head."""
    make(folder, "Qwen2ForCausalLM", tf.Qwen2Config(**decoders.sizes(hidden=64, wide=96, layers=1, tie_word_embeddings=True)), lambda name: "Q8_0")


@recipe
def legacy(folder):
    """Types with 32 elements, mixed as programs do: between layers, and between projections with the same input."""
    kinds = {"token_embd": "Q4_0", "output": "Q8_0", "blk.0.attn_v": "Q5_0", "blk.1.attn_k": "Q5_1", "blk.0.ffn_down": "Q4_1", "blk.1.attn_output": None,
             "blk.1.ffn_down": "IQ4_NL"}
    make(folder, "LlamaForCausalLM", tf.LlamaConfig(**decoders.sizes(hidden=64, wide=96, tie_word_embeddings=False)),
         lambda name: kinds.get(name.removesuffix(".weight"), "Q4_0"))


@recipe
def k_quants(folder):
    """As in Q4_K_M; matrices with 64 columns have no blocks of 256."""
    kinds = {"token_embd": "Q4_K", "output": "Q6_K", "blk.0.attn_q": "Q4_K", "blk.0.attn_k": "Q5_K", "blk.0.attn_v": "Q6_K", "blk.0.attn_output": "Q5_0",
             "blk.0.ffn_gate": "Q4_K", "blk.0.ffn_up": "IQ4_XS", "blk.0.ffn_down": "Q3_K"}
    config = tf.LlamaConfig(**decoders.sizes(hidden=256, wide=256, layers=1, head_dim=16, kv=1, tie_word_embeddings=False))
    make(folder, "LlamaForCausalLM", config, lambda name: kinds[name.removesuffix(".weight")])


def main():
    for name in sys.argv[1:] or RECIPES:
        folder = ROOT / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        RECIPES[name](folder)
        print(f"{name}: {sum(file.stat().st_size for file in folder.iterdir())} bytes")


if __name__ == "__main__":
    main()
