#!/usr/bin/env python3
"""Writes test/goldens/attention.json: for models in test/goldens the attention weights that transformers gives
(`output_attentions`, computed in float64). Needs torch and transformers; the test that reads the file does not."""
import json
import pathlib

import torch
import transformers as tf

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens"
ENCODERS = ("bert", "roberta", "mpnet", "modernbert")
DECODERS = ("gpt2", "llama-gqa", "mistral-window", "bloom-alibi", "gemma2")
# A full row, one with padding at its end, one with padding at its start and a hole.
MASK = torch.tensor([[1] * 7, [1, 1, 1, 1, 0, 0, 0], [0, 1, 1, 0, 1, 1, 1]])


def make(name, mask, generator):
    config = tf.AutoConfig.from_pretrained(ROOT / name)
    ids = torch.randint(3, config.vocab_size, mask.shape, generator=generator)
    ids[mask == 0] = config.pad_token_id or 0
    model = tf.AutoModel.from_pretrained(ROOT / name, attn_implementation="eager").double().eval()
    with torch.no_grad():
        found = model(input_ids=ids, attention_mask=mask, output_attentions=True).attentions
    real = (mask[:, None, :, None] * mask[:, None, None, :]).double()
    weights = [[round(float(weight), 7) for weight in (layer * real).flatten()] for layer in found]
    return {"input_ids": ids.tolist(), "attention_mask": mask.tolist(), "shape": list(found[0].shape), "attentions": weights}


def main():
    generator = torch.Generator().manual_seed(11)
    cases = {name: make(name, MASK, generator) for name in ENCODERS}
    # A decoder's entry takes sequences of one length without padding.
    cases.update({name: make(name, torch.ones(1, 9, dtype=torch.long), generator) for name in DECODERS})
    with open(ROOT / "attention.json", "w", encoding="utf-8") as file:
        json.dump(cases, file, separators=(",", ":"))
        file.write("\n")


main()
