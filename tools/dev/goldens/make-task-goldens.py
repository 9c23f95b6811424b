#!/usr/bin/env python3
"""Writes test/goldens/tasks: tiny models with tokenizers, texts, and results from transformers pipelines and sentence-transformers
cross-encoders. Needs torch, transformers, sentence-transformers, tokenizers and safetensors; question answering needs transformers below
version 5, which runs with the interpreter in --old-python. The tests that read the folders need none of them."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import tokenizers
import torch
import transformers as tf

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens" / "tasks"

TEXTS = [
    "Ada Lovelace lives in New York, near Central Park.",
    "She was unbelievably happy in Zürich (Switzerland)!",
    "The rivers of South America: Amazon, Orinoco and Paraná.",
    "nothing here",
    "São Paulo ☃ beats Rio",
]
WORDS = ("ada love lace lives in new york near central park she was un believ ably happy zurich switzerland the river s of "
         "south america amazon orinoco and parana nothing here sao paulo beats rio this example is . , ( ) ! : ? politics sport "
         "where does live who").split()


def word_piece():
    """With and without token types."""
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS + ["##" + w for w in ("lace", "believ", "ably", "s", "land", "ber")]
    settings = {"vocab": {w: i for i, w in enumerate(vocabulary)}, "model_max_length": 64}
    return tf.BertTokenizer(**settings), tf.BertTokenizer(**settings, model_input_names=["input_ids", "attention_mask"])


def byte_level():
    from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors, trainers
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", sep_token="</s>", pad_token="<pad>", cls_token="<s>",
                                      bos_token="<s>", eos_token="</s>", mask_token=AddedToken("<mask>", lstrip=True), model_max_length=64)


def unigram(kind, special):
    """Returns a tokenizer class that has pieces with scores: whole words cost less than their letters."""
    letters = sorted(set("".join(TEXTS) + "abcdefghijklmnopqrstuvwxyz") - {" "})
    pieces = [(piece, 0.0) for piece in special]
    pieces += [("▁" + word, -3.0 - 0.01 * i) for i, word in enumerate(WORDS) if word.isalpha()]
    pieces += [("▁", -4.0)] + [(word, -4.0 - 0.01 * i) for i, word in enumerate(("ably", "s", "land", "ber", "lace", "believ", "ra"))]
    pieces += [(letter, -6.0 - 0.01 * i) for i, letter in enumerate(letters)]
    return kind(vocab=pieces, model_max_length=64)


def randomize(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if not tensor.is_floating_point():
                continue
            noise = torch.randn(tensor.shape, generator=generator)
            if tensor.dim() == 2:
                tensor.copy_(noise * (0.7 if "embeddings" in name else 1.6 * tensor.shape[1] ** -0.5))
            else:
                norm = "norm" in name.lower() and name.endswith("weight")
                tensor.copy_(1 + 0.15 * noise if norm else 0.1 * noise)
    model.tie_weights()
    return model.eval()


def bert(tokenizer, **more):
    return tf.BertConfig(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
                         max_position_embeddings=64, **more)


def roberta(tokenizer, **more):
    return tf.RobertaConfig(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
                            max_position_embeddings=66, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2, **more)


def small(kind, tokenizer, **more):
    """Returns a config for a class that uses BERT's names for sizes."""
    return kind(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
                max_position_embeddings=66, pad_token_id=tokenizer.pad_token_id, **more)


def distilbert(tokenizer, **more):
    return tf.DistilBertConfig(vocab_size=len(tokenizer), dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=64, **more)


def labels(*names):
    return {"id2label": dict(enumerate(names)), "label2id": {n: i for i, n in enumerate(names)}}


TAGS = labels("O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC")


def save(name, model, tokenizer, seed):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    randomize(model, seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.item() if hasattr(value, "item") else value


def write(folder, **expected):
    (folder / "expected.json").write_text(json.dumps(plain(expected), indent=1, ensure_ascii=False) + "\n")
    for extra in ("generation_config.json", "README.md"):
        (folder / extra).unlink(missing_ok=True)


def tags(name, model, tokenizer, seed):
    folder = save(name, model, tokenizer, seed)
    found = {}
    for strategy in ("none", "simple", "first", "average", "max"):
        pipe = tf.pipeline("token-classification", model=str(folder), tokenizer=tokenizer, aggregation_strategy=strategy)
        found[strategy] = [pipe(text) for text in TEXTS]
    write(folder, texts=TEXTS, entities=found)


def masks(name, model, tokenizer, seed, texts, candidates):
    folder = save(name, model, tokenizer, seed)
    pipe = tf.pipeline("fill-mask", model=str(folder), tokenizer=tokenizer)
    several = [found if isinstance(found[0], list) else [found] for found in (pipe(text, top_k=4) for text in texts)]
    write(folder, texts=texts, masks=several, candidates=candidates, chosen=pipe(texts[0], targets=candidates, top_k=3))


def zero_shot(name, model, tokenizer, seed):
    folder = save(name, model, tokenizer, seed)
    pipe = tf.pipeline("zero-shot-classification", model=str(folder), tokenizer=tokenizer)
    names = ["politics", "sport", "rivers"]
    write(folder, texts=TEXTS, labels=names, hypothesis="this is {}.",
          exclusive=[pipe(t, names) for t in TEXTS], independent=[pipe(t, names, multi_label=True) for t in TEXTS],
          phrased=[pipe(t, names, hypothesis_template="this is {}.") for t in TEXTS], single=[pipe(t, names[:1]) for t in TEXTS])


def classes(name, model, tokenizer, seed, texts=TEXTS, **config):
    """Text classification, with additional config keys."""
    folder = save(name, model, tokenizer, seed)
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **config}, indent=1) + "\n")
    pipe = tf.pipeline("text-classification", model=str(folder), tokenizer=tokenizer, top_k=None)
    found = [pipe([text])[0] for text in texts]
    write(folder, texts=texts, scores=[{str(each["label"]): each["score"] for each in scores} for scores in found])


def text_classes():
    """Decoders, whose texts end with the padding id, and labels that are not strings."""
    pieces, ends = word_piece()[1], {"eos_token_id": 3, "bos_token_id": 2}
    llama = dict(num_key_value_heads=1, head_dim=8, **ends)
    gpt2 = tf.GPT2Config(vocab_size=len(pieces), n_embd=16, n_layer=2, n_head=2, n_positions=66, pad_token_id=3, num_labels=3, **ends)
    classes("gpt2-classes", tf.GPT2ForSequenceClassification(gpt2), pieces, 31)
    config = small(tf.LlamaConfig, pieces, num_labels=3, **llama)
    # All tokens in the last two texts are the padding id.
    classes("llama-classes", tf.LlamaForSequenceClassification(config), pieces, 32, TEXTS[:3] + ["[CLS]", ""], pad_token_id=2,
            id2label={"0": 1, "2": False, "1": 0.5})
    classes("llama-unpadded-classes", tf.LlamaForSequenceClassification(config), pieces, 33, TEXTS[:3], pad_token_id=None,
            id2label={"0": None, "1": 12345678901234567890, "2": 1e-7})


def rerank(name, model, tokenizer, seed, activation, **lengths):
    from sentence_transformers import CrossEncoder
    folder = save(name, model, tokenizer, seed)
    if lengths:  # which is only read with modules.json
        (folder / "sentence_bert_config.json").write_text(json.dumps(lengths) + "\n")
    encoder = CrossEncoder(str(folder))
    if activation:
        config = json.loads((folder / "config.json").read_text())
        config["sentence_transformers"] = {"activation_fn": activation, "version": "5.0.0"}
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        encoder = CrossEncoder(str(folder))
    query = "where does ada live?"
    write(folder, query=query, documents=TEXTS, ranked=encoder.rank(query, TEXTS), best=encoder.rank(query, TEXTS, top_k=2))


RERANKER_TEMPLATE = """{#- of a pair, with an instruction or without -#}
{%- set instruction = messages | selectattr("role", "eq", "system") | map(attribute="content") | first | default("find what answers", true) -%}
<|im_start|>system
Judge "yes" or "no".<|im_end|>
<|im_start|>user
<Instruct>: {{ instruction }}
<Query>: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
{% for message in messages %}
    {%- if message.role == "document" -%}
<Document>: {{ message["content"] }}<|im_end|>
    {% endif %}
{%- endfor %}

{%- if add_generation_prompt %}
<|im_start|>assistant
<think>

</think>

{% endif %}
"""


def chat_tokenizer(template=None, length=200):
    """Bytes, with words for answers and tokens for messages."""
    from tokenizers import AddedToken, decoders, models, pre_tokenizers, trainers
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(["yes"] * 30 + ["no"] * 30 + TEXTS * 3, trainer)
    tokenizer.add_tokens([AddedToken("<think>"), AddedToken("</think>")])
    return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|im_end|>", model_max_length=length,
                                      chat_template=template)


def qwen(tokenizer, **more):
    return tf.Qwen3Config(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
                          head_dim=8, intermediate_size=24, max_position_embeddings=256, **more)


def rerank_pipeline(name, model, tokenizer, seed, score=None, prompts=None, default=None, activation=None, **arguments):
    """A sentence-transformers cross-encoder with modules.json. `score` makes its last module from the tokenizer."""
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Transformer
    with tempfile.TemporaryDirectory() as bare:
        randomize(model, seed).save_pretrained(bare)
        tokenizer.save_pretrained(bare)
        modules = [Transformer(bare, transformer_task="text-generation" if score else "sequence-classification", **arguments)]
        modules += [score(tokenizer)] if score else []
        encoder = CrossEncoder(modules=modules, prompts=prompts, default_prompt_name=default, activation_fn=activation)
        folder = ROOT / name
        shutil.rmtree(folder, ignore_errors=True)
        encoder.save_pretrained(str(folder), create_model_card=False)
    for file in folder.rglob("*.json"):
        data = json.loads(file.read_text())
        if file.name == "config_sentence_transformers.json":
            data.pop("__version__", None)
        file.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    encoder = CrossEncoder(str(folder), device="cpu").double()
    query, documents = "where does ada live?", TEXTS + [" ".join(TEXTS * 2)]
    asked = [(["--prompt", "which names a city"], {"prompt": "which names a city"})]
    asked += [(["--prompt-name", each], {"prompt_name": each}) for each in prompts or {}]
    write(folder, query=query, documents=documents, ranked=encoder.rank(query, documents), best=encoder.rank(query, documents, top_k=2),
          prompted=[{"flags": flags, "ranked": encoder.rank(query, documents, **given)} for flags, given in asked])


def rerank_pipelines():
    from sentence_transformers.cross_encoder.modules import LogitScore
    yes_or_no = lambda t: LogitScore(t.convert_tokens_to_ids("yes"), t.convert_tokens_to_ids("no"))
    yes = lambda t: LogitScore(t.convert_tokens_to_ids("yes"))
    plain, chat = chat_tokenizer(), chat_tokenizer(RERANKER_TEMPLATE)
    with_reply = {"processing_kwargs": {"chat_template": {"add_generation_prompt": True}}}
    rerank_pipeline("qwen3-chat-rerank", tf.Qwen3ForCausalLM(qwen(chat, tie_word_embeddings=True)), chat, 11, yes_or_no,
                    {"web": "given a search", "none": ""}, **with_reply)
    rerank_pipeline("qwen3-text-rerank", tf.Qwen3ForCausalLM(qwen(plain)), plain, 12, yes, {"web": "given: "}, "web", torch.nn.Identity())
    rerank_pipeline("qwen3-labels-rerank", tf.Qwen3ForSequenceClassification(qwen(chat, num_labels=1, pad_token_id=0)), chat, 13, **with_reply)
    pieces = word_piece()[0]
    rerank_pipeline("bert-modules-rerank", tf.BertForSequenceClassification(bert(pieces, num_labels=1)), pieces, 14, None,
                    {"query": "where is ", "plain": ""}, "query", torch.nn.Identity())


QUESTIONS = [("where does ada live?", TEXTS[0]), ("who was happy", TEXTS[1]), ("the south", " ".join(TEXTS)), ("?", "rio")]
ANSWERS = """
import json, sys, transformers
folder, questions = sys.argv[1], json.loads(sys.argv[2])
kind = transformers.BertTokenizerFast if "bert-" in folder and "roberta" not in folder else transformers.PreTrainedTokenizerFast
tokenizer = kind.from_pretrained(folder)
pipe = transformers.pipeline("question-answering", model=folder, tokenizer=tokenizer)
found = {}
for name, options in json.loads(sys.argv[3]).items():
    answers = [pipe(question=q, context=c, **options) for q, c in questions]
    found[name] = [a if isinstance(a, list) else [a] for a in answers]
print(json.dumps(found))
"""
OPTIONS = {"best": {}, "cut": {"align_to_words": False, "top_k": 2}, "three": {"top_k": 3}, "short": {"max_answer_len": 2, "top_k": 2}, "impossible": {"handle_impossible_answer": True, "top_k": 2},
           "windows": {"max_seq_len": 40, "doc_stride": 6, "top_k": 3}}


def answers(name, model, tokenizer, seed, python):
    folder = save(name, model, tokenizer, seed)
    output = subprocess.run([python, "-c", ANSWERS, str(folder), json.dumps(QUESTIONS), json.dumps(OPTIONS)], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    write(folder, questions=QUESTIONS, options=OPTIONS, answers=json.loads(output))


def families(pieces, untyped, bytes_, old_python):
    """The same tasks for other families and their tokenizers."""
    relation, one = labels("contradiction", "neutral", "entailment"), {"num_labels": 1}
    roberta_like = ["<s>", "<pad>", "</s>", "<unk>"]
    albert = unigram(tf.AlbertTokenizer, ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"])
    xlm, camembert = unigram(tf.XLMRobertaTokenizer, roberta_like), unigram(tf.CamembertTokenizer, roberta_like)
    deberta = unigram(tf.DebertaV2Tokenizer, ["[PAD]", "[CLS]", "[SEP]", "[UNK]"])
    disentangled = dict(relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"], share_att_key=True,
                        norm_rel_ebd="layer_norm", position_biased_input=False, type_vocab_size=0)
    typeless = {"type_vocab_size": 1}
    texts = ["Ada lives in {} York.", "{} of South {}"]
    masked = [text.replace("{}", "[MASK]") for text in texts], [text.replace("{}", "<mask>") for text in texts]
    tags("distilbert-tags", tf.DistilBertForTokenClassification(distilbert(untyped, **TAGS)), untyped, 11)
    masks("distilbert-masks", tf.DistilBertForMaskedLM(distilbert(untyped)), untyped, 12, masked[0], ["park", "amazon"])
    tags("electra-tags", tf.ElectraForTokenClassification(small(tf.ElectraConfig, pieces, embedding_size=12, **TAGS)), pieces, 13)
    tags("albert-tags", tf.AlbertForTokenClassification(small(tf.AlbertConfig, albert, embedding_size=12, **TAGS)), albert, 14)
    zero_shot("albert-entailment", tf.AlbertForSequenceClassification(small(tf.AlbertConfig, albert, embedding_size=12, **relation)), albert, 15)
    tags("xlm-roberta-tags", tf.XLMRobertaForTokenClassification(small(tf.XLMRobertaConfig, xlm, **typeless, **TAGS)), xlm, 16)
    rerank("xlm-roberta-rerank", tf.XLMRobertaForSequenceClassification(small(tf.XLMRobertaConfig, xlm, **typeless, **one)), xlm, 17, None)
    masks("camembert-masks", tf.CamembertForMaskedLM(small(tf.CamembertConfig, camembert, **typeless)), camembert, 18, masked[1], ["▁in", "▁park"])
    tags("deberta-v2-tags", tf.DebertaV2ForTokenClassification(small(tf.DebertaV2Config, deberta, **disentangled, **TAGS)), deberta, 19)
    zero_shot("deberta-v2-entailment",
              tf.DebertaV2ForSequenceClassification(small(tf.DebertaV2Config, deberta, **disentangled, **relation)), deberta, 20)
    modern = dict(local_attention=8, global_attn_every_n_layers=2, bos_token_id=0, eos_token_id=2, cls_token_id=0, sep_token_id=2)
    masks("modernbert-masks", tf.ModernBertForMaskedLM(small(tf.ModernBertConfig, bytes_, **modern)), bytes_, 21, masked[1], ["Ġin", "A"])
    rerank("modernbert-rerank", tf.ModernBertForSequenceClassification(small(tf.ModernBertConfig, bytes_, **modern, **one)), bytes_, 22, None)
    if old_python:
        answers("distilbert-answers", tf.DistilBertForQuestionAnswering(distilbert(untyped)), untyped, 23, old_python)


def more_classes(pieces):
    text_classes()
    rerank("bert-lengths-rerank", tf.BertForSequenceClassification(bert(pieces, num_labels=1)), pieces, 34,
           "torch.nn.modules.activation.Mish", max_seq_length=6, do_lower_case=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", action="store_true", help="only the folders of families besides BERT and RoBERTa")
    parser.add_argument("--classes", action="store_true", help="only the folders of decoders with classes and of lengths")
    parser.add_argument("--old-python", help="an interpreter with transformers 4; without it, no question answering")
    flags = parser.parse_args()
    ROOT.mkdir(parents=True, exist_ok=True)
    (pieces, untyped), bytes_ = word_piece(), byte_level()
    if flags.classes:
        more_classes(pieces)
        return
    if flags.families:
        families(pieces, untyped, bytes_, flags.old_python)
        return
    tags("bert-tags", tf.BertForTokenClassification(bert(pieces, **TAGS)), pieces, 1)
    tags("roberta-tags", tf.RobertaForTokenClassification(roberta(bytes_, **TAGS)), bytes_, 2)
    masks("bert-masks", tf.BertForMaskedLM(bert(pieces)), pieces, 3,
          ["ada lives in [MASK] york.", "the [MASK] of south [MASK]", "☃ [MASK]"], ["park", "amazon", "##s"])
    masks("roberta-masks", tf.RobertaForMaskedLM(roberta(bytes_)), bytes_, 4,
          ["Ada lives in <mask> York.", "<mask> of South <mask>"], ["Ġin", "A", "Ġ"])
    zero_shot("bert-entailment", tf.BertForSequenceClassification(bert(pieces, **labels("contradiction", "neutral", "entailment"))), pieces, 5)
    zero_shot("roberta-entailment", tf.RobertaForSequenceClassification(roberta(bytes_, **labels("ENTAILMENT", "other"))), bytes_, 6)
    one = {"num_labels": 1}
    rerank("bert-rerank", tf.BertForSequenceClassification(bert(pieces, **one)), untyped, 7, None)
    rerank("roberta-rerank", tf.RobertaForSequenceClassification(roberta(bytes_, **one)), bytes_, 8, "torch.nn.modules.linear.Identity")
    families(pieces, untyped, bytes_, flags.old_python)
    more_classes(pieces)
    rerank_pipelines()
    if flags.old_python:
        answers("bert-answers", tf.BertForQuestionAnswering(bert(pieces)), pieces, 9, flags.old_python)
        answers("roberta-answers", tf.RobertaForQuestionAnswering(roberta(bytes_)), bytes_, 10, flags.old_python)


if __name__ == "__main__":
    main()
