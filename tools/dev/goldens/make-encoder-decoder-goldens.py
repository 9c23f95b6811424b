#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes encoder-decoders into test/goldens/encoder-decoders: tiny checkpoints for each family, with results that transformers computes in
float64 from the stored folder. Needs torch, transformers and safetensors; the tests that read the folders do not.

usage: make-encoder-decoder-goldens.py [--out FOLDER] [NAME ...]

The halves of a model differ in layers, heads and sizes. `keys` are changes to config.json after the model was made (None deletes a key),
`generation` is generation_config.json in addition to special token ids. `names` renames or, with None, drops tensors in the file.
"""
import argparse
import json
import pathlib
import shutil

import torch
import transformers as tf
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens" / "encoder-decoders"
VOCAB = 53
RECIPES = {}


def recipe(name, architecture, config, keys=None, generation=None, names=None, gain=3.0):
    RECIPES[name] = dict(architecture=architecture, config=config, keys=keys or {}, generation=generation or {},
                         names=names or {}, gain=gain)


def bart(kind, width=16, layers=(1, 2), heads=(4, 2), wide=(20, 26), **more):
    ids = dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None)
    return getattr(tf, kind + "Config")(**{**dict(
        vocab_size=VOCAB, d_model=width, encoder_layers=layers[0], decoder_layers=layers[1],
        encoder_attention_heads=heads[0], decoder_attention_heads=heads[1], encoder_ffn_dim=wide[0],
        decoder_ffn_dim=wide[1], max_position_embeddings=40), **ids, **more})


def t5(kind="T5", layers=(2, 1), **more):
    return getattr(tf, kind + "Config")(**{**dict(
        vocab_size=VOCAB, d_model=16, d_kv=5, num_heads=3, d_ff=22, num_layers=layers[0], num_decoder_layers=layers[1],
        relative_attention_num_buckets=8, relative_attention_max_distance=11, pad_token_id=0, eos_token_id=1,
        decoder_start_token_id=0), **more})


TRANSLATION = "MarianMTModel"
GENERATION = "ForConditionalGeneration"
recipe("marian", TRANSLATION, bart("Marian", share_encoder_decoder_embeddings=True))
# An odd width, two vocabularies and a scaled embedding.
recipe("marian-two-vocabularies", TRANSLATION,
       bart("Marian", width=21, layers=(2, 1), heads=(3, 7), scale_embedding=True, activation_function="swish",
            share_encoder_decoder_embeddings=False, decoder_vocab_size=47))
recipe("bart", "Bart" + GENERATION, bart("Bart"), generation={"forced_eos_token_id": 2, "no_repeat_ngram_size": 3})
recipe("bart-scaled", "Bart" + GENERATION,
       bart("Bart", width=24, layers=(2, 1), heads=(2, 3), scale_embedding=True, activation_function="relu"),
       keys={"num_hidden_layers": 2, "is_encoder_decoder": None})
recipe("mbart", "MBart" + GENERATION, bart("MBart", scale_embedding=True), generation={"forced_bos_token_id": 7})
recipe("pegasus", "Pegasus" + GENERATION, bart("Pegasus", width=18, heads=(3, 2), decoder_start_token_id=1))
recipe("m2m", "M2M100" + GENERATION, bart("M2M100", layers=(2, 1)), generation={"forced_bos_token_id": 9})
recipe("m2m-odd", "M2M100" + GENERATION, bart("M2M100", width=15, heads=(3, 5), scale_embedding=False,
                                              pad_token_id=3, activation_function="gelu"))
recipe("blenderbot", "Blenderbot" + GENERATION, bart("Blenderbot", encoder_no_repeat_ngram_size=0))
# T5 and mT5, tied and not, as transformers 5 and 4 write them. Version 5 does not write untied ones.
V4 = {"scale_decoder_outputs": None, "dense_act_fn": None, "is_gated_act": None, "n_positions": 512}
recipe("t5", "T5" + GENERATION, t5())
recipe("t5-v4", "T5" + GENERATION, t5(layers=(1, 2)), keys={**V4, "tie_word_embeddings": None})
recipe("t5-gated-v4-untied", "T5" + GENERATION, t5(feed_forward_proj="gated-gelu"),
       keys={**V4, "tie_word_embeddings": False}, names={"lm_head.weight": "own"})
recipe("t5-gated-untied", "T5" + GENERATION, t5(feed_forward_proj="gated-silu"),
       keys={"scale_decoder_outputs": False}, names={"lm_head.weight": "own"})
recipe("mt5", "MT5" + GENERATION, t5("MT5"))
recipe("mt5-v4-untied", "MT5" + GENERATION, t5("MT5", layers=(1, 2)), keys={**V4, "tie_word_embeddings": False},
       names={"lm_head.weight": "own"})
# Without a head, so that only the encoder runs, and with a classification head.
recipe("bart-bare", "BartModel", bart("Bart", layers=(2, 1)))
recipe("t5-encoder-model", "T5EncoderModel", t5(layers=(2, 1), feed_forward_proj="gated-gelu"))
recipe("bart-classify", "BartForSequenceClassification", bart("Bart", num_labels=4))
recipe("mbart-classify", "MBartForSequenceClassification", bart("MBart", layers=(1, 1)))


def randomize(name, shape, gain, generator):
    """Weights N(0, gain / fan-in), embeddings and relative biases wide, norms around one, biases small."""
    noise = torch.randn(shape, generator=generator)
    if "embed" in name and "norm" not in name or name.startswith("shared") or "shared." in name:
        return 0.5 * noise
    if "relative_attention_bias" in name:
        return 0.7 * noise
    if name.endswith("weight") and len(shape) == 2:
        own = name == "lm_head.weight" or "SelfAttention.q" in name or "EncDecAttention.q" in name
        return noise * shape[1] ** -0.5 * (1 if own else gain)
    return 1 + 0.15 * noise if "norm" in name and name.endswith("weight") else 0.1 * noise


def write_folder(folder, made, seed):
    """Writes config.json, generation_config.json and model.safetensors; tied tensors are stored once."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    generator = torch.Generator().manual_seed(sum(map(ord, folder.name)) * 1009 + seed)
    model = getattr(tf, made["architecture"])(made["config"])
    model.save_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    for name, how in made["names"].items():
        if how == "own":
            tensors[name] = model.state_dict()[name]
    tensors = {name: randomize(name, tensor.shape, made["gain"], generator).contiguous()
               for name, tensor in sorted(tensors.items())}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    config = {k: v for k, v in json.loads((folder / "config.json").read_text()).items() if not k.startswith("_")}
    config.update(made["keys"])
    config = {k: v for k, v in config.items() if not (k in made["keys"] and v is None)}
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    ids = {k: config[k] for k in ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")
           if config.get(k) is not None}
    (folder / "generation_config.json").write_text(json.dumps({**ids, **made["generation"]}, indent=1) + "\n")


class Cases:
    def __init__(self, folder):
        self.folder, self.cases, self.counts = folder, [], {}

    def add(self, entry, given, wanted, **more):
        number = self.counts.get(entry, 0)
        self.counts[entry] = number + 1
        names = [f"{entry}.{number}.{side}.safetensors" for side in ("in", "out")]
        save_file(given, self.folder / names[0])
        save_file({k: v.float().contiguous() if v.is_floating_point() else v for k, v in wanted.items()},
                  self.folder / names[1])
        self.cases.append({"entry": entry, "input": names[0], "expect": names[1], **more})


class Unsuitable(Exception):
    """Weights whose generated texts have near ties, few different tokens, or the padding token."""


class Maker:
    """The cases for one model. Sources and targets contain no special tokens. Generation runs without a cache, because the cache in
    transformers 5.23 has as many layers as the encoder."""

    def __init__(self, folder, architecture):
        self.folder, self.cases = folder, Cases(folder)
        self.generator = torch.Generator().manual_seed(sum(map(ord, folder.name)) * 31)
        load = lambda dtype: getattr(tf, architecture).from_pretrained(folder, dtype=dtype, attn_implementation="eager").eval()
        self.model, self.single = load(torch.float64), load(torch.float32)
        self.config, head = self.model.config, self.model.get_output_embeddings()
        self.target_vocabulary = head.weight.shape[0] if head else VOCAB

    def random(self, count, vocabulary=VOCAB):
        return torch.randint(10, vocabulary, (count,), generator=self.generator).tolist()

    def sources(self, lengths, left=False):
        """Returns rows padded at the end; with `left` the last one is padded at the start."""
        longest, rows, masks = max(lengths), [], []
        for row, length in enumerate(lengths):
            ids, gap = self.random(length), [self.config.pad_token_id] * (longest - length)
            first = left and row + 1 == len(lengths)
            rows.append(gap + ids if first else ids + gap)
            masks.append([0] * len(gap) + [1] * length if first else [1] * length + [0] * len(gap))
        return {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(masks)}

    def targets(self, rows, length):
        start = self.config.decoder_start_token_id
        return torch.tensor([[start] + self.random(length - 1, self.target_vocabulary) for _ in range(rows)])

    def encode(self):
        for lengths in ((1,), (7, 12, 3)):
            given = self.sources(lengths, left=True)
            with torch.no_grad():
                states = self.model.get_encoder()(**given).last_hidden_state
            self.cases.add("encode", given, {"last_hidden_state": states * given["attention_mask"].unsqueeze(-1)})

    def classify(self):
        """Each text has the end token three times, also as its last token."""
        for lengths in ((4,), (7, 12, 9)):
            given = self.sources(lengths)
            for row, length in zip(given["input_ids"], lengths):
                row[[1, 2, length - 1]] = self.config.eos_token_id
            with torch.no_grad():
                self.cases.add("encode", given, {"logits": self.model(**given).logits})

    def logits(self):
        for lengths, count in (((2,), 1), ((14, 5, 9), 11)):
            given = {**self.sources(lengths, left=True), "decoder_input_ids": self.targets(len(lengths), count)}
            with torch.no_grad():
                self.cases.add("logits", given, {"logits": self.model(**given).logits})

    def score(self):
        given = {**self.sources((6, 13)), "labels": self.targets(2, 9)[:, 1:].clone()}
        given["labels"][0, 5:] = -100
        labels = given["labels"]
        with torch.no_grad():
            found = torch.log_softmax(self.model(**given).logits, -1)
        wanted = found.gather(2, labels.clamp(min=0)[..., None])[..., 0] * (labels >= 0)
        self.cases.add("score", given, {"logprobs": wanted})

    def new_tokens(self, ids):
        """Returns the ids without the start token; padding follows the end token, where the library repeats the end token if padding is
        id 0."""
        ids, config = ids[:, 1:].clone(), self.config
        ends = (ids == config.eos_token_id).cumsum(1)
        return ids.masked_fill(ends - (ids == config.eos_token_id).long() > 0, config.pad_token_id)

    def is_varied(self, ids):
        """At least six tokens, and no padding before a row's end."""
        tokens = set()
        for row in self.new_tokens(ids).tolist():
            row = row[:row.index(self.config.eos_token_id)] if self.config.eos_token_id in row else row
            tokens.update(row)
        return len(tokens) >= 6 and self.config.pad_token_id not in tokens

    def generate(self):
        """Greedy, with a gap between best and second logit far above rounding."""
        for _ in range(8):
            given = self.sources((8, 15))
            found = self.model.generate(**given, do_sample=False, use_cache=False, num_beams=1, max_new_tokens=12, min_new_tokens=12,
                                        output_scores=True, return_dict_in_generate=True)
            gap = min(float(step.topk(2).values.diff(dim=-1).abs().min()) for step in found.scores)
            if gap > 2e-3 and self.is_varied(found.sequences):
                break
        else:
            raise Unsuitable
        end = self.config.eos_token_id
        self.cases.add("generate", given, {"output_ids": self.new_tokens(found.sequences)}, max_new_tokens=12,
                       sampling=f"greedy, the end token (id {end}) may not be chosen", smallest_top2_gap=gap)

    def generate_beam(self):
        """Four beams; float32 gives the same results, and scores are not near ties."""
        flags = dict(num_beams=4, num_return_sequences=4, max_new_tokens=10, min_new_tokens=2, length_penalty=0.7,
                     early_stopping=False)
        for _ in range(8):
            given = self.sources((8, 15))
            found, single = (model.generate(**given, do_sample=False, use_cache=False, output_scores=True,
                                            return_dict_in_generate=True,
                                            **flags) for model in (self.model, self.single))
            scores = found.sequences_scores.reshape(2, 4)
            close = float(scores.diff(dim=-1).abs().min())
            same = found.sequences.shape == single.sequences.shape and bool((found.sequences == single.sequences).all())
            if same and close > 1e-3 and self.is_varied(found.sequences):
                break
        else:
            raise Unsuitable
        self.cases.add("generate_beam", given, {"output_ids": self.new_tokens(found.sequences), "scores": scores.reshape(-1)}, **flags)

    def write(self, architecture):
        kind, entries = "encoder-decoder", ("generate", "generate_beam", "encode", "logits", "score")
        if architecture.endswith("ForSequenceClassification"):
            kind, entries = "encoder-decoder classifier", ("classify",)
        elif not self.model.can_generate():
            entries = ("encode",)
        for entry in entries:
            getattr(self, entry)()
        (self.folder / "cases.json").write_text(json.dumps(
            {"model_class": architecture, "kind": kind, "oracle": f"transformers {tf.__version__}, float64",
             "atol": 0.0002, "rtol": 0.0002, "cases": self.cases.cases}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=ROOT)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.names or RECIPES:
        for seed in range(100):
            write_folder(arguments.out / name, RECIPES[name], seed)
            try:
                Maker(arguments.out / name, RECIPES[name]["architecture"]).write(RECIPES[name]["architecture"])
            except Unsuitable:
                continue
            break
        else:
            raise SystemExit(f"{name}: no suitable weights")
        files = list((arguments.out / name).iterdir())
        print(name, sum(file.stat().st_size for file in files), "bytes")


if __name__ == "__main__":
    main()
