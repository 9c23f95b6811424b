#!/usr/bin/env python3
"""Writes encoders into test/goldens whose classes are not in transformers but next to published checkpoints: JinaBERT, Nomic BERT, GTE
(`new`) and XLM-RoBERTa with FlashAttention and adapters. Config keys and tensor names match the checkpoints; the functions below compute
results in float64 from the papers and model cards. Needs torch and safetensors; the tests that read the folders do not.

usage: make-remote-goldens.py [NAME ...]"""
import json
import math
import pathlib
import shutil
import sys

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens"
VOCAB, LENGTHS = 37, (1, 5, 11)
ACTIVATIONS = {"gelu": F.gelu, "gelu_new": lambda x: F.gelu(x, approximate="tanh"), "relu": F.relu, "silu": F.silu,
               "sigmoid": torch.sigmoid, "tanh": torch.tanh}
RECIPES = {}


class Encoder:
    """An encoder with norms after attention and MLP. `names` maps modules to names; a missing name means that the encoder lacks the
    module."""

    def __init__(self, names, width=24, heads=3, layers=2, wide=40, act="gelu", eps=1e-5, types=2, positions=0, rope=None,
                 interleaved=False, alibi=False, rms=False, biases=("qkv", "output", "up", "down"), up_first=False,
                 tasks=(), rank=0, alpha=1, pooler=False, seed=0, head=()):
        self.__dict__.update({k: v for k, v in locals().items() if k != "self"})
        self.random = torch.Generator().manual_seed(seed)
        self.tensors = {}
        self.add("word", (VOCAB, width), 0.7)
        if types:
            self.add("types", (types, width), 0.7)
        if positions:
            self.add("positions", (positions, width), 0.7)
        self.add_norm("embedding_norm", False)
        for layer in range(layers):
            self.layer = layer
            stacked = [("qkv", 3 * width)] if "qkv" in names else [("query", width), ("key", width), ("value", width)]
            for part, rows in stacked:
                self.add(part, (rows, width), bias="qkv" in biases)
            for part in ("query_norm", "key_norm"):
                if part in names:
                    self.add_norm(part, False)
            self.add("output", (width, width), bias="output" in biases)
            self.add_norm("attention_norm", rms)
            if "second_norm" in names:
                self.add_norm("second_norm", rms)
            self.add("up", (wide * (2 if self.is_stacked() else 1), width), bias="up" in biases)
            if "gate" in names:
                self.add("gate", (wide, width), bias="up" in biases)
            self.add("down", (width, wide), bias="down" in biases)
            self.add_norm("mlp_norm", rms)
        if pooler:
            self.add("pooler", (width, width), bias=True)
        for step in head:
            step.add(self)

    def is_stacked(self):
        return "gate" not in self.names and "glu" in self.names

    def path(self, part):
        return self.names.get(part, part).replace("{i}", str(getattr(self, "layer", 0)))

    def store(self, path, kind, values):
        """Stores a tensor, with low-rank adapters for a weight if the encoder has tasks."""
        tensor = f"{path}.{kind}"
        adapted = self.tasks and kind == "weight" and values.dim() == 2
        self.tensors[f"{path}.parametrizations.{kind}.original" if adapted else tensor] = values
        if adapted:
            (rows, columns), count = values.shape, len(self.tasks)
            shapes = [(count, self.rank, columns), (count, rows, self.rank)]  # in a table A belongs to the rows
            for name, shape in zip("AB", shapes[::-1] if path == self.path("word") or path == self.path("types") else shapes):
                self.tensors[f"{path}.parametrizations.{kind}.0.lora_{name}"] = torch.randn(shape, generator=self.random) * 0.3

    def add(self, part, shape, scale=None, bias=False):
        path = self.path(part)
        self.store(path, "weight", torch.randn(shape, generator=self.random) * (scale or shape[-1] ** -0.5))
        if bias:
            self.store(path, "bias", torch.randn(shape[0], generator=self.random) * 0.1)

    def add_norm(self, part, rms, width=None):
        path = self.path(part)
        self.tensors[path + ".weight"] = 1 + 0.15 * torch.randn(width or self.width, generator=self.random)
        if not rms:
            self.tensors[path + ".bias"] = 0.1 * torch.randn(width or self.width, generator=self.random)

    def get(self, part, kind="weight"):
        """Returns a weight or bias as adapted to `self.task`."""
        path = self.path(part)
        original = self.tensors.get(f"{path}.parametrizations.{kind}.original")
        if original is None:
            found = self.tensors.get(f"{path}.{kind}")
            return None if found is None else found.double()
        if self.task is None:
            return original.double()
        a, b = (self.tensors[f"{path}.parametrizations.{kind}.0.lora_{name}"][self.tasks.index(self.task)].double()
                for name in "AB")
        table = part in ("word", "types")
        return original.double() + (a @ b if table else b @ a) * (self.alpha / self.rank)

    def linear(self, x, part):
        return F.linear(x, self.get(part), self.get(part, "bias"))

    def norm(self, x, part):
        weight, bias = self.get(part), self.get(part, "bias")
        if bias is None:
            return weight * x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps)
        return F.layer_norm(x, x.shape[-1:], weight, bias, self.eps)

    def turn(self, x):
        """Applies rope to [batch, heads, seq, size]: the first 2n elements in a head are n pairs, each rotated by its own angle."""
        count = len(self.rope)
        angles = torch.arange(x.shape[2], dtype=torch.float64)[:, None] * torch.tensor(self.rope, dtype=torch.float64)
        turned, rest = x[..., : 2 * count], x[..., 2 * count:]
        first, second = (turned[..., 0::2], turned[..., 1::2]) if self.interleaved else turned.split(count, -1)
        a = first * angles.cos() - second * angles.sin()
        b = first * angles.sin() + second * angles.cos()
        return torch.cat([torch.stack([a, b], -1).flatten(-2) if self.interleaved else torch.cat([a, b], -1), rest], -1)

    def attend(self, x, mask):
        if "qkv" in self.names:
            query, key, value = self.linear(x, "qkv").split(self.width, -1)
        else:
            query, key, value = (self.linear(x, part) for part in ("query", "key", "value"))
        if "query_norm" in self.names:
            query, key = self.norm(query, "query_norm"), self.norm(key, "key_norm")
        query, key, value = (v.unflatten(-1, (self.heads, -1)).transpose(1, 2) for v in (query, key, value))
        if self.rope:
            query, key = self.turn(query), self.turn(key)
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        if self.alibi:
            columns = torch.arange(x.shape[1])
            scores = scores - slopes(self.heads)[:, None, None] * (columns[:, None] - columns).abs()
        scores = scores.masked_fill(mask[:, None, None, :] == 0, -math.inf)
        return self.linear((scores.softmax(-1) @ value).transpose(1, 2).flatten(2), "output")

    def mlp(self, x):
        act, inner = ACTIVATIONS[self.act], self.linear(x, "up")
        if "gate" in self.names:
            inner = act(self.linear(x, "gate")) * inner
        elif self.is_stacked():
            a, b = inner.split(self.wide, -1)
            inner = a * act(b) if self.up_first else act(a) * b
        else:
            inner = act(inner)
        return self.linear(inner, "down")

    def run(self, given, task=None):
        """Returns the last hidden state."""
        self.task = task
        ids, mask = given["input_ids"], given["attention_mask"]
        x = self.get("word")[ids]
        if self.types:
            x = x + self.get("types")[given.get("token_type_ids", torch.zeros_like(ids))]
        if self.positions:
            x = x + self.get("positions")[: ids.shape[1]]
        x = self.norm(x, "embedding_norm")
        for self.layer in range(self.layers):
            attended = self.norm(x + self.attend(x, mask), "attention_norm")
            x = self.norm(x + attended, "second_norm") if "second_norm" in self.names else attended
            x = self.norm(x + self.mlp(x), "mlp_norm")
        return x

    def results(self, given, task=None):
        state = x = self.run(given, task)
        found, mask = {}, given["attention_mask"]
        if self.pooler:
            found["pooler_output"] = torch.tanh(self.linear(x[:, 0], "pooler"))
        for step in self.head:
            x = step.run(self, x, state)
        if not self.head:
            found["last_hidden_state"] = x
        elif x.dim() == 3 and self.head[-1].name == "qa_outputs":
            found["start_logits"], found["end_logits"] = (x * mask.unsqueeze(-1)).unbind(-1)
        else:
            found["logits"] = x
        return {k: (v * mask.unsqueeze(-1) if v.dim() == 3 else v).float().contiguous() for k, v in found.items()}


def slopes(heads):
    """Press et al. 2022: powers of 2^(-8/n) for n heads, n a power of two; further heads use every second value for 2n heads."""
    n = 2 ** int(math.log2(heads))
    first = [2 ** (-8 * (i + 1) / n) for i in range(n)]
    return torch.tensor(first + [2 ** (-4 * (2 * i + 1) / n) for i in range(heads - n)], dtype=torch.float64)


def frequencies(size, base):
    return [base ** (-2 * i / size) for i in range(size // 2)]


class Linear:
    """A head step: a projection of hidden states, the first one or the pooler's output, and an activation."""

    def __init__(self, name, rows, act=None, of="state", bias=True):
        self.name, self.rows, self.act, self.of, self.bias = name, rows, act, of, bias

    def add(self, encoder):
        encoder.add(self.name, (self.rows, encoder.width), bias=self.bias)

    def run(self, encoder, x, state):
        if self.of == "pooler":
            x = torch.tanh(encoder.linear(state[:, 0], "pooler"))
        elif self.of == "first":
            x = x[:, 0]
        x = encoder.linear(x, self.name)
        return ACTIVATIONS[self.act](x) if self.act else x


class Norm:
    def __init__(self, name):
        self.name = name

    def add(self, encoder):
        encoder.add_norm(self.name, False)

    def run(self, encoder, x, state):
        return encoder.norm(x, self.name)


class Words:
    """Vocabulary logits from the embedding table."""

    def __init__(self, name, bias=True):
        self.name, self.bias = name, bias

    def add(self, encoder):
        if self.bias:
            encoder.store(self.name, "bias", torch.randn(VOCAB, generator=encoder.random) * 0.1)

    def run(self, encoder, x, state):
        return F.linear(x, encoder.get("word"), encoder.get(self.name, "bias") if self.bias else None)


def inputs(case, length, types, generator):
    """Returns inputs with right padding, a hole in a mask, and token types from the second case on."""
    batch = case + 1
    ids = torch.randint(3, VOCAB, (batch, length), generator=generator)
    mask = torch.ones(batch, length, dtype=torch.long)
    for row in range(1, batch):
        mask[row, length - 1 - row:] = 0
    if batch > 2:
        mask[2, 1] = 0
    ids[mask == 0] = 0
    given = {"input_ids": ids, "attention_mask": mask}
    if types > 1 and case:
        given["token_type_ids"] = torch.randint(0, types, (batch, length), generator=generator)
    return given


def recipe(name, config, names, prefix="", **features):
    RECIPES[name] = (config, names, prefix, features)


def make(name):
    config, names, prefix, features = RECIPES[name]
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seed = sum(map(ord, name)) * 1009
    # Under a head, the base model's tensors have its prefix.
    own = {step.name for step in features.get("head", ())}
    named = {part: prefix + path for part, path in names.items()}
    encoder = Encoder(named, seed=seed, **features)
    assert own.isdisjoint(named.values())
    save_file({k: v.contiguous() for k, v in encoder.tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    described = {**config, "vocab_size": config.get("vocab_size", VOCAB)}
    (folder / "config.json").write_text(json.dumps(described, indent=1, sort_keys=True) + "\n")
    generator, cases = torch.Generator().manual_seed(seed + 1), []
    for case, length in enumerate(LENGTHS):
        given = inputs(case, length, encoder.types, generator)
        save_file(given, folder / f"encode.{case}.in.safetensors")
        found = encoder.results(given)
        assert all(v.isfinite().all() for v in found.values()), name
        save_file(found, folder / f"encode.{case}.out.safetensors")
        cases.append({"entry": "encode", "input": f"encode.{case}.in.safetensors", "expect": f"encode.{case}.out.safetensors"})
        for task in encoder.tasks:
            save_file(encoder.results(given, task), folder / f"{task}.{case}.out.safetensors")
    (folder / "cases.json").write_text(json.dumps(
        {"model_class": config["architectures"][0], "kind": "encoder", "oracle": "torch, float64", "atol": 0.0002,
         "rtol": 0.0002, "cases": cases}, indent=1) + "\n")
    print(f"{name}: {sum(file.stat().st_size for file in folder.iterdir())} bytes")


# JinaBERT (jina-embeddings-v2): BERT with ALiBi by |i - j|; a GLU in one projection, gate first.

BERT_NAMES = dict(word="embeddings.word_embeddings", types="embeddings.token_type_embeddings",
                  embedding_norm="embeddings.LayerNorm", query="encoder.layer.{i}.attention.self.query",
                  key="encoder.layer.{i}.attention.self.key", value="encoder.layer.{i}.attention.self.value",
                  output="encoder.layer.{i}.attention.output.dense",
                  attention_norm="encoder.layer.{i}.attention.output.LayerNorm", pooler="pooler.dense")
JINA_PLAIN = dict(BERT_NAMES, up="encoder.layer.{i}.intermediate.dense", down="encoder.layer.{i}.output.dense",
                  mlp_norm="encoder.layer.{i}.output.LayerNorm")
JINA_GLU = dict(BERT_NAMES, up="encoder.layer.{i}.mlp.gated_layers", down="encoder.layer.{i}.mlp.wo", glu="",
                mlp_norm="encoder.layer.{i}.mlp.layernorm")
# The variant jina-embeddings-v2-base-code: query and key norms, a second residual sum, gate last.
JINA_CODE = dict(BERT_NAMES, up="encoder.layer.{i}.mlp.up_gated_layer", down="encoder.layer.{i}.mlp.down_layer", glu="",
                 query_norm="encoder.layer.{i}.attention.self.layer_norm_q",
                 key_norm="encoder.layer.{i}.attention.self.layer_norm_k", second_norm="encoder.layer.{i}.layer_norm_1",
                 mlp_norm="encoder.layer.{i}.layer_norm_2")
JINA_CODE_PLAIN = {**{k: v for k, v in JINA_CODE.items() if k != "glu"}, "up": "encoder.layer.{i}.mlp.up_layer"}
BERT_WORDS = (Linear("cls.predictions.transform.dense", 24, "gelu"), Norm("cls.predictions.transform.LayerNorm"),
              Words("cls.predictions"))


def jina(architecture, kind, **more):
    return {"model_type": "bert", "architectures": [architecture], "position_embedding_type": "alibi",
            "feed_forward_type": kind, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
            "intermediate_size": 40, "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-5,
            "hidden_act": "gelu", "emb_pooler": "mean", "attention_probs_dropout_prob": 0.1, "hidden_dropout_prob": 0.1,
            "classifier_dropout": None, "pad_token_id": 0, "tie_word_embeddings": True, "attn_implementation": "torch",
            "use_cache": True, **more}


ALIBI = dict(alibi=True, biases=("qkv", "output", "down"))
recipe("jina-v2", jina("JinaBertModel", "geglu"), JINA_GLU, pooler=True, **ALIBI)
recipe("heads/jina-v2-mlm", jina("JinaBertForMaskedLM", "geglu"), JINA_GLU, "bert.", head=BERT_WORDS, **ALIBI)
recipe("heads/jina-v2-classify", jina("JinaBertForSequenceClassification", "reglu", num_attention_heads=6, num_labels=3),
       JINA_GLU, "bert.", head=(Linear("classifier", 3, of="pooler"),), pooler=True, heads=6, act="relu", **ALIBI)
recipe("heads/jina-v2-plain", jina("BertForTokenClassification", "original", hidden_act="relu", num_labels=4), JINA_PLAIN,
       "bert.", head=(Linear("classifier", 4),), act="relu", alibi=True)

recipe("heads/jina-v2-code", jina("JinaBertModel", "geglu"), JINA_CODE, up_first=True, **ALIBI)
recipe("heads/jina-v2-code-mlm", jina("JinaBertForMaskedLM", "original", hidden_act="relu"), JINA_CODE_PLAIN, "bert.",
       act="relu", head=(Linear("cls.predictions.transform.dense", 24, "relu"), *BERT_WORDS[1:]), **ALIBI)

# Nomic BERT: GPT-2's keys, rope, GLU with the gate in `fc12`, sizes padded to multiples of 256.

NOMIC = dict(word="embeddings.word_embeddings", types="embeddings.token_type_embeddings", embedding_norm="emb_ln",
             qkv="encoder.layers.{i}.attn.Wqkv", output="encoder.layers.{i}.attn.out_proj",
             attention_norm="encoder.layers.{i}.norm1", up="encoder.layers.{i}.mlp.fc1", down="encoder.layers.{i}.mlp.fc2",
             mlp_norm="encoder.layers.{i}.norm2", positions="embeddings.position_embeddings", pooler="pooler.dense")
NOMIC_GLU = dict(NOMIC, up="encoder.layers.{i}.mlp.fc11", gate="encoder.layers.{i}.mlp.fc12")


def nomic(architecture, activation, **more):
    return {"model_type": "nomic_bert", "architectures": [architecture], "activation_function": activation, "n_embd": 24,
            "n_head": 3, "n_layer": 2, "n_inner": 256, "n_positions": 64, "layer_norm_epsilon": 1e-5, "type_vocab_size": 2,
            "rotary_emb_base": 500, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
            "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "max_trained_positions": 32, "prenorm": False,
            "parallel_block": False, "parallel_block_tied_norm": False, "causal": False, "qkv_proj_bias": False,
            "mlp_fc1_bias": False, "mlp_fc2_bias": False, "use_rms_norm": False, "use_flash_attn": True,
            "use_xentropy": True, "fused_bias_fc": True, "fused_dropout_add_ln": True, "dense_seq_output": True,
            "pad_vocab_size_multiple": 1, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0, **more}


def nomic_words(act, bias):
    return (Linear("cls.predictions.transform.dense", 24, act, bias=bias), Norm("cls.predictions.transform.layer_norm"),
            Words("cls.predictions.decoder", bias))


recipe("nomic-remote", nomic("NomicBertModel", "swiglu"), NOMIC_GLU, rope=frequencies(8, 500), act="silu", wide=256, biases=())
recipe("heads/nomic-remote-mlm", nomic("NomicBertForPreTraining", "geglu", rotary_emb_fraction=0.5, n_inner=100,
                                       rotary_emb_interleaved=True, rotary_scaling_factor=2, qkv_proj_bias=True,
                                       mlp_fc2_bias=True, n_layer=1, vocab_size=35, pad_vocab_size_multiple=37),
       NOMIC_GLU, "bert.", rope=frequencies(4, 500), interleaved=True, wide=256, biases=("qkv", "output", "down"), layers=1,
       head=nomic_words("gelu", False))
recipe("heads/nomic-remote-plain", nomic("NomicBertForPreTraining", "gelu_new", rotary_emb_fraction=0, n_inner=40,
                                         qkv_proj_bias=True, mlp_fc1_bias=True, mlp_fc2_bias=True, type_vocab_size=0),
       NOMIC, "bert.", positions=64, types=0, head=nomic_words("gelu_new", True))
recipe("heads/nomic-remote-glu", nomic("NomicBertForSequenceClassification", "glu", n_inner=None, n_embd=24, num_labels=3,
                                       mlp_fc1_bias=True, n_layer=1),
       NOMIC_GLU, "bert.", rope=frequencies(8, 500), act="sigmoid", wide=256, biases=("up",), layers=1, pooler=True,
       head=(Linear("classifier", 3, of="pooler"),))

# GTE: rope with NTK-aware scaling, GLU in one projection with the gate last, two kinds of norms.

GTE = dict(word="embeddings.word_embeddings", types="embeddings.token_type_embeddings", embedding_norm="embeddings.LayerNorm",
           qkv="encoder.layer.{i}.attention.qkv_proj", output="encoder.layer.{i}.attention.o_proj",
           attention_norm="encoder.layer.{i}.attn_ln", up="encoder.layer.{i}.mlp.up_gate_proj", glu="",
           down="encoder.layer.{i}.mlp.down_proj", mlp_norm="encoder.layer.{i}.mlp_ln",
           positions="embeddings.position_embeddings", pooler="pooler.dense")
GTE_UNPACKED = {k: v for k, v in GTE.items() if k != "qkv"}
GTE_UNPACKED.update({part: f"encoder.layer.{{i}}.attention.{part[0]}_proj" for part in ("query", "key", "value")})


def gte(architecture, **more):
    return {"model_type": "new", "architectures": [architecture], "hidden_size": 24, "num_hidden_layers": 2,
            "num_attention_heads": 3, "intermediate_size": 40, "max_position_embeddings": 64, "type_vocab_size": 1,
            "layer_norm_eps": 1e-5, "layer_norm_type": "layer_norm", "hidden_act": "gelu", "pack_qkv": True,
            "position_embedding_type": "rope", "rope_theta": 500.0, "rope_scaling": None, "unpad_inputs": False,
            "use_memory_efficient_attention": False, "logn_attention_scale": False, "logn_attention_clip1": False,
            "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.0, **more}


UP_FIRST = dict(up_first=True, biases=("qkv", "output", "down"))
NTK = [f * 3 ** (-2 * i / 8) / 3 ** (2 / 8) for i, f in enumerate(frequencies(8, 500))]
MIXED = [f / math.exp(math.log(3) / 4 ** 0.6 * (i + 1) ** 0.6) for i, f in enumerate(frequencies(8, 500))]
recipe("gte-new", gte("NewModel", rope_scaling={"type": "ntk", "factor": 3.0}), GTE, rope=NTK, types=1, **UP_FIRST)
recipe("heads/gte-new-mlm", gte("NewForMaskedLM", hidden_act="gelu_new", layer_norm_type="rms_norm", pack_qkv=False,
                                type_vocab_size=2, rope_scaling={"type": "ntk", "factor": 3.0, "mixed_b": 0.6}),
       GTE_UNPACKED, "new.", rope=MIXED, rms=True, act="gelu_new", **UP_FIRST,
       head=(Linear("lm_head.dense", 24, "gelu_new"), Norm("lm_head.norm"), Words("lm_head.decoder")))
recipe("heads/gte-new-classify", gte("NewForSequenceClassification", position_embedding_type="absolute", type_vocab_size=0,
                                     num_labels=3), GTE, "new.", positions=64, types=0, pooler=True, **UP_FIRST,
       head=(Linear("classifier", 3, of="pooler"),))
recipe("heads/gte-new-questions", gte("NewForQuestionAnswering", layer_norm_type="rms_norm"), GTE, "new.", types=1, rms=True,
       rope=frequencies(8, 500), head=(Linear("qa_outputs", 2),), **UP_FIRST)

# XLM-RoBERTa with FlashAttention and rope, as under jina-embeddings-v3.

FLASH = dict(word="embeddings.word_embeddings", types="embeddings.token_type_embeddings", embedding_norm="emb_ln",
             qkv="encoder.layers.{i}.mixer.Wqkv", output="encoder.layers.{i}.mixer.out_proj",
             attention_norm="encoder.layers.{i}.norm1", up="encoder.layers.{i}.mlp.fc1", down="encoder.layers.{i}.mlp.fc2",
             mlp_norm="encoder.layers.{i}.norm2", pooler="pooler.dense")


def flash(architecture, **more):
    return {"model_type": "xlm-roberta", "architectures": [architecture], "hidden_size": 24, "num_hidden_layers": 2,
            "num_attention_heads": 3, "intermediate_size": 40, "max_position_embeddings": 64, "type_vocab_size": 1,
            "layer_norm_eps": 1e-5, "hidden_act": "gelu", "position_embedding_type": "rotary", "rotary_emb_base": 700.0,
            "pad_token_id": 1, "use_flash_attn": True, "emb_pooler": None, "truncate_dim": None,
            "matryoshka_dimensions": [8, 16], "output_past": True, **more}


ROPE_700 = dict(rope=frequencies(8, 700), types=1)
TASKS = ("retrieval.query", "separation", "matching")
recipe("xlm-roberta-flash", flash("XLMRobertaModel", lora_adaptations=TASKS, lora_rank=2, lora_alpha=3, lora_dropout_p=0.0,
                                  lora_main_params_trainable=False, load_trained_adapters=True,
                                  task_instructions={"retrieval.query": "Query: ", "separation": "", "matching": ""}),
       FLASH, "roberta.", pooler=True, tasks=TASKS, rank=2, alpha=3, **ROPE_700)
recipe("heads/xlm-roberta-flash-classify", flash("XLMRobertaForSequenceClassification", num_labels=1), FLASH, "roberta.",
       head=(Linear("classifier.dense", 24, "tanh", of="first"), Linear("classifier.out_proj", 1)), **ROPE_700)
recipe("heads/xlm-roberta-flash-mlm", flash("XLMRobertaForMaskedLM", layer_norm_eps=1e-5), FLASH, "roberta.",
       head=(Linear("lm_head.dense", 24, "gelu"), Norm("lm_head.layer_norm"), Words("lm_head.decoder")), **ROPE_700)


def main():
    for name in sys.argv[1:] or RECIPES:
        make(name)


if __name__ == "__main__":
    main()
