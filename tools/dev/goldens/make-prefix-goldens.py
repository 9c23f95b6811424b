#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes test/goldens/target-prefixes.json with transformers: results that models in test/goldens/random-beams generate in float64 after
target prefixes (`decoder_input_ids`). Cases whose result depends on differences of 1e-4 in the logits are omitted.
usage: make-prefix-goldens.py (needs torch, transformers)"""
import importlib.util
import json
import os
import random

import torch
import transformers as t
from transformers import LogitsProcessorList

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDENS = os.path.join(HERE, "..", "..", "..", "test", "goldens")
FAMILIES = {"marian": t.MarianMTModel, "bart": t.BartForConditionalGeneration, "m2m-100": t.M2M100ForConditionalGeneration,
            "t5": t.T5ForConditionalGeneration}
FILES = 3  # generation_config.json files per model
RUNS = 4  # max runs per file
WORDS = range(4, 40)  # ids with words in the test tokenizer
END = 2  # the source's end token in that tokenizer

spec = importlib.util.spec_from_file_location("beams", os.path.join(HERE, "make-random-beam-goldens.py"))
beams = importlib.util.module_from_spec(spec)
spec.loader.exec_module(beams)


def words(rng, most):
    return [rng.choice(WORDS) for _ in range(rng.randint(1, most))]


def generate(model, file, flags, source, prefix, noise=None):
    """Returns each result's new tokens up to its first end token, and its score. A forced first token precedes a prefix."""
    start, forced = model.config.decoder_start_token_id, file["forced_bos_token_id"]
    target = [start, *([] if forced is None or not prefix else [forced]), *prefix]
    model.generation_config = t.GenerationConfig(pad_token_id=model.config.pad_token_id, decoder_start_token_id=start, **file, **flags)
    made = model.generate(
        input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]), return_dict_in_generate=True, output_scores=True,
        logits_processor=LogitsProcessorList([beams.Noise(noise)] if noise else []))
    rows = []
    for row in made.sequences.tolist():
        assert row[:len(target)] == target
        row = row[len(target):]
        end = next((i for i, token in enumerate(row) if token in file["eos_token_id"]), len(row) - 1)
        rows.append(row[:end + 1])
    return rows, made.sequences_scores.tolist() if "sequences_scores" in made else None


def make_run(model, file, rng, number):
    """Returns a run whose result does not change under noise: several sources, each with a prefix; one prefix may be empty."""
    flags, run = {"num_beams": 1} if number == 0 else beams.flag_settings(rng), []
    while len(run) != 3:
        source, prefix = [*words(rng, 12), END], words(rng, 5) if len(run) or number % 2 else []
        rows, scores = generate(model, file, flags, source, prefix)
        if any(generate(model, file, flags, source, prefix, noise)[0] != rows for noise in (1, 2)):
            continue
        if any(model.config.pad_token_id in row for row in rows):
            continue  # a token is indistinguishable from padding
        run.append({"source": source[:-1], "prefix": prefix, "ids": rows, **({"scores": scores} if scores else {})})
    return {"flags": flags, "sources": run}


def main():
    t.logging.set_verbosity_error()
    t.logging.disable_progress_bar()
    torch.set_num_threads(1)
    models = {}
    for seed, (name, cls) in enumerate(FAMILIES.items()):
        rng = random.Random(100 + seed)
        model = cls.from_pretrained(os.path.join(GOLDENS, "random-beams", name)).eval().double()
        models[name] = []
        for _ in range(FILES):
            file = beams.file_settings(rng, model.config.vocab_size, model.config)
            file["max_length"] = rng.choice([10, 16])
            models[name].append({"generation_config": file, "runs": [make_run(model, file, rng, i) for i in range(RUNS)]})
    with open(os.path.join(GOLDENS, "target-prefixes.json"), "w", encoding="utf-8") as out:
        out.write("{\n" + ",\n".join(f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in cases) + "\n]"
                                     for name, cases in models.items()) + "\n}\n")


if __name__ == "__main__":
    main()
