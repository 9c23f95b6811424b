#!/usr/bin/env python3
"""Writes test/goldens/heads: one tiny checkpoint for each head and spelling that the other golden folders lack, with results computed in
float64. Needs torch, transformers and safetensors; the tests that read the folders do not.

usage: make-head-goldens.py [NAME ...]"""
import json
import pathlib
import shutil
import sys

import torch
import transformers as tf
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens" / "heads"
VOCAB, LENGTHS = 37, (1, 5, 11)
SPAN = ("start_logits", "end_logits")  # in ForQuestionAnswering


def randomize(model, generator):
    """Weights N(0, 1/fan-in), norms around one, biases small."""
    for name, tensor in model.state_dict().items():
        if not tensor.is_floating_point():
            continue
        noise = torch.randn(tensor.shape, generator=generator)
        if tensor.dim() == 2:
            scale = 0.7 if "embeddings" in name else tensor.shape[1] ** -0.5
            tensor.copy_(noise * scale)
        else:
            norm = "norm" in name.lower() and name.endswith("weight")
            tensor.copy_(1 + 0.15 * noise if norm else 0.1 * noise)


def inputs(case, length, types, pad, generator):
    batch = case + 1
    ids = torch.randint(3, VOCAB, (batch, length), generator=generator)
    mask = torch.ones(batch, length, dtype=torch.long)
    for row in range(batch):
        if row and length > 1:
            mask[row, length - 1 - row:] = 0
            ids[row, length - 1 - row:] = pad
    if batch > 2:
        mask[2, 1] = 0  # a hole
        ids[0, 2] = pad  # a padding id that the mask does not hide
    given = {"input_ids": ids, "attention_mask": mask}
    if types > 1 and case:
        given["token_type_ids"] = torch.randint(0, types, (batch, length), generator=generator)
    return given


def results(model, given, wanted):
    with torch.no_grad():
        output = model(**given)
    mask = given["attention_mask"]
    found = {}
    for name in wanted:
        value = output[name]
        if value.dim() == 3:
            value = value * mask.unsqueeze(-1)
        elif name in SPAN:
            value = value * mask
        found[name] = value.float().contiguous()
    return found


def make(name, architecture, config, wanted=("logits",), dtype=torch.float32, rename=None, shards=1, extra=None,
         keys=None):
    """Writes one folder, unless other names are given. `rename` maps tensor names, `extra` adds unused tensors, `keys` changes
    config.json."""
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    generator = torch.Generator().manual_seed(len(name) * 1009 + sum(map(ord, name)))
    config._attn_implementation = "eager"
    model = getattr(tf, architecture)(config).eval()
    with torch.no_grad():
        randomize(model, generator)
    model = model.to(dtype).double()
    model.tie_weights()
    tied, tensors, seen = model.state_dict(), {}, {}
    for key, tensor in tied.items():
        if tensor.data_ptr() in seen or key.endswith("position_ids"):
            continue
        seen[tensor.data_ptr()] = key
        tensors[(rename or (lambda k: k))(key)] = tensor.to(dtype).contiguous()
    tensors.update(extra or {})
    names = sorted(tensors)
    if shards == 1:
        save_file(tensors, folder / "model.safetensors")
    else:
        index = {"metadata": {}, "weight_map": {}}
        for shard in range(shards):
            file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
            part = {n: tensors[n] for n in names[shard::shards]}
            save_file(part, folder / file)
            index["weight_map"].update({n: file for n in part})
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
    described = {k: v for k, v in config.to_dict().items() if not k.startswith("_")}
    described["architectures"] = [architecture]
    described.update(keys or {})
    described = {k: v for k, v in described.items() if v != "absent"}
    (folder / "config.json").write_text(json.dumps(described, indent=1, sort_keys=True) + "\n")
    types = getattr(config, "type_vocab_size", 0)
    cases = []
    for case, length in enumerate(LENGTHS):
        given = inputs(case, length, types, config.pad_token_id, generator)
        save_file(given, folder / f"encode.{case}.in.safetensors")
        save_file(results(model, given, wanted), folder / f"encode.{case}.out.safetensors")
        cases.append({"entry": "encode", "input": f"encode.{case}.in.safetensors",
                      "expect": f"encode.{case}.out.safetensors"})
    (folder / "cases.json").write_text(json.dumps(
        {"model_class": architecture, "kind": "encoder", "oracle": f"transformers {tf.__version__}, float64",
         "atol": 0.0002, "rtol": 0.0002, "cases": cases}, indent=1) + "\n")


def sizes(**more):
    return dict(vocab_size=VOCAB, hidden_size=30, num_hidden_layers=2, num_attention_heads=3, intermediate_size=44,
                max_position_embeddings=16, **more)


def longer(**more):
    """RoBERTa positions start after the padding id."""
    return {**sizes(**more), "max_position_embeddings": 18}


def albert(**more):
    return {**sizes(embedding_size=14, **more), "num_hidden_layers": 5}


def relative(**more):
    """Disentangled attention in both DeBERTa versions; version 1 ignores unknown keys."""
    return {**sizes(relative_attention=True, pos_att_type=["c2p", "p2c"], position_biased_input=False, position_buckets=4,
                    norm_rel_ebd="layer_norm", share_att_key=True), **more}


MODERN = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)


def distil(**more):
    return tf.DistilBertConfig(vocab_size=VOCAB, dim=24, n_layers=2, n_heads=2, hidden_dim=40,
                               max_position_embeddings=16, **more)


def old_names(key):
    return key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")


def main():
    make("bert-next-sentence", "BertForNextSentencePrediction",
         tf.BertConfig(**sizes(hidden_act="relu", type_vocab_size=1)))
    make("bert-pretraining", "BertForPreTraining",
         tf.BertConfig(**sizes(hidden_act="gelu_new", tie_word_embeddings=False)),
         ("prediction_logits", "seq_relationship_logits"))
    make("bert-old-names", "BertModel", tf.BertConfig(**sizes(hidden_act="silu")),
         ("last_hidden_state", "pooler_output"), rename=lambda k: "bert." + old_names(k),
         extra={"bert.embeddings.position_ids": torch.arange(16).unsqueeze(0),
                "cls.seq_relationship.weight": torch.zeros(2, 30)},
         keys={"hidden_act": "swish", "torch_dtype": "float32", "dtype": "absent", "gradient_checkpointing": False,
               "position_embedding_type": "absolute", "_name_or_path": "old", "model_max_width": 3})
    make("roberta-mlm", "RobertaForMaskedLM",
         tf.RobertaConfig(**longer(hidden_act="gelu_fast")), dtype=torch.bfloat16)
    make("roberta-classify", "RobertaForSequenceClassification",
         tf.RobertaConfig(**longer(num_labels=3, problem_type="multi_label_classification")))
    make("xlm-roberta-tokens", "XLMRobertaForTokenClassification",
         tf.XLMRobertaConfig(**longer(id2label={0: "O", 1: "B", 2: "I"})),
         dtype=torch.float16, shards=3)
    make("distilbert-mlm", "DistilBertForMaskedLM", distil())
    make("distilbert-classify", "DistilBertForSequenceClassification", distil(num_labels=2, activation="relu"))
    make("distilbert-tokens", "DistilBertForTokenClassification", distil(num_labels=4))
    make("bert-questions", "BertForQuestionAnswering", tf.BertConfig(**sizes()), SPAN)
    make("distilbert-questions", "DistilBertForQuestionAnswering", distil(), SPAN)
    make("electra-questions", "ElectraForQuestionAnswering", tf.ElectraConfig(**sizes(embedding_size=14)), SPAN)
    make("modernbert-questions", "ModernBertForQuestionAnswering",
         tf.ModernBertConfig(**sizes(classifier_bias=True, **MODERN)), SPAN)
    make("mpnet-questions", "MPNetForQuestionAnswering", tf.MPNetConfig(**longer()), SPAN)
    make("roberta-questions", "RobertaForQuestionAnswering", tf.RobertaConfig(**longer()), SPAN)
    make("xlm-roberta-questions", "XLMRobertaForQuestionAnswering", tf.XLMRobertaConfig(**longer(type_vocab_size=1)), SPAN)
    make("camembert-classify", "CamembertForSequenceClassification", tf.CamembertConfig(**longer(num_labels=4)))
    make("camembert-mlm", "CamembertForMaskedLM", tf.CamembertConfig(**longer()))
    make("xlm-roberta-xl-classify", "XLMRobertaXLForSequenceClassification", tf.XLMRobertaXLConfig(**longer()))
    make("xlm-roberta-xl-mlm", "XLMRobertaXLForMaskedLM", tf.XLMRobertaXLConfig(**longer(type_vocab_size=2)))
    make("xlm-roberta-xl-questions", "XLMRobertaXLForQuestionAnswering", tf.XLMRobertaXLConfig(**longer()), SPAN)
    make("xlm-roberta-xl-tokens", "XLMRobertaXLForTokenClassification", tf.XLMRobertaXLConfig(**longer(num_labels=3)))
    make("albert-classify", "AlbertForSequenceClassification",
         tf.AlbertConfig(**sizes(embedding_size=30, num_labels=3, inner_group_num=2)))
    make("albert-mlm", "AlbertForMaskedLM", tf.AlbertConfig(**albert(num_hidden_groups=2)))
    make("albert-pretraining", "AlbertForPreTraining", tf.AlbertConfig(**albert()), ("prediction_logits", "sop_logits"))
    make("albert-questions", "AlbertForQuestionAnswering", tf.AlbertConfig(**albert(hidden_act="gelu")), SPAN)
    make("albert-tokens", "AlbertForTokenClassification", tf.AlbertConfig(**albert(num_hidden_groups=3, num_labels=5)))
    for kind, name in (("Deberta", "deberta"), ("DebertaV2", "deberta-v2")):
        config = getattr(tf, kind + "Config")
        make(name + "-mlm", kind + "ForMaskedLM", config(**relative(embedding_size=14)))
        make(name + "-own-mlm", kind + "ForMaskedLM", config(**relative(legacy=False, hidden_act="relu")))
        make(name + "-classify", kind + "ForSequenceClassification",
             config(**relative(num_labels=3, pooler_hidden_act="tanh", type_vocab_size=2)))
        make(name + "-tokens", kind + "ForTokenClassification", config(**relative(num_labels=4, position_biased_input=True)))
        make(name + "-questions", kind + "ForQuestionAnswering", config(**relative(pos_att_type=["c2p"])), SPAN)


if __name__ == "__main__":
    main()
