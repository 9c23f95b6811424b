#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes expectations for beam search with transformers. Cases in which nearly equal scores decide are omitted.
`tables` writes test/goldens/sampling/beams.json: a model whose logits are a hash of the tokens, with random settings.
`models` adds cases to folders in test/goldens: decoders in float64, two prompts with different lengths.
usage: make-beam-goldens.py tables|models (needs torch, transformers, safetensors)"""
import json
import pathlib
import random
import sys

import numpy as np
import torch
import transformers as tf
from safetensors.torch import save_file
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import CausalLMOutput

MASK = (1 << 64) - 1
CASES = 400
GOLDENS = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens"


def hashed_logits(tokens, case):
    """Returns the logits after these tokens: the same operations as in BeamSearchTest.cpp."""
    state = case["seed"]
    for token in tokens:
        state = ((state ^ (token + 1)) * 0x9E3779B97F4A7C15 + (state >> 29)) & MASK
    ids = np.arange(case["vocabulary"], dtype=np.uint64)
    value = (np.uint64(state) ^ (ids * np.uint64(0xC2B2AE3D27D4EB4F))) * np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(31))) % np.uint64(100003)
    row = (value.astype(np.float32) / np.float32(12500) - np.float32(4)) * np.float32(case["scale"])
    row[case["config"]["eos_token_id"]] += np.float32(case["boost"])
    return row


class Hashed(tf.PreTrainedModel, GenerationMixin):
    """A language model without weights."""

    config_class = tf.PretrainedConfig
    main_input_name = "input_ids"

    def __init__(self, case):
        super().__init__(tf.PretrainedConfig(vocab_size=case["vocabulary"]))
        self.case = case
        self.anchor = torch.nn.Parameter(torch.zeros(1))
        self.generation_config = tf.GenerationConfig(use_cache=False)

    def prepare_inputs_for_generation(self, input_ids, **kwargs):
        return {"input_ids": input_ids}

    def forward(self, input_ids, **kwargs):
        rows = [hashed_logits(tokens, self.case) for tokens in input_ids.tolist()]
        return CausalLMOutput(logits=torch.tensor(np.array(rows))[:, None])


class Near(Exception):
    """Nearly equal scores decide."""


def apart(values, margin=5e-5):
    """Rejects values that are closer together than float rounding explains; minus 1e9 marks a missing value."""
    values = sorted(v for v in values if v > -1e8)
    if any(0 < abs(b - a) < margin or a == b for a, b in zip(values, values[1:])):
        raise Near


class Watch:
    """Observes the values that the search compares."""

    def _get_top_k_continuations(self, accumulated_log_probs, beams_to_keep, **kwargs):
        for best in torch.topk(accumulated_log_probs, min(beams_to_keep + 2, accumulated_log_probs.shape[1]))[0].tolist():
            if best[beams_to_keep - 1] < -1e8:
                raise Near  # fewer candidates than the search keeps: the remaining ones are undefined
            apart(best)
        return super()._get_top_k_continuations(
            accumulated_log_probs=accumulated_log_probs, beams_to_keep=beams_to_keep, **kwargs
        )

    def _update_finished_beams(self, **kwargs):
        result = super()._update_finished_beams(**kwargs)
        for scores in result[1].tolist():
            apart(scores)
        return result

    def _check_early_stop_heuristic(self, running_beam_scores, beam_scores, cur_len, max_length, decoder_prompt_len,
                                    early_stopping, length_penalty, **kwargs):
        length = (max_length if early_stopping == "never" and length_penalty > 0 else cur_len) - decoder_prompt_len
        for best, scores in zip(running_beam_scores[:, 0].tolist(), beam_scores.tolist()):
            apart([best / length**length_penalty, min(scores)])
        return super()._check_early_stop_heuristic(
            running_beam_scores=running_beam_scores, beam_scores=beam_scores, cur_len=cur_len, max_length=max_length,
            decoder_prompt_len=decoder_prompt_len, early_stopping=early_stopping, length_penalty=length_penalty, **kwargs
        )


class Watched(Watch, Hashed):
    pass


def make_case(source):
    """Returns random settings; each processor occurs in some of the cases."""
    vocabulary = source.choice([24, 37, 64, 150])
    beams = source.choice([2, 3, 4, 5])
    prompt = [source.randrange(vocabulary) for _ in range(source.choice([1, 1, 2, 5]))]
    config = {
        "num_beams": beams,
        "num_return_sequences": source.randint(1, beams),
        "length_penalty": source.choice([-1.0, 0.0, 0.4, 0.6, 1.0, 1.0, 1.5, 2.0]),
        "early_stopping": source.choice([False, True, "never"]),
        "eos_token_id": source.sample(range(vocabulary), source.choice([1, 1, 2, 3])),
    }
    if source.random() < 0.5:
        config["max_new_tokens"] = source.choice([1, 2, 3, 5, 9, 14, 20])
    else:
        config["max_length"] = len(prompt) + source.choice([1, 2, 4, 8, 15, 22])
    optional = {
        "min_new_tokens": source.choice([1, 2, 6]),
        "min_length": source.choice([1, 4, 7]),
        "repetition_penalty": source.choice([0.8, 1.3, 2.0]),
        "no_repeat_ngram_size": source.choice([1, 2, 3]),
        "encoder_no_repeat_ngram_size": source.choice([1, 2]),
        "bad_words_ids": [[source.randrange(vocabulary)], [source.randrange(vocabulary), source.randrange(vocabulary)]],
        "forced_bos_token_id": source.randrange(vocabulary),
        "forced_eos_token_id": config["eos_token_id"][0],
        "suppress_tokens": source.sample(range(vocabulary), 3),
        "begin_suppress_tokens": source.sample(range(vocabulary), 3),
        "renormalize_logits": True,
    }
    config.update({key: value for key, value in optional.items() if source.random() < 0.2})
    if {config.get("forced_bos_token_id"), config.get("forced_eos_token_id")} & set(config.get("suppress_tokens", [])):
        del config["suppress_tokens"]  # transformers rejects that
    if "min_new_tokens" in config:
        config.pop("min_length", None)
    return {
        "vocabulary": vocabulary,
        "seed": source.getrandbits(48),
        "scale": source.choice([0.25, 0.5, 1.0, 2.0]),
        "boost": source.choice([-2.0, 0.0, 1.0, 2.0, 4.0]),
        "prompt": prompt,
        "config": config,
    }


def run(case):
    settings = {"max_length": None, **case["config"]}
    with torch.no_grad():
        out = Watched(case).generate(
            torch.tensor([case["prompt"]]), pad_token_id=case["vocabulary"], do_sample=False, output_scores=True,
            return_dict_in_generate=True, **settings
        )
    new = [[t for t in row[len(case["prompt"]):] if t != case["vocabulary"]] for row in out.sequences.tolist()]
    if not all(score > -1e8 for score in out.sequences_scores.tolist()):
        raise Near
    case["settings"] = case.pop("config")  # in the artifact's format
    if "forced_eos_token_id" in case["settings"]:
        case["settings"]["forced_eos_token_id"] = [case["settings"]["forced_eos_token_id"]]
    case["settings"] = json.dumps(case["settings"], separators=(",", ":"))
    return {**case, "tokens": new, "scores": [round(score, 7) for score in out.sequences_scores.tolist()]}


def write_tables():
    source, cases, near = random.Random(11), [], 0
    while len(cases) != CASES:
        try:
            cases.append(run(make_case(source)))
        except Near:
            near += 1
    print(f"{near} cases left out")
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (GOLDENS / "sampling" / "beams.json").write_text("[\n" + lines + "\n]\n")


def watched_model(folder):
    """Returns a folder's model in float64, observing the values that its search compares."""
    plain = tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    plain.__class__ = type("Watched" + type(plain).__name__, (Watch, type(plain)), {})
    return plain


def run_model(model, source, settings):
    """Returns one case, or raises Near; each prompt is searched by itself. The end token is selected among tokens that a search without
    one reaches."""
    prompts = [[source.randrange(3, model.config.vocab_size) for _ in range(n)] for n in (source.randint(2, 9), source.randint(10, 24))]
    longest, settings = max(map(len, prompts)), {"eos_token_id": 1, **settings}
    ends = settings.pop("ends", False)
    call = dict(do_sample=False, output_scores=True, return_dict_in_generate=True, pad_token_id=-1)

    def search(prompt):
        with torch.no_grad():
            out = model.generate(torch.tensor([prompt]), **call, **settings)
        return [[t for t in row[len(prompt):] if t != -1] for row in out.sequences.tolist()], out.sequences_scores.tolist()

    if ends:
        settings["eos_token_id"] = source.choice(search(prompts[0])[0])[3]
    found = [search(prompt) for prompt in prompts]
    rows, scores = sum((rows for rows, _ in found), []), sum((scores for _, scores in found), [])
    width = max(map(len, rows))  # shorter ones are filled with the end token: the folders have no padding token
    rows = [row + [settings["eos_token_id"]] * (width - len(row)) for row in rows]
    inputs = {"input_ids": [[0] * (longest - len(p)) + p for p in prompts],
              "attention_mask": [[0] * (longest - len(p)) + [1] * len(p) for p in prompts]}
    return ({key: torch.tensor(value) for key, value in inputs.items()},
            {"output_ids": torch.tensor(rows), "scores": torch.tensor(scores, dtype=torch.float32)}, settings)


MODEL_SETTINGS = [
    dict(num_beams=4, num_return_sequences=4, max_new_tokens=12, length_penalty=1.0, early_stopping=False),
    dict(num_beams=4, num_return_sequences=2, max_new_tokens=16, min_new_tokens=2, length_penalty=0.6, early_stopping=True,
         no_repeat_ngram_size=2, ends=True),
    dict(num_beams=4, num_return_sequences=3, max_new_tokens=14, length_penalty=2.0, early_stopping="never",
         repetition_penalty=1.2, renormalize_logits=True, ends=True),
]


def write_models():
    for name in ("gpt2", "llama-gqa"):
        folder = GOLDENS / name
        model, source = watched_model(folder), random.Random(name)
        meta = json.loads((folder / "cases.json").read_text())
        meta["cases"] = [case for case in meta["cases"] if case["entry"] != "generate_beam"]
        for number, settings in enumerate(MODEL_SETTINGS):
            while True:
                try:
                    inputs, results, used = run_model(model, source, settings)
                    break
                except Near:
                    pass
            case = {"entry": "generate_beam", "input": f"generate_beam.{number}.in.safetensors",
                    "expect": f"generate_beam.{number}.out.safetensors", **used}
            save_file(inputs, folder / case["input"])
            save_file({key: value.contiguous() for key, value in results.items()}, folder / case["expect"])
            meta["cases"].append(case)
        (folder / "cases.json").write_text(json.dumps(meta, indent=1))


if __name__ == "__main__":
    tf.logging.set_verbosity_error()
    {"tables": write_tables, "models": write_models}[sys.argv[1]]()
