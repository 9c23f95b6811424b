#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes the model folder examples/tiny-nllb: an NLLB-like translator (M2M-100) with two layers in each half and a BPE, trained for some
# minutes on the sentences below in three languages, in all directions. Needs torch, transformers and tokenizers; run by hand.
import os

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import M2M100Config, M2M100ForConditionalGeneration, PreTrainedTokenizerFast

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "tiny-nllb")
CONTEXT = 64
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
TEXTS = {
    "eng_Latn": [
        "The door is open.",
        "The small house has a red door.",
        "Where is the station?",
        "I would like a cup of coffee.",
        "The children play in the garden.",
        "It is raining today.",
        "The old man reads a book.",
        "The train is late again.",
    ],
    "deu_Latn": [
        "Die Tür ist offen.",
        "Das kleine Haus hat eine rote Tür.",
        "Wo ist der Bahnhof?",
        "Ich hätte gern eine Tasse Kaffee.",
        "Die Kinder spielen im Garten.",
        "Heute regnet es.",
        "Der alte Mann liest ein Buch.",
        "Der Zug hat wieder Verspätung.",
    ],
    "fra_Latn": [
        "La porte est ouverte.",
        "La petite maison a une porte rouge.",
        "Où est la gare ?",
        "Je voudrais une tasse de café.",
        "Les enfants jouent dans le jardin.",
        "Il pleut aujourd'hui.",
        "Le vieil homme lit un livre.",
        "Le train est encore en retard.",
    ],
}


def train_tokenizer():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    texts = [text for group in TEXTS.values() for text in group]
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=300, special_tokens=SPECIAL, show_progress=False))
    tokenizer.add_special_tokens(list(TEXTS))
    ends = [(name, tokenizer.token_to_id(name)) for name in ("eng_Latn", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(single="eng_Latn $A </s>", pair="eng_Latn $A $B </s>", special_tokens=ends)
    return tokenizer


def get_pairs(tokenizer):
    """Returns sources and labels, which both begin with their language token."""
    pairs = []
    for source, texts in TEXTS.items():
        for target, others in TEXTS.items():
            if source == target:
                continue
            for text, other in zip(texts, others):
                ids = [[tokenizer.token_to_id(language), *tokenizer.encode(part, add_special_tokens=False).ids, SPECIAL.index("</s>")]
                       for language, part in ((source, text), (target, other))]
                pairs.append(ids)
    return pairs


def train(model, pairs):
    def padded(rows, value):
        return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)
    sources, labels = padded([pair[0] for pair in pairs], SPECIAL.index("<pad>")), padded([pair[1] for pair in pairs], -100)
    mask = (sources != SPECIAL.index("<pad>")).long()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    steps = 1500
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, steps)
    for _ in range(steps):
        loss = model(input_ids=sources, attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    # The choice between two target languages is undetermined, which contributes about log(2) / 9.
    print(f"loss {loss.item():.4f}")


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    tokenizer = train_tokenizer()
    model = M2M100ForConditionalGeneration(M2M100Config(
        vocab_size=tokenizer.get_vocab_size(), d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=128, decoder_ffn_dim=128, max_position_embeddings=CONTEXT, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0,
        encoder_layerdrop=0.0, decoder_layerdrop=0.0, scale_embedding=True, bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2))
    train(model, get_pairs(tokenizer))
    model.generation_config.max_length = CONTEXT
    model.to(torch.bfloat16).save_pretrained(OUT)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>").save_pretrained(OUT)


if __name__ == "__main__":
    main()
