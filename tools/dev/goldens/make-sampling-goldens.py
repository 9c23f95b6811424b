#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes test/goldens/sampling/processors.json with transformers: logits before and after its processors, and the tokens that its
samplers keep. usage: make-sampling-goldens.py OUTPUT (needs torch, transformers)"""
import json
import random
import sys

import torch
from transformers import generation as g

VOCABULARY = 48


def processors(config, prompt, source):
    """Returns the processors for a configuration in the order in which transformers creates them; then its samplers."""
    first = g.LogitsProcessorList()
    if "logit_bias" in config:
        first.append(g.SequenceBiasLogitsProcessor([[[token], bias] for token, bias in config["logit_bias"]]))
    if "repetition_penalty" in config:
        first.append(g.RepetitionPenaltyLogitsProcessor(config["repetition_penalty"]))
    if "no_repeat_ngram_size" in config:
        first.append(g.NoRepeatNGramLogitsProcessor(config["no_repeat_ngram_size"]))
    if "encoder_no_repeat_ngram_size" in config:
        first.append(g.EncoderNoRepeatNGramLogitsProcessor(config["encoder_no_repeat_ngram_size"], torch.tensor([source])))
    if "bad_words_ids" in config:
        first.append(g.NoBadWordsLogitsProcessor(config["bad_words_ids"], config["eos_token_id"]))
    if "min_new_tokens" in config:
        first.append(g.MinNewTokensLengthLogitsProcessor(prompt, config["min_new_tokens"], config["eos_token_id"]))
    if "forced_bos_token_id" in config:
        first.append(g.ForcedBOSTokenLogitsProcessor(config["forced_bos_token_id"]))
    if "forced_eos_token_id" in config:
        first.append(g.ForcedEOSTokenLogitsProcessor(config["max_length"], config["forced_eos_token_id"]))
    if "suppress_tokens" in config:
        first.append(g.SuppressTokensLogitsProcessor(config["suppress_tokens"]))
    if "begin_suppress_tokens" in config:
        begin = prompt + (prompt == 1 and "forced_bos_token_id" in config)
        first.append(g.SuppressTokensAtBeginLogitsProcessor(config["begin_suppress_tokens"], begin))
    last = g.LogitsProcessorList()
    if "temperature" in config:
        last.append(g.TemperatureLogitsWarper(config["temperature"]))
    if "top_k" in config:
        last.append(g.TopKLogitsWarper(config["top_k"]))
    if "top_p" in config:
        last.append(g.TopPLogitsWarper(config["top_p"]))
    if "min_p" in config:
        last.append(g.MinPLogitsWarper(config["min_p"]))
    return first, last


def configuration(random):
    """Returns some of the processors, with typical values."""
    every = {
        "logit_bias": [[token, random.uniform(-4, 4)] for token in random.sample(range(VOCABULARY), 3)],
        "repetition_penalty": random.choice([0.7, 1.1, 1.5, 2.0]),
        "no_repeat_ngram_size": random.choice([1, 2, 3]),
        "encoder_no_repeat_ngram_size": random.choice([1, 2, 3]),
        "bad_words_ids": [[random.randrange(8)], [random.randrange(8), random.randrange(VOCABULARY)],
                          [random.randrange(4), random.randrange(4), random.randrange(VOCABULARY)]],
        "forced_bos_token_id": random.randrange(VOCABULARY),
        "forced_eos_token_id": random.sample(range(VOCABULARY), random.choice([1, 2])),
        "min_new_tokens": random.choice([1, 3, 8]),
        "suppress_tokens": random.sample(range(VOCABULARY), 4),
        "begin_suppress_tokens": random.sample(range(VOCABULARY), 4),
        "temperature": random.choice([0.3, 0.8, 1.0, 1.7]),
        "top_k": random.choice([1, 3, 10, 40, 100]),
        "top_p": random.choice([0.0, 0.3, 0.8, 0.95]),
        "min_p": random.choice([0.02, 0.1, 0.5]),
    }
    config = {key: value for key, value in every.items() if random.random() < 0.45}
    if "top_p" in config and "forced_eos_token_id" in config:
        del config["forced_eos_token_id"][1:]  # if two tokens are equal, top-p may keep either
    config["eos_token_id"] = random.sample(range(VOCABULARY), 2)
    if "bad_words_ids" in config and random.random() < 0.3:
        config["bad_words_ids"].append(config["eos_token_id"][:1])
    return config


def case(random):
    config = configuration(random)
    prompt = random.choice([1, 1, 2, 3, 4, 5, 6])
    tokens = [random.randrange(8) for _ in range(prompt + random.choice([0, 1, 2, 5, 9]))]
    if "forced_bos_token_id" in config and random.random() < 0.3:
        prompt, tokens = 1, tokens[:random.choice([1, 2])]
    logits = torch.tensor([[random.gauss(0, 3) for _ in range(VOCABULARY)]], dtype=torch.float32)
    source = [random.randrange(8) for _ in range(random.randint(1, 12))]
    config["max_length"] = len(tokens) + random.choice([1, 1, 2, 5])
    first, last = processors(config, prompt, source)
    ids = torch.tensor([tokens])
    processed = first(ids, logits.clone())
    left = last(ids, processed.double())[0]
    if not processed.isfinite().any():
        return case(random)
    return {
        "config": config,
        "prompt": prompt,
        "tokens": tokens,
        "source": source,
        "logits": logits[0].tolist(),
        "processed": [None if value == float("-inf") else value for value in processed[0].tolist()],
        "left": {str(i): p for i, p in enumerate(torch.softmax(left, 0).tolist()) if left[i] != float("-inf")},
    }


if __name__ == "__main__":
    source = random.Random(7)
    lines = ",\n".join(json.dumps(case(source)) for _ in range(60))
    with open(sys.argv[1], "w") as file:
        file.write("[\n" + lines + "\n]\n")
