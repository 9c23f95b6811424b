#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes the model folder examples/tiny-t5: a T5 with one encoder layer and one decoder layer, and a Unigram tokenizer, both trained for a
# minute on the few translations below, which the model then reproduces. Needs torch, transformers and tokenizers; run by hand.
import os

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "tiny-t5")
TASK = "translate English to German: "
TEXTS = [
    ("The house is old.", "Das Haus ist alt."),
    ("The door is open.", "Die Tür ist offen."),
    ("The beam above the door is old.", "Der Balken über der Tür ist alt."),
    ("A small model reads a long book.", "Ein kleines Modell liest ein langes Buch."),
    ("The book is long.", "Das Buch ist lang."),
    ("Good morning.", "Guten Morgen."),
    ("Good night.", "Gute Nacht."),
    ("The small house is beautiful.", "Das kleine Haus ist schön."),
    ("Who opens the door?", "Wer öffnet die Tür?"),
    ("The model opens the book.", "Das Modell öffnet das Buch."),
]


def train_tokenizer():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    lines = [text for pair in TEXTS for text in (TASK + pair[0], pair[1])]
    tokenizer.train_from_iterator(lines, trainers.UnigramTrainer(
        vocab_size=160, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def pad(rows, value):
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)


def train(model, tokenizer):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    ids = pad([tokenizer.encode(TASK + source).ids for source, _ in TEXTS], 0)
    labels = pad([tokenizer.encode(target).ids for _, target in TEXTS], -100)
    for step in range(1500):
        loss = model(input_ids=ids, attention_mask=(ids != 0).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < 0.003:
            break
    print(f"loss {loss.item():.4f} after {step + 1} steps")


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    tokenizer = train_tokenizer()
    model = T5ForConditionalGeneration(T5Config(
        vocab_size=tokenizer.get_vocab_size(), d_model=48, d_kv=12, d_ff=96, num_layers=1, num_decoder_layers=1, num_heads=4,
        relative_attention_num_buckets=16, relative_attention_max_distance=64, dropout_rate=0.0, decoder_start_token_id=0))
    train(model, tokenizer)
    model.to(torch.bfloat16).save_pretrained(OUT)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    fast.save_pretrained(OUT)
    for source, target in TEXTS:
        rows = model.generate(input_ids=torch.tensor([tokenizer.encode(TASK + source).ids]), num_beams=4, num_return_sequences=2,
                              max_new_tokens=40)
        print(target == tokenizer.decode(rows[0].tolist()), [tokenizer.decode(row.tolist()) for row in rows])


if __name__ == "__main__":
    main()
