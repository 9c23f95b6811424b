#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes LoRA adapters for golden folders into test/goldens/lora, as PEFT saves them, with results of PEFT models in float64 for the
folder's inputs: NAME.out.safetensors for NAME.in.safetensors there. Models are merged if PEFT can merge them: it merges tied weights into
all tied tensors, and no bias into a module without bias. Needs peft, torch, transformers and safetensors; the tests that read the folders
do not.

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


def make(folder, base, architecture, entry, result, merges=True, save={}, kind_of_adapter=peft.LoraConfig, **settings):
    base_folder = ROOT / base
    kind = getattr(tf, architecture)

    def load():
        return kind.from_pretrained(base_folder, dtype=torch.float64, attn_implementation="eager").eval()

    generator = torch.Generator().manual_seed(sum(map(ord, folder.name)))
    model = peft.get_peft_model(load(), kind_of_adapter(**settings))
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            if parameter.requires_grad:
                noise = torch.randn(parameter.shape, generator=generator).double()
                scale = 0.2 if "lora_" in name else 0.1
                parameter.copy_((noise * scale + (0 if "lora_" in name else parameter)).float().double())
    model.save_pretrained(folder, **save)
    (folder / "README.md").unlink(missing_ok=True)
    # The stored adapter, in single precision, defines the results.
    path = folder / "adapter_model.safetensors"
    save_file({name: tensor.float().contiguous() for name, tensor in load_file(path).items()}, path)
    described = json.loads((folder / "adapter_config.json").read_text())
    described["base_model_name_or_path"] = base
    (folder / "adapter_config.json").write_text(json.dumps(described, indent=1, sort_keys=True) + "\n")
    loaded = peft.PeftModel.from_pretrained(load(), folder).double().eval()
    if merges:
        loaded = loaded.merge_and_unload().double().eval()
    cases = []
    for file in sorted(base_folder.glob(f"{entry}.?.in.safetensors"))[:2]:
        given = load_file(file)
        with torch.no_grad():
            found = loaded(**given)[result].float()
        if entry == "encode" and found.dim() == 3:  # token results are zero at padding
            found = found * given["attention_mask"][..., None]
        save_file({result: found.contiguous()}, folder / file.name.replace(".in.", ".out."))
        cases.append(file.name)
    (folder / "cases.json").write_text(json.dumps({"base": base, "entry": entry, "cases": cases,
                                                   "oracle": f"peft {peft.__version__}, float64"}, indent=1) + "\n")


@recipe
def patterns(folder):
    """Separate ranks and alphas, scaling by the rank's square root, trained biases."""
    make(folder, "qwen2", "Qwen2ForCausalLM", "logits", "logits", r=4, lora_alpha=6, use_rslora=True, bias="lora_only",
         target_modules=["q_proj", "v_proj", "down_proj"], rank_pattern={"mlp.down_proj": 2},
         alpha_pattern={"layers.0.self_attn.q_proj": 3}, task_type="CAUSAL_LM")


@recipe
def transposed(folder):
    """Weights with layout [in, out]."""
    make(folder, "gpt2", "GPT2LMHeadModel", "logits", "logits", r=2, lora_alpha=5, fan_in_fan_out=True, target_modules=["c_attn", "c_fc"],
         task_type="CAUSAL_LM")


@recipe
def classifier(folder):
    """A completely trained head."""
    make(folder, "bert-classify", "BertForSequenceClassification", "encode", "logits", r=3, lora_alpha=3, target_modules=["query", "dense"],
         exclude_modules=r".*pooler.*", modules_to_save=["classifier"], task_type="SEQ_CLS")


@recipe
def embeddings(folder):
    """Only the token embedding; the head, which is tied to it, stays unchanged."""
    make(folder, "llama-mqa", "LlamaForCausalLM", "logits", "logits", merges=False, r=2, lora_alpha=4, target_modules=["embed_tokens", "o_proj"], task_type="CAUSAL_LM")


@recipe
def magnitudes(folder):
    """DoRA on projections and the token embedding, whose magnitudes are by column."""
    make(folder, "qwen2-tied", "Qwen2ForCausalLM", "logits", "logits", merges=False, r=2, lora_alpha=5, use_dora=True,
         target_modules=["q_proj", "down_proj", "embed_tokens"], task_type="CAUSAL_LM")


@recipe
def magnitudes_transposed(folder):
    """DoRA on weights with layout [in, out]."""
    make(folder, "gpt2", "GPT2LMHeadModel", "logits", "logits", r=2, lora_alpha=3, use_dora=True, use_rslora=True, target_modules=["c_attn"],
         task_type="CAUSAL_LM")


@recipe
def tied_head(folder):
    """Factors for a head that is tied to the token embedding, which stays unchanged."""
    make(folder, "qwen2-tied", "Qwen2ForCausalLM", "logits", "logits", merges=False, r=2, lora_alpha=4, target_modules=["q_proj", "lm_head"],
         task_type="CAUSAL_LM")


@recipe
def tied_factors(folder):
    """Factors for the token embedding and the tied head."""
    make(folder, "qwen2-tied", "Qwen2ForCausalLM", "logits", "logits", merges=False, r=2, lora_alpha=4, target_modules=["lm_head"],
         ensure_weight_tying=True, task_type="CAUSAL_LM")


@recipe
def saved_embedding(folder):
    """A completely trained token embedding; the head stays unchanged."""
    make(folder, "qwen2-tied", "Qwen2ForCausalLM", "logits", "logits", merges=False, r=2, lora_alpha=4, target_modules=["v_proj"],
         modules_to_save=["embed_tokens"], task_type="CAUSAL_LM")


@recipe
def tokens(folder):
    """Rows in the token embedding, which apply to the head, too."""
    make(folder, "qwen2-tied", "Qwen2ForCausalLM", "logits", "logits", merges=False, r=2, lora_alpha=4, target_modules=["v_proj"],
         trainable_token_indices=[5, 96, 6, 7, 0], task_type="CAUSAL_LM")


@recipe
def tokens_of_tables(folder):
    """Rows in the head and others in the token embedding."""
    make(folder, "qwen2-tied", "Qwen2ForCausalLM", "logits", "logits", merges=False, r=2, lora_alpha=4, target_modules=["v_proj"],
         trainable_token_indices={"embed_tokens": list(range(3, 40)), "lm_head": [2, 90]}, task_type="CAUSAL_LM")


@recipe
def tokens_alone(folder):
    """An adapter that has table rows and no factors."""
    make(folder, "qwen2-tied", "Qwen2ForCausalLM", "logits", "logits", merges=False, kind_of_adapter=peft.TrainableTokensConfig,
         token_indices=[1, 50, 51], task_type="CAUSAL_LM")


@recipe
def biases(folder):
    """Biases on the low-rank product, for modules with a bias and without one."""
    make(folder, "qwen2-tied", "Qwen2ForCausalLM", "logits", "logits", merges=False, r=2, lora_alpha=4, lora_bias=True,
         target_modules=["q_proj", "o_proj", "gate_proj", "lm_head"], task_type="CAUSAL_LM")


@recipe
def expressions(folder):
    """Ranks and alphas by regular expressions, and a parameter in place of a module."""
    make(folder, "qwen2-tied", "Qwen2ForCausalLM", "logits", "logits", r=3, lora_alpha=4, target_modules=["q_proj", "up_proj", "down_proj"],
         target_parameters=["k_proj.weight"], rank_pattern={r"layers\.\d+\.mlp\.(?:up|down)_proj": 2, "k_.*": 1},
         alpha_pattern={r"^model\.layers\.[0]\..*q_proj": 7, r".*\.1\..*_proj": 5}, task_type="CAUSAL_LM")


@recipe
def masked_words(folder):
    """An encoder's head that is tied to the token embedding, and its bias."""
    make(folder, "electra", "ElectraForMaskedLM", "encode", "logits", merges=False, r=2, lora_alpha=4, lora_bias=True,
         target_modules=["query", "generator_lm_head"], bias="all")


@recipe
def two_halves(folder):
    """Both tables in an encoder-decoder, whose head keeps neither."""
    make(folder, "encoder-decoders/bart", "BartForConditionalGeneration", "logits", "logits", merges=False, r=2, lora_alpha=4,
         target_modules=["q_proj", "fc1", "encoder.embed_tokens"], modules_to_save=["decoder.embed_tokens"], task_type="SEQ_2_SEQ_LM")


@recipe
def tokens_of_halves(folder):
    """Rows in the table that the halves and the head share."""
    make(folder, "encoder-decoders/bart", "BartForConditionalGeneration", "logits", "logits", merges=False, r=2, lora_alpha=4,
         target_modules=["v_proj"], trainable_token_indices=[4, 9, 30], task_type="SEQ_2_SEQ_LM")


@recipe
def kept_embeddings(folder):
    """The embedding and the head in addition to the factors; the class still ties them."""
    make(folder, "qwen2-tied", "Qwen2ForCausalLM", "logits", "logits", merges=False, save={"save_embedding_layers": True}, r=2, lora_alpha=4,
         target_modules=["v_proj"], task_type="CAUSAL_LM")


def main():
    for name in sys.argv[1:] or RECIPES:
        folder = ROOT / "lora" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        RECIPES[name](folder)
        print(f"{name}: {sum(file.stat().st_size for file in folder.iterdir())} bytes")


if __name__ == "__main__":
    main()
