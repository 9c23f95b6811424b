#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes quantized checkpoints into test/goldens/packed: folders in the GPTQ, AWQ and compressed-tensors formats, with results that
transformers computes in float64 from the packed values (code - zero point) * scale. The package compressed-tensors packs its own format;
GPTQ and AWQ tensors are packed as their papers' programs describe it. Needs compressed-tensors, torch, transformers and safetensors; the
tests that read the folders do not.

usage: make-packed-goldens.py [NAME ...]"""
import importlib.util
import json
import pathlib
import shutil
import sys

import torch
import transformers as tf
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2] / "test" / "goldens" / "packed"
SPEC = importlib.util.spec_from_file_location("decoders", HERE / "make-decoder-goldens.py")
decoders = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(decoders)
VOCAB = decoders.VOCAB
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
RECIPES = {}


def recipe(function):
    RECIPES[function.__name__.replace("_", "-")] = function
    return function


def quantize(weight, bits, group, symmetric, dtype):
    """Returns codes [n, k] from 0 on, zero points and scales [n, groups], rounded to nearest."""
    rows, depth = weight.shape
    group = group if group > 0 else depth
    parts = weight.reshape(rows, -1, group)
    top = 2 ** bits - 1
    if symmetric:
        scale = parts.abs().amax(-1) / (2 ** (bits - 1) - 1)
        zero = torch.full_like(scale, 2 ** (bits - 1))
    else:
        low, high = parts.amin(-1).clamp(max=0), parts.amax(-1).clamp(min=0)
        scale = (high - low) / top
        zero = torch.round(-low / scale).clamp(0, top)
    scale = scale.to(dtype)
    codes = torch.clamp(torch.round(parts / scale.double()[..., None]) + zero[..., None], 0, top)
    numbers = (codes - zero[..., None]) * scale.double()[..., None]
    return codes.reshape(rows, depth).long(), zero.long(), scale, numbers.reshape(rows, depth)


def pack(values, bits):
    """Packs rows into words, the first value in the lowest bits."""
    per = 32 // bits
    words = torch.zeros(values.shape[0], values.shape[1] // per, dtype=torch.int64)
    for place in range(per):
        words |= values[:, place::per] << (bits * place)
    return words.to(torch.uint32).view(torch.int32) if words.numel() else words.int()


def gptq(codes, zero, scale, bits, less):
    mask = 2 ** bits - 1
    return {"qweight": pack(codes, bits).T.contiguous(), "qzeros": pack(((zero - less) & mask).T.contiguous(), bits),
            "scales": scale.T.contiguous(), "g_idx": (torch.arange(codes.shape[1]) // (codes.shape[1] // zero.shape[1])).int()}


def awq(codes, zero, scale):
    def reorder(values):
        return values.reshape(values.shape[0], -1, 8)[:, :, AWQ_ORDER].reshape(values.shape)
    return {"qweight": pack(reorder(codes.T.contiguous()), 4), "qzeros": pack(reorder(zero.T.contiguous()), 4), "scales": scale.T.contiguous()}


def compressed(codes, zero, scale, bits, packed, symmetric):
    middle = 2 ** (bits - 1)
    signed, points = (codes - middle).to(torch.int8), (zero - middle).to(torch.int8)
    if not packed:
        return {"weight": signed, "weight_scale": scale, **({} if symmetric else {"weight_zero_point": points})}
    tensors = {"weight_packed": pack_to_int32(signed, bits), "weight_scale": scale, "weight_shape": torch.tensor(codes.shape)}
    if not symmetric:
        tensors["weight_zero_point"] = pack_to_int32(points, bits, packed_dim=0).contiguous()
    return tensors


def scheme(bits, group, symmetric):
    strategy = "group" if group > 0 else "channel"
    return {"config_groups": {"group_0": {"targets": ["Linear"], "input_activations": None, "output_activations": None, "weights": {
        "num_bits": bits, "type": "int", "symmetric": symmetric, "strategy": strategy, "group_size": group if group > 0 else None,
        "dynamic": False, "actorder": None, "observer": "minmax"}}}, "ignore": ["lm_head"], "quant_method": "compressed-tensors",
        "quantization_status": "compressed", "kv_cache_scheme": None, "global_compression_ratio": None}


def make(folder, quantization, bits, group, symmetric, store, dtype=torch.float16, architecture="LlamaForCausalLM", config=None):
    """`store` returns a matrix's tensors for its codes, zero points and scales."""
    seed = sum(map(ord, folder.name))
    generator = torch.Generator().manual_seed(seed)
    config = config or tf.LlamaConfig(**decoders.sizes(hidden=64, wide=128, layers=1, tie_word_embeddings=False))
    config._attn_implementation = "eager"
    model = getattr(tf, architecture)(config).double().eval()
    with torch.no_grad():
        decoders.randomize(model, False, False, generator)
    tensors = {}
    for name, tensor in model.state_dict().items():
        module, end = name.rsplit(".", 1)
        if end != "weight" or ".layers." not in name or "norm" in name:
            tensors[name] = tensor.to(dtype)
            tensor.copy_(tensors[name].double())
            continue
        codes, zero, scale, numbers = quantize(tensor, bits, group, symmetric, dtype)
        tensors.update({f"{module}.{part}": value.contiguous() for part, value in store(codes, zero, scale).items()})
        tensor.copy_(numbers)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    described = {k: v for k, v in config.to_dict().items() if not k.startswith("_")}
    described.update({"architectures": [architecture], "dtype": str(dtype).split(".")[1], "quantization_config": quantization})
    (folder / "config.json").write_text(json.dumps(described, indent=1, sort_keys=True) + "\n")
    (folder / "generation_config.json").write_text('{\n "use_cache": true\n}\n')
    cases = decoders.Cases(folder)
    for batch, length in ((1, 1), (2, 13), (1, 40)):
        rows = [torch.randint(3, VOCAB, (length,), generator=generator).tolist() for _ in range(batch)]
        cases.add("logits", {"input_ids": torch.tensor(rows)}, {"logits": torch.stack([decoders.logits_of(model, row) for row in rows])})
    (folder / "cases.json").write_text(json.dumps(
        {"model_class": architecture, "kind": "decoder", "oracle": f"transformers {tf.__version__}, float64, on the numbers that were packed",
         "atol": 0.0002, "rtol": 0.0002, "cases": cases.cases}, indent=1) + "\n")


@recipe
def gptq_v1(folder):
    make(folder, {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, "sym": False, "damp_percent": 0.01,
                  "checkpoint_format": "gptq", "true_sequential": True}, 4, 32, False, lambda c, z, s: gptq(c, z, s, 4, 1))


@recipe
def gptq_v2_bytes(folder):
    """Eight bits with zero points in the middle, one scale per row."""
    make(folder, {"quant_method": "gptq", "bits": 8, "group_size": -1, "desc_act": True, "sym": True, "checkpoint_format": "gptq_v2"},
         8, -1, True, lambda c, z, s: gptq(c, z, s, 8, 0))


@recipe
def gptq_bytes_asymmetric(folder):
    """Codes that no format stores."""
    make(folder, {"quant_method": "gptq", "bits": 8, "group_size": 64, "desc_act": False, "sym": False}, 8, 64, False,
         lambda c, z, s: gptq(c, z, s, 8, 1))


@recipe
def awq_gemm(folder):
    make(folder, {"quant_method": "awq", "bits": 4, "group_size": 64, "version": "gemm", "zero_point": True, "modules_to_not_convert": None},
         4, 64, False, awq)


@recipe
def packed_symmetric(folder):
    """Rows with 88 elements leave unused elements in the last group of 32."""
    config = tf.Qwen2Config(**decoders.sizes(hidden=64, wide=88, layers=1, tie_word_embeddings=True))
    make(folder, {**scheme(4, -1, True), "format": "pack-quantized"}, 4, -1, True,
         lambda c, z, s: compressed(c, z, s, 4, True, True), torch.bfloat16, "Qwen2ForCausalLM", config)


@recipe
def packed_asymmetric(folder):
    make(folder, {**scheme(4, 32, False), "format": "pack-quantized"}, 4, 32, False, lambda c, z, s: compressed(c, z, s, 4, True, False),
         torch.bfloat16)


@recipe
def plain_bytes(folder):
    make(folder, {**scheme(8, -1, True), "format": "int-quantized"}, 8, -1, True, lambda c, z, s: compressed(c, z, s, 8, False, True),
         torch.bfloat16)


def main():
    for name in sys.argv[1:] or RECIPES:
        folder = ROOT / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        RECIPES[name](folder)
        print(f"{name}: {sum(file.stat().st_size for file in folder.iterdir())} bytes")


if __name__ == "__main__":
    main()
