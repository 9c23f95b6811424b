#!/usr/bin/env python3
"""Writes encoders into test/goldens: tiny checkpoints for families and features that the other folders lack, with results that transformers
computes in float64 from the stored folder. Needs torch, transformers and safetensors; the tests that read the folders do not.

usage: make-encoder-goldens.py [--all] [--out FOLDER] [NAME ...]

Without names it writes the recipes that test/goldens stores; --all adds the larger ones (other shapes, long inputs)."""
import argparse
import json
import pathlib
import shutil

import torch
import transformers as tf
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens"
VOCAB = 101
RECIPES = {}
SPAN = ("start_logits", "end_logits")  # in ForQuestionAnswering


def recipe(name, architecture, config, stored=False, lengths=(1, 5, 37), keys=None):
    RECIPES[name] = dict(name=name, architecture=architecture, config=config, stored=stored, lengths=lengths,
                         keys=keys or {})


def sizes(hidden=36, heads=3, wide=52, layers=2, positions=64, **more):
    return dict(vocab_size=VOCAB, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                intermediate_size=wide, max_position_embeddings=positions, **more)


def electra(embedding=20, **more):
    return tf.ElectraConfig(embedding_size=embedding, **sizes(**more))


def mpnet(**more):
    return tf.MPNetConfig(**sizes(**more))


def modernbert(layers=4, period=2, window=6, **more):
    return tf.ModernBertConfig(local_attention=window, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1,
                               sep_token_id=2, global_attn_every_n_layers=period, **sizes(layers=layers, **more))


LABELS = dict(num_labels=5)
recipe("electra", "ElectraForMaskedLM", electra(), stored=True)
recipe("electra-discriminator", "ElectraForPreTraining", electra(embedding=12, hidden=24, heads=3, wide=29), stored=True)
recipe("electra-discriminator-wide", "ElectraForPreTraining",
       electra(embedding=44, hidden=40, heads=5, wide=77, layers=3, positions=130, hidden_act="relu"), lengths=(1, 63, 129))
recipe("electra-tokens", "ElectraForTokenClassification", electra(embedding=28, hidden=28, heads=2, wide=33, **LABELS))
recipe("electra-bare", "ElectraModel", electra(embedding=7, hidden=40, heads=5, layers=3, positions=150, hidden_act="relu"),
       lengths=(2, 149))
recipe("electra-wide", "ElectraForSequenceClassification", electra(embedding=72, hidden=48, heads=4, **LABELS))

recipe("mpnet", "MPNetForMaskedLM", mpnet(positions=48), stored=True)
recipe("mpnet-classify", "MPNetForSequenceClassification", mpnet(hidden=40, heads=5, wide=31, **LABELS))
recipe("mpnet-long", "MPNetModel", mpnet(hidden=32, heads=1, layers=3, positions=514), lengths=(3, 300, 511))
recipe("mpnet-tokens", "MPNetForTokenClassification", mpnet(hidden=66, heads=6, positions=302, **LABELS), lengths=(1, 140))

recipe("modernbert", "ModernBertForSequenceClassification", modernbert(**LABELS), stored=True)
recipe("modernbert-mean", "ModernBertForSequenceClassification",
       modernbert(layers=5, period=3, window=9, classifier_pooling="mean", norm_bias=True, classifier_bias=True, **LABELS))
recipe("modernbert-tokens", "ModernBertForTokenClassification",
       modernbert(hidden=40, heads=5, wide=27, window=1, attention_bias=True, mlp_bias=True, **LABELS))
recipe("modernbert-long", "ModernBertForMaskedLM",
       modernbert(hidden=48, heads=2, layers=7, period=3, window=128, positions=700), lengths=(2, 257, 700))
recipe("modernbert-old-keys", "ModernBertModel", modernbert(layers=3, period=3, window=4), keys={
    "rope_parameters": "absent", "layer_types": "absent", "global_rope_theta": 5000.0, "local_rope_theta": 300.0,
    "position_embedding_type": "absolute"})

recipe("albert", "AlbertModel", tf.AlbertConfig(embedding_size=20, num_hidden_groups=2, inner_group_num=2, **sizes(layers=5)),
       stored=True)
recipe("albert-one-group", "AlbertForMaskedLM", tf.AlbertConfig(embedding_size=36, **sizes(layers=7)))
recipe("xlm-roberta-xl", "XLMRobertaXLModel", tf.XLMRobertaXLConfig(**sizes()), stored=True)


def deberta(kind="DebertaV2", **more):
    both = dict(relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False)
    return getattr(tf, kind + "Config")(**{**sizes(), **both, **more})


# Version 3, version 2 with a convolution, and version 1; sequences longer than the position range.
recipe("deberta-v2", "DebertaV2Model", deberta(
    position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True), stored=True)
recipe("deberta-v2-convolution", "DebertaV2Model", deberta(
    position_buckets=11, max_relative_positions=23, conv_kernel_size=5, conv_groups=2, conv_act="gelu", embedding_size=20,
    type_vocab_size=2, position_biased_input=True), stored=True, keys={"pos_att_type": "C2P | p2c"})
recipe("deberta-v2-query", "DebertaV2Model", deberta(
    max_relative_positions=7, pos_att_type=["c2p"], share_att_key=True, norm_rel_ebd="none"), lengths=(2, 63, 150))
recipe("deberta-v2-key", "DebertaV2Model", deberta(
    hidden_size=64, num_attention_heads=2, position_buckets=64, max_relative_positions=300, pos_att_type=["p2c"], hidden_act="relu"), lengths=(2, 600))
recipe("deberta-v2-absolute", "DebertaV2Model", deberta(
    relative_attention=False, position_biased_input=True, conv_kernel_size=3, attention_head_size=12))
recipe("deberta", "DebertaModel", deberta("Deberta", max_position_embeddings=24), stored=True)
recipe("deberta-key", "DebertaModel", deberta("Deberta", pos_att_type=["p2c"], type_vocab_size=3, embedding_size=50))
recipe("deberta-absolute", "DebertaModel", deberta("Deberta", relative_attention=False, position_biased_input=True))


def rope(kind, **more):
    """Encoders whose checkpoints use names that transformers changes on reading."""
    return getattr(tf, kind + "Config")(**{**sizes(wide=48), "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, **more})


EURO = dict(mask_token_id=4, num_key_value_heads=1)
recipe("eurobert", "EuroBertForSequenceClassification", rope("EuroBert", **EURO, **LABELS), stored=True)
recipe("eurobert-mlm", "EuroBertForMaskedLM", rope("EuroBert", **EURO, mlp_bias=True, attention_bias=True, head_dim=20), stored=True)
recipe("eurobert-mean", "EuroBertForSequenceClassification", rope("EuroBert", **EURO, **LABELS, classifier_pooling="mean"))
recipe("eurobert-bos", "EuroBertForSequenceClassification", rope("EuroBert", **EURO, **LABELS, classifier_pooling="bos"))
recipe("eurobert-tokens", "EuroBertForTokenClassification", rope("EuroBert", **EURO, **LABELS))
recipe("gte", "GteForMaskedLM", rope("Gte", type_vocab_size=2), stored=True)
recipe("gte-bare", "GteModel", rope("Gte", type_vocab_size=0, hidden_act="silu"))
recipe("gte-classify", "GteForSequenceClassification", rope("Gte", **LABELS))
recipe("gte-tokens", "GteForTokenClassification", rope("Gte", **LABELS))
recipe("jina-v3", "JinaEmbeddingsV3ForMaskedLM", rope("JinaEmbeddingsV3"), stored=True)
recipe("jina-v3-classify", "JinaEmbeddingsV3ForSequenceClassification", rope("JinaEmbeddingsV3", **LABELS))
recipe("jina-v3-questions", "JinaEmbeddingsV3ForQuestionAnswering", rope("JinaEmbeddingsV3", type_vocab_size=3))
recipe("jina-v3-tokens", "JinaEmbeddingsV3ForTokenClassification", rope("JinaEmbeddingsV3", **LABELS))
recipe("nomic", "NomicBertForSequenceClassification", rope("NomicBert", **LABELS, head_dim=14), stored=True)
recipe("nomic-mlm", "NomicBertForMaskedLM", rope("NomicBert", hidden_act="gelu"))
recipe("nomic-tokens", "NomicBertForTokenClassification", rope("NomicBert", **LABELS))
PUBLISHED_NAMES = ("eurobert", "gte", "jina_embeddings_v3", "nomic_bert")  # which save_pretrained() writes

recipe("gemma-encoder", "Gemma3TextModel", tf.Gemma3TextConfig(
    **sizes(layers=3, num_key_value_heads=1, head_dim=14, query_pre_attn_scalar=20, sliding_window=7,
            sliding_window_pattern=3, use_bidirectional_attention=True)), stored=True)


def randomize(model, generator):
    """Weights N(0, 1/fan-in), embeddings wide, norms around one, biases small."""
    tied = 0.12 if model.config.tie_word_embeddings and "LM" in type(model).__name__ else 0.7
    for name, tensor in model.state_dict().items():
        if not tensor.is_floating_point():
            continue
        noise = torch.randn(tensor.shape, generator=generator)
        if tensor.dim() == 2:
            embedding = "embeddings." in name or "relative_attention_bias" in name
            word = "word_embeddings" in name or "tok_embeddings" in name
            tensor.copy_(noise * (tied if word else 0.7 if embedding else tensor.shape[1] ** -0.5))
        else:
            norm = "norm" in name.lower() and name.endswith("weight")
            plus_one = model.config.model_type.startswith("gemma")  # the stored weight is gamma - 1
            tensor.copy_((0 if plus_one else 1) + 0.15 * noise if norm else 0.1 * noise)


def node(name, op, *inputs, **attrs):
    return {"name": name, "op": op, "inputs": list(inputs), **({"attrs": attrs} if attrs else {})}


def attention_part(norm, **attrs):
    """x + output(attention(norm(x))) over a padding mask."""
    return [norm, *(node(part, "linear", "norm1", weight=f"{part}.weight") for part in ("query", "key", "value")),
            node("mixed", "attention", "query", "key", "value", "visible", **attrs),
            node("output", "linear", "mixed", weight="output.weight"), node("sum1", "add", "x", "output")]


def write_graph(folder, name, layer, layers, final):
    """Writes graph.json for a pre-norm encoder."""
    graph = {"transom": 1, "name": name, "weights": ["model.safetensors"], "dims": {"batch": {}, "seq": {"max": 512}},
             "inputs": [{"name": "input_ids", "dtype": "i64", "shape": ["batch", "seq"]},
                        {"name": "attention_mask", "dtype": "i64", "shape": ["batch", "seq"], "mask_of": "input_ids", "default": 1}],
             "blocks": {"layer": {"inputs": ["x", "visible"], "nodes": layer, "outputs": [layer[-1]["name"]]}},
             "nodes": [node("visible", "cast", "attention_mask", to="bool"),
                       node("embedding", "embedding", "input_ids", table="embedding.weight"),
                       {"name": "layers", "block": "layer", "repeat": layers, "weights": "layers.{i}.", "inputs": ["embedding", "visible"]},
                       final("layers", "last_hidden_state")],
             "outputs": ["last_hidden_state"]}
    (folder / "graph.json").write_text(json.dumps(graph, indent=1) + "\n")


def write_cases(folder, architecture, cases):
    (folder / "cases.json").write_text(json.dumps(
        {"model_class": architecture, "kind": "encoder", "oracle": f"transformers {tf.__version__}, float64",
         "atol": 0.0002, "rtol": 0.0002, "cases": cases}, indent=1) + "\n")


def graph_cases(folder, architecture, compute):
    generator, cases = torch.Generator().manual_seed(sum(map(ord, folder.name))), []
    config = tf.PretrainedConfig(pad_token_id=0)
    for number, length in enumerate((1, 6, 300)):
        names = [f"run.{number}.{side}.safetensors" for side in ("in", "out")]
        given = inputs(number, length, config, generator)
        with torch.no_grad():
            value = compute(**given) * given["attention_mask"].unsqueeze(-1)
        save_file(given, folder / names[0])
        save_file({"last_hidden_state": value.float().contiguous()}, folder / names[1])
        cases.append({"entry": "run", "input": names[0], "expect": names[1]})
    write_cases(folder, architecture, cases)


def prepare(root, name):
    folder = root / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder, torch.Generator().manual_seed(sum(map(ord, name)) * 1009)


def make_t5(root):
    """Writes T5's encoder as graph.json: a bias by bucket for all layers, RMS norms, no scale, no biases."""
    folder, generator = prepare(root, "t5-encoder")
    config = tf.T5Config(vocab_size=VOCAB, d_model=24, d_kv=7, num_heads=3, d_ff=33, num_layers=2, feed_forward_proj="gated-gelu")
    config._attn_implementation = "eager"
    model = tf.T5EncoderModel(config).eval()
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            noise = torch.randn(tensor.shape, generator=generator)
            wide = "shared" in name or "embed_tokens" in name or "relative" in name
            tensor.copy_(1 + 0.15 * noise if tensor.dim() == 1 else noise * (0.7 if wide else tensor.shape[1] ** -0.5))
    state, tensors = model.state_dict(), {}
    block = "encoder.block.{}.layer."
    tensors["embedding.weight"], tensors["final.gamma"] = state["shared.weight"], state["encoder.final_layer_norm.weight"]
    tensors["position.bias"] = state["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    names = {"norm1.gamma": "0.layer_norm", "query.weight": "0.SelfAttention.q", "key.weight": "0.SelfAttention.k",
             "value.weight": "0.SelfAttention.v", "output.weight": "0.SelfAttention.o", "norm2.gamma": "1.layer_norm",
             "gate.weight": "1.DenseReluDense.wi_0", "up.weight": "1.DenseReluDense.wi_1", "down.weight": "1.DenseReluDense.wo"}
    for layer in range(config.num_layers):
        tensors.update({f"layers.{layer}.{to}": state[block.format(layer) + name + ".weight"] for to, name in names.items()})
        tensors[f"layers.{layer}.position.bias"] = tensors["position.bias"]
    del tensors["position.bias"]
    save_file({k: v.clone().float().contiguous() for k, v in tensors.items()}, folder / "model.safetensors")
    layer = attention_part(node("norm1", "rms_norm", "x", gamma="norm1.gamma", eps=1e-6), heads=3, scale=1,
                           relative_bias="position.bias", buckets=32, max_distance=128)
    layer += [node("norm2", "rms_norm", "sum1", gamma="norm2.gamma", eps=1e-6),
              node("gate", "linear", "norm2", weight="gate.weight"), node("active", "gelu_tanh", "gate"),
              node("up", "linear", "norm2", weight="up.weight"), node("inner", "mul", "active", "up"),
              node("down", "linear", "inner", weight="down.weight"), node("sum2", "add", "sum1", "down")]
    write_graph(folder, "t5-encoder", layer, config.num_layers,
                lambda x, name: node(name, "rms_norm", x, gamma="final.gamma", eps=1e-6))
    model = model.double()
    graph_cases(folder, "T5EncoderModel", lambda input_ids, attention_mask: model(
        input_ids=input_ids, attention_mask=attention_mask).last_hidden_state)


def make_alibi(root, name="alibi-encoder", symmetric=False):
    """Writes an encoder with ALiBi as graph.json, computed by torch."""
    folder, generator = prepare(root, name)
    width, heads, wide, layers = 20, 4, 36, 2

    def weight(*shape):
        return torch.randn(shape, generator=generator) * (shape[-1] ** -0.5 if len(shape) > 1 else 0.1)

    tensors = {"embedding.weight": torch.randn(VOCAB, width, generator=generator) * 0.7,
               "final.gamma": 1 + weight(width), "final.beta": weight(width)}
    for layer in range(layers):
        shapes = {"query": (width, width), "key": (width, width), "value": (width, width), "output": (width, width),
                  "up": (wide, width), "down": (width, wide)}
        tensors.update({f"layers.{layer}.{name}.weight": weight(*shape) for name, shape in shapes.items()})
        for norm in ("norm1", "norm2"):
            tensors[f"layers.{layer}.{norm}.gamma"] = 1 + weight(width)
            tensors[f"layers.{layer}.{norm}.beta"] = weight(width)
    save_file(tensors, folder / "model.safetensors")

    def norm(name, x):
        return node(name, "layer_norm", x, gamma=name + ".gamma", beta=name + ".beta", eps=1e-5)

    layer = attention_part(norm("norm1", "x"), heads=heads, alibi=True, **({"symmetric": True} if symmetric else {}))
    layer += [norm("norm2", "sum1"), node("up", "linear", "norm2", weight="up.weight"), node("active", "gelu", "up"),
              node("down", "linear", "active", weight="down.weight"), node("sum2", "add", "sum1", "down")]
    write_graph(folder, name, layer, layers,
                lambda x, name: node(name, "layer_norm", x, gamma="final.gamma", beta="final.beta", eps=1e-5))
    exact = {name: tensor.double() for name, tensor in tensors.items()}

    def compute(input_ids, attention_mask):
        x = exact["embedding.weight"][input_ids]
        columns = torch.arange(input_ids.shape[1])
        slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)], dtype=torch.float64)
        distances = columns[None, :] - columns[:, None]
        bias = slopes[:, None, None] * (-distances.abs() if symmetric else distances)
        bias = bias[None] + torch.where(attention_mask[:, None, None, :] == 1, 0.0, float("-inf"))
        for number in range(layers):
            own = {k.split(".", 2)[2]: v for k, v in exact.items() if k.startswith(f"layers.{number}.")}

            def normed(name, value):
                return torch.nn.functional.layer_norm(value, (width,), own[name + ".gamma"], own[name + ".beta"], 1e-5)

            def split(value):
                return value.view(*value.shape[:2], heads, -1).transpose(1, 2)

            y = normed("norm1", x)
            query, key, value = (split(y @ own[part + ".weight"].T) for part in ("query", "key", "value"))
            scores = query @ key.transpose(2, 3) / (width // heads) ** 0.5 + bias
            mixed = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
            x = x + mixed @ own["output.weight"].T
            x = x + torch.nn.functional.gelu(normed("norm2", x) @ own["up.weight"].T) @ own["down.weight"].T
        return torch.nn.functional.layer_norm(x, (width,), exact["final.gamma"], exact["final.beta"], 1e-5)

    graph_cases(folder, "torch", compute)


def write_tokenizer(folder):
    """Writes a tiny WordPiece vocabulary in the format of MPNet's tokenizer, and its results on texts."""
    words = "<s> <pad> </s> <mask> [UNK] the a quick brown fox jump ##s ##ed over lazy dog un ##happi ##ness play ##ing"
    marks = "! ? . , - ' caf ##e ##\u00e9 1 ##2 ##3"
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    vocabulary = dict.fromkeys([*words.split(), *marks.split(), *letters, *("##" + letter for letter in letters)])
    tokenizer = tf.MPNetTokenizer(vocab={word: i for i, word in enumerate(vocabulary)})
    assert len(vocabulary) <= VOCAB
    tokenizer.save_pretrained(folder)
    (folder / "vocab.txt").unlink(missing_ok=True)
    texts = ["The quick brown fox jumps over the lazy dog.", "Unhappiness, playing!  Caf\u00e9 123 <mask> zebra", "",
             "\u4e2d\u6587 and \u00c9T\u00c9 don't </s> x", "a" * 40]
    cases = [{"text": text, "ids": tokenizer(text)["input_ids"]} for text in texts]
    cases.append({"text": "the fox", "pair": "a dog?", "ids": tokenizer("the fox", "a dog?")["input_ids"]})
    (folder / "texts.json").write_text(json.dumps(cases, indent=1) + "\n")


def make_symmetric_alibi(root):
    """Writes the same encoder with a bias by |i - j|, as in JinaBERT and MosaicBERT."""
    make_alibi(root, "alibi-symmetric", symmetric=True)


GRAPHS = {"t5-encoder": make_t5, "alibi-encoder": make_alibi, "alibi-symmetric": make_symmetric_alibi}


def write_folder(folder, recipe):
    """Writes config.json and model.safetensors; a tied head is stored once."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    generator = torch.Generator().manual_seed(sum(map(ord, recipe["name"])) * 1009)
    config = recipe["config"]
    config._attn_implementation = "eager"
    model = getattr(tf, recipe["architecture"])(config).eval()
    with torch.no_grad():
        randomize(model, generator)
    model.tie_weights()
    tensors, seen = {}, set()
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen and tensor.is_floating_point():
            seen.add(tensor.data_ptr())
            tensors[name] = tensor.float().contiguous()
    if config.model_type in PUBLISHED_NAMES:
        model.save_pretrained(folder)
    else:
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    described = {k: v for k, v in config.to_dict().items() if not k.startswith("_")}
    described.update({"architectures": [recipe["architecture"]], "dtype": "float32"})
    described.update(recipe["keys"])
    described = {k: v for k, v in described.items() if v != "absent"}
    (folder / "config.json").write_text(json.dumps(described, indent=1, sort_keys=True) + "\n")


def inputs(case, length, config, generator):
    """Returns a batch with padding on both sides and holes in the mask. Transformers returns NaN if a window contains only padding."""
    batch, pad = case + 1, config.pad_token_id
    reach = getattr(config, "local_attention", 2 * length) // 2
    if getattr(config, "use_bidirectional_attention", False):  # the class turns a window w into w / 2 + 1
        reach = config.sliding_window - 1
    ids = torch.randint(3, VOCAB, (batch, length), generator=generator)
    mask = torch.ones(batch, length, dtype=torch.long)
    if batch > 1 and length > 4:
        mask[1, length - min(length // 3, reach):] = 0
    if batch > 2 and length > 20:
        mask[2, 3:3 + min(3, reach)] = 0
        mask[2, length // 2:length // 2 + min(11, reach)] = 0
        mask[2, :min(1, reach)] = 0
        ids[2, 9] = pad  # a padding id that the mask does not hide
    ids[mask == 0] = pad
    given = {"input_ids": ids, "attention_mask": mask}
    if getattr(config, "type_vocab_size", 0) > 1 and case:
        given["token_type_ids"] = torch.randint(0, config.type_vocab_size, (batch, length), generator=generator)
    return given


def results(model, given):
    with torch.no_grad():
        output = model(**given)
    mask = given["attention_mask"]

    def hide_padding(name, value):
        if value.dim() == 3:
            return value * mask.unsqueeze(-1)
        return value * mask if name in SPAN or type(model).__name__ == "ElectraForPreTraining" else value

    return {name: hide_padding(name, value).float().contiguous()
            for name, value in output.items() if name in ("logits", "last_hidden_state", "pooler_output", *SPAN)}


def make(root, recipe):
    folder = root / recipe["name"]
    write_folder(folder, recipe)
    # The stored folder defines the results.
    model = getattr(tf, recipe["architecture"]).from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager").eval()
    assert model.dtype == torch.float64
    generator = torch.Generator().manual_seed(sum(map(ord, recipe["name"])))
    cases = []
    for number, length in enumerate(recipe["lengths"]):
        names = [f"encode.{number}.{side}.safetensors" for side in ("in", "out")]
        given = inputs(number, length, model.config, generator)
        found = results(model, given)
        assert all(value.isfinite().all() for value in found.values()), recipe["name"]
        save_file(given, folder / names[0])
        save_file(found, folder / names[1])
        cases.append({"entry": "encode", "input": names[0], "expect": names[1]})
    write_cases(folder, recipe["architecture"], cases)
    if recipe["name"] == "mpnet":
        write_tokenizer(folder)
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{recipe['name']}: {size} bytes")
    assert size < 300_000 or not recipe["stored"], recipe["name"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for name, recipe in RECIPES.items():
        if name in options.names or not options.names and (recipe["stored"] or options.all):
            make(options.out, recipe)
    for name, make_graph in GRAPHS.items():
        if not options.names or name in options.names:
            make_graph(options.out)


if __name__ == "__main__":
    main()
