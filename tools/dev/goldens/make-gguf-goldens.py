#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes test/goldens/gguf/xlm-roberta: a GGUF file that the package gguf writes as llama.cpp's converter does for XLM-RoBERTa
(architecture bert, positions without the unused first ones, unigram pieces), results from transformers in float64, and token ids from the
tokenizer that the file was made from. Needs gguf, numpy, torch, transformers and safetensors; the tests that read the folder do not.

usage: make-gguf-goldens.py"""
import base64
import json
import pathlib
import shutil

import gguf
import numpy
import torch
import transformers as tf
from safetensors.torch import save_file

GOLDENS = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens"
TOKENIZER = GOLDENS / "tokenizer" / "unigram" / "xlmr.json"
TEXTS = ["The door below", "caf\u00e9 \uff21\u2026", "", "a\u4e2d", "  two  spaces"]
NAMES = {"embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
         "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
         "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
         "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up",
         "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}


def make_model(described):
    vocabulary = len(described["model"]["vocab"])
    tokens = {token: number for number, (token, _) in enumerate(described["model"]["vocab"])}
    config = tf.XLMRobertaConfig(vocab_size=vocabulary, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
                                 max_position_embeddings=36, type_vocab_size=1, layer_norm_eps=1e-5, bos_token_id=tokens["<s>"],
                                 pad_token_id=tokens["<pad>"], eos_token_id=tokens["</s>"])
    torch.manual_seed(7)
    model = tf.XLMRobertaModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.3 + (1 if "LayerNorm.weight" in name else 0))
    return model, tokens


def get_name(name):
    module, end = name.rsplit(".", 1)
    if module.startswith("encoder.layer."):
        _, _, layer, inner = module.split(".", 3)
        return f"blk.{layer}.{NAMES[inner]}.{end}"
    return f"{NAMES[module]}.{end}"


def write_file(path, model, described, tokens):
    config, writer = model.config, gguf.GGUFWriter(path, "bert")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings - 2)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_eps(config.layer_norm_eps)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.CLS)
    pieces = described["model"]["vocab"]
    special = {token["id"] for token in described["added_tokens"] if token["special"]}
    kinds = [gguf.TokenType.UNKNOWN if token == "<unk>" else gguf.TokenType.CONTROL if number in special else gguf.TokenType.NORMAL
             for number, (token, _) in enumerate(pieces)]
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([token for token, _ in pieces])
    writer.add_token_scores([score for _, score in pieces])
    writer.add_token_types(kinds)
    writer.add_add_space_prefix(True)
    writer.add_token_type_count(1)
    writer.add_remove_extra_whitespaces(True)
    writer.add_precompiled_charsmap(base64.b64decode(described["normalizer"]["normalizers"][0]["precompiled_charsmap"]))
    writer.add_bos_token_id(tokens["<s>"])
    writer.add_eos_token_id(tokens["</s>"])
    writer.add_unk_token_id(tokens["<unk>"])
    writer.add_sep_token_id(tokens["</s>"])
    writer.add_pad_token_id(tokens["<pad>"])
    writer.add_mask_token_id(0xFFFFFFFF)  # the tokenizer has none
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    for name, tensor in model.state_dict().items():
        if name.endswith(("position_ids", "token_type_ids")):
            continue
        numbers = tensor.numpy().astype(numpy.float32)
        if name == "embeddings.position_embeddings.weight":
            numbers = numbers[config.pad_token_id + 1:]
        writer.add_tensor(get_name(name), numbers)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    folder = GOLDENS / "gguf" / "xlm-roberta"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    described = json.loads(TOKENIZER.read_text())
    model, tokens = make_model(described)
    write_file(folder / "model.gguf", model, described, tokens)

    # Token ids: transformers 5 drops spaces at both ends of words in this class.
    vocabulary = [(token, score) for token, score in described["model"]["vocab"]]
    tokenizer = tf.XLMRobertaTokenizer(vocab=vocabulary, _spm_precompiled_charsmap=base64.b64decode(
        described["normalizer"]["normalizers"][0]["precompiled_charsmap"]))
    texts = [{"text": text, "ids": tokenizer(text)["input_ids"]} for text in TEXTS]
    (folder / "texts.json").write_text(json.dumps(texts, indent=1) + "\n")

    model.double()
    cases = []
    for number, lengths in enumerate(([1], [9, 3, 34])):
        mask = torch.tensor([[1] * length + [0] * (max(lengths) - length) for length in lengths])
        ids = torch.randint(4, model.config.vocab_size, mask.shape, generator=torch.Generator().manual_seed(number))
        ids = torch.where(mask > 0, ids, model.config.pad_token_id)
        with torch.no_grad():
            states = model(input_ids=ids, attention_mask=mask).last_hidden_state * mask[..., None]
        save_file({"input_ids": ids, "attention_mask": mask}, folder / f"encode.{number}.in.safetensors")
        save_file({"last_hidden_state": states.float().contiguous()}, folder / f"encode.{number}.out.safetensors")
        cases.append({"entry": "encode", "input": f"encode.{number}.in.safetensors", "expect": f"encode.{number}.out.safetensors"})
    (folder / "cases.json").write_text(json.dumps({"model_class": "XLMRobertaModel", "kind": "encoder",
                                                   "oracle": f"transformers {tf.__version__}, float64", "atol": 0.0002, "rtol": 0.0002,
                                                   "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
