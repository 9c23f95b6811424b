#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes LoRA adapters of golden folders into test/goldens/lora, as PEFT saves them, with the results of PEFT's merged models in
float64 for the inputs of the folder: NAME.out.safetensors for NAME.in.safetensors there. Needs peft, torch, transformers and
safetensors; the tests that read the folders do not.

usage: make-lora-goldens.py [NAME ...]"""
import json
import pathlib
import shutil
import sys

import peft
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens"
RECIPES = {}


def recipe(function):
    RECIPES[function.__name__.replace("_", "-")] = function
    return function


def make(folder, base, architecture, entry, result, **settings):
    base_folder = ROOT / base
    kind = getattr(tf, architecture)

    def load():
        return kind.from_pretrained(base_folder, dtype=torch.float64, attn_implementation="eager").eval()

    generator = torch.Generator().manual_seed(sum(map(ord, folder.name)))
    model = peft.get_peft_model(load(), peft.LoraConfig(**settings))
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            if parameter.requires_grad:
                noise = torch.randn(parameter.shape, generator=generator).double()
                scale = 0.2 if "lora_" in name else 0.1
                parameter.copy_((noise * scale + (0 if "lora_" in name else parameter)).float().double())
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    # What counts is the adapter as written, in single precision.
    path = folder / "adapter_model.safetensors"
    save_file({name: tensor.float().contiguous() for name, tensor in load_file(path).items()}, path)
    described = json.loads((folder / "adapter_config.json").read_text())
    described["base_model_name_or_path"] = base
    (folder / "adapter_config.json").write_text(json.dumps(described, indent=1, sort_keys=True) + "\n")
    merged = peft.PeftModel.from_pretrained(load(), folder).merge_and_unload().double().eval()
    cases = []
    for file in sorted(base_folder.glob(f"{entry}.?.in.safetensors"))[:2]:
        given = load_file(file)
        with torch.no_grad():
            found = merged(**given)[result].float()
        save_file({result: found.contiguous()}, folder / file.name.replace(".in.", ".out."))
        cases.append(file.name)
    (folder / "cases.json").write_text(json.dumps({"base": base, "entry": entry, "cases": cases,
                                                   "oracle": f"peft {peft.__version__}, float64"}, indent=1) + "\n")


@recipe
def patterns(folder):
    """Ranks and alphas of their own, a root of the rank, biases that were trained, too."""
    make(folder, "qwen2", "Qwen2ForCausalLM", "logits", "logits", r=4, lora_alpha=6, use_rslora=True, bias="lora_only",
         target_modules=["q_proj", "v_proj", "down_proj"], rank_pattern={"mlp.down_proj": 2},
         alpha_pattern={"layers.0.self_attn.q_proj": 3}, task_type="CAUSAL_LM")


@recipe
def transposed(folder):
    """Weights that are [in, out]."""
    make(folder, "gpt2", "GPT2LMHeadModel", "logits", "logits", r=2, lora_alpha=5, fan_in_fan_out=True, target_modules=["c_attn", "c_fc"],
         task_type="CAUSAL_LM")


@recipe
def classifier(folder):
    """A head that was trained as a whole."""
    make(folder, "bert-classify", "BertForSequenceClassification", "encode", "logits", r=3, lora_alpha=3, target_modules=["query", "dense"],
         exclude_modules=r".*pooler.*", modules_to_save=["classifier"], task_type="SEQ_CLS")


@recipe
def embeddings(folder):
    make(folder, "llama-mqa", "LlamaForCausalLM", "logits", "logits", r=2, lora_alpha=4, target_modules=["embed_tokens", "o_proj"], task_type="CAUSAL_LM")


def main():
    for name in sys.argv[1:] or RECIPES:
        folder = ROOT / "lora" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        RECIPES[name](folder)
        print(f"{name}: {sum(file.stat().st_size for file in folder.iterdir())} bytes")


if __name__ == "__main__":
    main()
