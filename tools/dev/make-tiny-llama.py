#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes the model folder examples/tiny-llama: a two-layer Llama and a byte-level BPE, both trained for a minute on the few sentences below,
# which the model then reproduces. Needs torch, transformers and tokenizers; run by hand.
import os

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "tiny-llama")
CONTEXT = 256
TEXTS = [
    "A compiler reads a program and writes another one that does the same, only faster.",
    "A transom is the beam above a door: what is on one side rests on it, and so does what is on the other.",
    "The weights of a model never enter the compiler's text; they wait in their files until the last moment.",
    "A cache keeps the keys and values of all the words that were read, so that none has to be read again.",
    "One thread counts the keys, another the values, and at the barrier they wait for each other.",
    "Once upon a time there was a small model that knew seven sentences. It was asked for an eighth and began again.",
    "The sum of many small numbers depends on the order in which they are added, so the order is always the same.",
]


def train_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(TEXTS, trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 0)])
    return tokenizer


def train(model, rows):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=1)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones(len(row), dtype=torch.int64) for row in rows], batch_first=True)
    labels = ids.masked_fill(mask == 0, -100)
    for step in range(600):
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < 0.004:
            break
    print(f"loss {loss.item():.4f} after {step + 1} steps")


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    tokenizer = train_tokenizer()
    # Sentences also start in the middle, so that any word can be the prompt.
    rows = []
    for text in TEXTS:
        words = text.split(" ")
        for first in (0, len(words) // 3, 2 * len(words) // 3):
            rows.append(tokenizer.encode(" ".join(words[first:])).ids + [1])
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=CONTEXT, tie_word_embeddings=True, bos_token_id=0, eos_token_id=1))
    train(model, rows)
    model.to(torch.bfloat16).save_pretrained(OUT)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>").save_pretrained(OUT)


if __name__ == "__main__":
    main()
