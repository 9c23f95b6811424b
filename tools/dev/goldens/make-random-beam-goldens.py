#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes test/goldens/random-beams with transformers: tiny encoder-decoders from several families with random weights, and their float64
results for greedy and beam search under random settings. Cases whose result depends on differences of 1e-4 in the logits are omitted.
usage: make-random-beam-goldens.py OUTPUT (needs torch, transformers)"""
import json
import os
import random
import sys

import torch
import transformers as t
from transformers import LogitsProcessor, LogitsProcessorList

FILES = 5  # generation_config.json files per model
RUNS = 6  # max runs per file
NOISE = 1e-4


def sizes(rng):
    """Returns widths and layer counts for one model; the halves differ."""
    return {"heads": rng.choice([1, 2, 3]), "dim": rng.choice([5, 6, 8]), "encoder": rng.choice([1, 2, 3]),
            "decoder": rng.choice([1, 2, 3]), "mlp": rng.choice([17, 24, 33]), "vocabulary": rng.randrange(40, 61)}


def bart_like(config, model, **more):
    """A family whose config has BART's keys."""
    def make(s):
        width = s["heads"] * s["dim"] + s["heads"] * s["dim"] % 2
        heads = s["heads"] if width % s["heads"] == 0 else 1
        return model(config(
            vocab_size=s["vocabulary"], d_model=width, encoder_layers=s["encoder"], decoder_layers=s["decoder"],
            encoder_attention_heads=heads, decoder_attention_heads=1 if s["decoder"] == 2 else heads, encoder_ffn_dim=s["mlp"],
            decoder_ffn_dim=s["mlp"] + 3, max_position_embeddings=48, pad_token_id=1, bos_token_id=0, eos_token_id=2,
            decoder_start_token_id=3, **more))
    return make


def t5_like(config, model, **more):
    """A family whose config has T5's keys; the head width is independent. The library's MT5 cache needs halves with equal depth."""
    def make(s):
        return model(config(
            vocab_size=s["vocabulary"], d_model=16, d_kv=s["dim"], d_ff=s["mlp"], num_layers=s["encoder"],
            num_decoder_layers=s["encoder"] if config is t.MT5Config else s["decoder"], num_heads=s["heads"], relative_attention_num_buckets=8,
            relative_attention_max_distance=20, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, **more))
    return make


FAMILIES = {
    "marian": bart_like(t.MarianConfig, t.MarianMTModel, scale_embedding=True, activation_function="swish"),
    "bart": bart_like(t.BartConfig, t.BartForConditionalGeneration),
    "mbart": bart_like(t.MBartConfig, t.MBartForConditionalGeneration, scale_embedding=True),
    "pegasus": bart_like(t.PegasusConfig, t.PegasusForConditionalGeneration, scale_embedding=True, activation_function="relu"),
    "m2m-100": bart_like(t.M2M100Config, t.M2M100ForConditionalGeneration, scale_embedding=True),
    "blenderbot": bart_like(t.BlenderbotConfig, t.BlenderbotForConditionalGeneration),
    "t5": t5_like(t.T5Config, t.T5ForConditionalGeneration),
    "mt5": t5_like(t.MT5Config, t.MT5ForConditionalGeneration, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
}


def randomize(model, seed):
    """Sets weights with about unit gain, larger in the head's table, so that probabilities differ."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            if "norm" in name:
                value.copy_((1 if name.endswith("weight") else 0) + 0.2 * noise)
            elif value.ndim < 2:
                value.copy_(0.1 * noise)
            elif "shared" in name or "embed" in name or "lm_head" in name:
                value.copy_(0.6 * noise)
            else:
                value.copy_(1.5 * noise / value.shape[-1] ** 0.5)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(0.3 * torch.randn(model.final_logits_bias.shape, generator=generator))


def file_settings(rng, vocabulary, config):
    """Returns settings for generation_config.json."""
    ids = lambda count: rng.sample(range(4, vocabulary), count)
    file = {
        "min_length": rng.choice([3, 6]),
        "forced_bos_token_id": ids(1)[0],
        "forced_eos_token_id": config.eos_token_id,
        "bad_words_ids": [ids(1), ids(2), ids(1), ids(3)],
        "suppress_tokens": ids(3),
        "begin_suppress_tokens": ids(2),
        "renormalize_logits": True,
        "encoder_no_repeat_ngram_size": rng.choice([1, 2]),
        "repetition_penalty": rng.choice([0.8, 1.3]),
    }
    file = {key: value for key, value in file.items() if rng.random() < 0.35}
    if "forced_bos_token_id" in file:
        for key in ("suppress_tokens", "begin_suppress_tokens"):
            if file["forced_bos_token_id"] in file.get(key, ()):
                del file[key]  # rejected: every token would be excluded
    for key in ("forced_bos_token_id", "forced_eos_token_id"):
        file.setdefault(key, None)  # otherwise config.json decides
    file["max_length"] = rng.choice([8, 13, 20])
    file["eos_token_id"] = [config.eos_token_id, *ids(rng.choice([1, 4, 6]))]
    return file


def flag_settings(rng):
    """Returns command-line settings."""
    beams = rng.choice([1, 2, 3, 4, 5, 8])
    flags = {"num_beams": beams}
    if beams > 1:
        flags["num_return_sequences"] = rng.randint(1, beams)
        flags["length_penalty"] = rng.choice([-0.7, 0.0, 0.6, 1.0, 1.0, 2.0])
        flags["early_stopping"] = rng.choice([False, False, True, "never"])
    if rng.random() < 0.3:
        flags["no_repeat_ngram_size"] = rng.choice([1, 2, 3])
    return flags


def sources(rng, vocabulary, pad, same):
    """Returns a source batch with its mask, with equal or different lengths."""
    lengths = [rng.randint(1, 14) for _ in range(rng.choice([1, 2, 3]))]
    if same:
        lengths = lengths[:1] * len(lengths)
    longest = max(lengths)
    ids = [[rng.randrange(4, vocabulary) for _ in range(n)] + [pad] * (longest - n) for n in lengths]
    return ids, [[1] * n + [0] * (longest - n) for n in lengths]


class Noise(LogitsProcessor):
    """Adds different noise to the scores in each call."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, input_ids, scores):
        return scores + NOISE * (2 * torch.rand(scores.shape, generator=self.generator, dtype=scores.dtype) - 1)


def generate(model, file, case, noise=None):
    """Returns each result's new tokens up to its first end token, and its score."""
    config = t.GenerationConfig(pad_token_id=model.config.pad_token_id, decoder_start_token_id=model.config.decoder_start_token_id,
                                **file, **case["flags"])
    model.generation_config = config  # otherwise unset members have the family's values
    made = model.generate(
        input_ids=torch.tensor(case["input_ids"]), attention_mask=torch.tensor(case["attention_mask"]),
        logits_processor=LogitsProcessorList([Noise(noise)] if noise else []), return_dict_in_generate=True, output_scores=True)
    rows = []
    for row in made.sequences[:, 1:].tolist():
        end = next((i for i, token in enumerate(row) if token in file["eos_token_id"]), len(row) - 1)
        rows.append(row[:end + 1])
    return rows, made.sequences_scores.tolist() if "sequences_scores" in made else None


def runs(model, file, rng):
    """Returns runs under one generation_config.json whose results do not change under noise."""
    vocabulary, pad, found = model.config.vocab_size, model.config.pad_token_id, []
    for _ in range(4 * RUNS):
        # The library counts padding in n-grams, so that a row depends on its batch.
        ids, mask = sources(rng, vocabulary, pad, "encoder_no_repeat_ngram_size" in file)
        run = {"flags": flag_settings(rng), "input_ids": ids, "attention_mask": mask}
        rows, scores = generate(model, file, run)
        if any(generate(model, file, run, noise)[0] != rows for noise in (1, 2)):
            continue
        if any(pad in row for row in rows):
            continue  # a token is indistinguishable from padding
        run["output_ids"] = rows
        if scores:
            run["scores"] = scores
        found.append(run)
        if len(found) == RUNS:
            break
    return found


def cases(model, rng):
    """Returns files with settings, and the runs under each."""
    for _ in range(FILES):
        file = file_settings(rng, model.config.vocab_size, model.config)
        yield {"generation_config": file, "runs": runs(model, file, rng)}


def main():
    output, count = sys.argv[1], 0
    t.logging.set_verbosity_error()
    t.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for seed, (name, make) in enumerate(FAMILIES.items()):
        rng = random.Random(seed)
        model = make(sizes(rng)).eval()
        randomize(model, seed)
        folder = os.path.join(output, name)
        model.save_pretrained(folder)
        model = type(model).from_pretrained(folder).eval()  # computes with the stored tensors only
        os.remove(os.path.join(folder, "generation_config.json"))
        found = list(cases(model.double(), rng))
        number = sum(len(case["runs"]) for case in found)
        count += number
        with open(os.path.join(folder, "cases.json"), "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(json.dumps(case) for case in found) + "\n]\n")
        distinct = {token for case in found for run in case["runs"] for row in run["output_ids"] for token in row}
        print(f"{name}: {number} runs, {len(distinct)} different tokens")
    print(f"{count} runs")


if __name__ == "__main__":
    main()
