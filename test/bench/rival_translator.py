#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The part of the encoder-decoder comparison that needs the rivals' packages: it runs in their environment, one process per
# engine.
# rival_translator.py make MODEL FOLDER: a checkpoint with random weights, sources, and its format for CTranslate2.
# rival_translator.py time JOB: loads an engine, and times a task for each input line; JOB contains the arguments for
# load_engine().
import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy  # noqa: E402

from rival import least_ms, serve  # noqa: E402
from translators import LENGTH, MIXED, SENTENCES, TASKS  # noqa: E402

# Largest difference between a token's log-probability and transom's in float32, and the limit for engines with lower precision.
AGREEMENT, COARSE_AGREEMENT = 1e-3, 0.2
VOCABULARY, END, PAD = 32001, 0, 32000
MARIAN = dict(vocab_size=VOCABULARY, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
              decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_position_embeddings=512, pad_token_id=PAD,
              decoder_start_token_id=PAD, eos_token_id=END, forced_eos_token_id=None)
KINDS = {"ctranslate2": "float32", "ctranslate2-int8": "int8", "ctranslate2-bf16": "bfloat16"}
# Sources that CTranslate2 translates together; the fastest counts. 0: all.
BATCHES = (0, 16, 32)


def sources_of(lengths, seed):
    """Random sources with these token counts, the last token is the end token; returns padded ids and their mask."""
    random = numpy.random.default_rng(seed)
    mask = (numpy.arange(max(lengths))[None] < numpy.array(lengths)[:, None]).astype(numpy.int64)
    ids = random.integers(5, VOCABULARY - 5, mask.shape) * mask + PAD * (1 - mask)
    ids[numpy.arange(len(lengths)), numpy.array(lengths) - 1] = END
    return dict(input_ids=ids, attention_mask=mask)


def save(name, folder):
    """The checkpoint alone, with sources, and targets to agree on."""
    import safetensors.numpy
    import torch
    import transformers
    torch.manual_seed(0)
    transformers.MarianMTModel(transformers.MarianConfig(**MARIAN)).eval().save_pretrained(folder)
    lengths = numpy.clip(numpy.exp(numpy.random.default_rng(3).normal(3.0, 0.6, MIXED)), 4, 100).astype(int)
    even = sources_of([LENGTH] * SENTENCES, 11)
    labels = dict(labels=sources_of([12] * SENTENCES, 5)["input_ids"])
    for file, tensors in {"sources": even, "mixed": sources_of(list(lengths), 7), "inputs": {**even, **labels}}.items():
        safetensors.numpy.save_file(tensors, os.path.join(folder, file))


def make(name, folder):
    from ctranslate2.converters.transformers import TransformersConverter
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    save(name, folder)
    # Its converter requires a vocabulary, so each id gets a word.
    words = {{END: "</s>", PAD: "<pad>"}.get(i, f"t{i}"): i for i in range(VOCABULARY)}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="t3")), eos_token="</s>",
                                        pad_token="<pad>", unk_token="t3")
    converter = TransformersConverter(folder)
    converter.load_tokenizer = lambda *arguments, **options: tokenizer
    converter.convert(os.path.join(folder, "ct2"))


class CTranslate2:
    def __init__(self, folder, threads, kind):
        import ctranslate2
        self.folder = folder
        self.translator = ctranslate2.Translator(os.path.join(folder, "ct2"), device="cpu", intra_threads=threads, inter_threads=1,
                                                 compute_type=kind)
        with open(os.path.join(folder, "ct2", "shared_vocabulary.json"), encoding="utf-8") as file:
            self.words = json.load(file)

    def load(self, file):
        from safetensors.numpy import load_file
        return load_file(os.path.join(self.folder, file))

    def sentences(self, ids, mask):
        return [[self.words[i] for i, real in zip(row, kept) if real] for row, kept in zip(ids.tolist(), mask.tolist())]

    def score(self, inputs):
        """Returns the log-probability for each target token."""
        targets = inputs["labels"]
        # It scores the end token by itself.
        assert (targets[:, -1] == END).all()
        sources = self.sentences(inputs["input_ids"], inputs["attention_mask"])
        results = self.translator.score_batch(sources, self.sentences(targets[:, :-1], numpy.ones_like(targets)))
        return numpy.array([result.log_probs for result in results])

    def time(self, task, runs):
        file, tokens, beams = TASKS[task]
        sources = self.load(file)
        sentences = self.sentences(sources["input_ids"], sources["attention_mask"])

        def translate(batch):
            results = self.translator.translate_batch(sentences, beam_size=beams, max_decoding_length=tokens,
                                                      min_decoding_length=tokens, max_batch_size=batch)
            if any(len(result.hypotheses[0]) != tokens for result in results):
                sys.exit("it generates another number of tokens")
        return min(least_ms(lambda: translate(batch), runs) for batch in (BATCHES if file == "mixed" else (0,)))


def load_engine(engine, folder, threads):
    """Returns the engine's load time in milliseconds, and a function that takes a task and a run count."""
    start = time.perf_counter()
    model = CTranslate2(folder, threads, KINDS[engine])
    loaded = 1e3 * (time.perf_counter() - start)
    # An engine with different results is not a valid rival.
    difference = numpy.abs(model.score(model.load("inputs")) - model.load("results")["logprobs"]).max()
    if not difference <= (AGREEMENT if engine == "ctranslate2" else COARSE_AGREEMENT):
        sys.exit(f"its log-probabilities differ from transom's by {difference:.6f}")
    return loaded, model.time


def main():
    if sys.argv[1] in ("make", "save"):
        {"make": make, "save": save}[sys.argv[1]](*sys.argv[2:])
    else:
        serve(load_engine)


if __name__ == "__main__":
    main()
