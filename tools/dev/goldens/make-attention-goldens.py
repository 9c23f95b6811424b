#!/usr/bin/env python3
"""Writes test/goldens/attention.json: for models in test/goldens the attention weights in transformers (`output_attentions`, computed in
float64). Needs torch and transformers; the test that reads the file does not."""
import json
import pathlib

import torch
import transformers as tf

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens"
ENCODERS = ("bert", "roberta", "mpnet", "modernbert")
ENCODER_DECODERS = ("marian", "bart", "t5", "mbart", "m2m")
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


def make_pair(name, generator):
    """Returns the weights in both halves and between them. Source rows have padding, targets have none."""
    folder = ROOT / "encoder-decoders" / name
    config = tf.AutoConfig.from_pretrained(folder)
    mask = torch.tensor([[1] * 6, [1, 1, 1, 1, 0, 0], [1, 0, 1, 1, 1, 0]])
    ids = torch.randint(4, config.vocab_size, mask.shape, generator=generator)
    ids[mask == 0] = config.pad_token_id
    target = torch.randint(4, config.vocab_size, (len(mask), 4), generator=generator)
    model = tf.AutoModel.from_pretrained(folder, attn_implementation="eager").double().eval()
    with torch.no_grad():
        out = model(input_ids=ids, attention_mask=mask, decoder_input_ids=target, output_attentions=True)
    case = {"input_ids": ids.tolist(), "attention_mask": mask.tolist(), "decoder_input_ids": target.tolist()}
    real = (mask[:, None, :, None] * mask[:, None, None, :]).double()
    for kind in ("encoder_attentions", "decoder_attentions", "cross_attentions"):
        layers = [layer * real if kind == "encoder_attentions" else layer for layer in getattr(out, kind)]
        case[kind] = {"shape": list(layers[0].shape), "weights": [[round(float(weight), 7) for weight in layer.flatten()] for layer in layers]}
    return case


def main():
    generator = torch.Generator().manual_seed(11)
    cases = {name: make(name, MASK, generator) for name in ENCODERS}
    # A decoder's entry takes sequences with equal lengths without padding.
    cases.update({name: make(name, torch.ones(1, 9, dtype=torch.long), generator) for name in DECODERS})
    cases.update({name: make_pair(name, generator) for name in ENCODER_DECODERS})
    with open(ROOT / "attention.json", "w", encoding="utf-8") as file:
        json.dump(cases, file, separators=(",", ":"))
        file.write("\n")


main()
