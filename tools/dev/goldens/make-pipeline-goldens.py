#!/usr/bin/env python3
"""Writes test/goldens/pipelines: tiny sentence-transformers folders, texts, and the library's float64 results from the stored folder. Needs
torch, transformers, sentence-transformers and tokenizers; the tests that read the folders do not.

usage: make-pipeline-goldens.py [NAME ...]"""
import json
import pathlib
import shutil
import sys
import tempfile

import sentence_transformers as st
import tokenizers as tk
import torch
import transformers as tf
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers import models as mod
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sparse_encoder import models as sparse_mod

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens" / "pipelines"
WORDS = ("the a cat dog mat sat on big small runs fast ##er ##s search query document : about what is of house door open "
         "red blue green one two three ! . , ?").split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCAB = {token: i for i, token in enumerate(SPECIAL + WORDS)}
MARKED = {**VOCAB, "[Q]": len(VOCAB), "[D]": len(VOCAB) + 1}  # with late interaction prefixes
TEXTS = ["the cat sat on the mat", "a big dog runs", "", "red blue green, one two three!", "What is the house of a dog?",
         "cats runs faster faster faster on the small mat. the door is open", "zebra"]
WIDTH = 24
RECIPES = {}


def recipe(function):
    RECIPES[function.__name__.replace("_", "-")] = function
    return function


def bert_tokenizer(vocabulary=VOCAB):
    tokenizer = tk.Tokenizer(tk.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tk.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tk.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tk.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
                                      sep_token="[SEP]", mask_token="[MASK]", model_max_length=32)


def end_tokenizer(side):
    """Words and an end token, as in decoder tokenizers."""
    tokenizer = tk.Tokenizer(tk.models.WordPiece(VOCAB, unk_token="[UNK]"))
    tokenizer.normalizer = tk.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tk.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tk.processors.TemplateProcessing(single="$A [SEP]", special_tokens=[("[SEP]", 3)])
    return tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", eos_token="[SEP]",
                                      padding_side=side, model_max_length=32)


def randomize(model, seed):
    """Weights N(0, 1/fan-in), embeddings wide, norms around one, biases small."""
    generator = torch.Generator().manual_seed(seed)
    plus_one = getattr(getattr(model, "config", None), "model_type", "").startswith("gemma")
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if not tensor.is_floating_point():
                continue
            noise = torch.randn(tensor.shape, generator=generator)
            if tensor.dim() == 2:
                tensor.copy_(noise * (0.7 if "embed" in name or "wte" in name or "wpe" in name or "shared" in name
                                      else tensor.shape[1] ** -0.5))
            else:
                norm = "norm" in name.lower() and name.endswith("weight")
                tensor.copy_((0 if plus_one else 1) + 0.15 * noise if norm else 0.1 * noise)
    return model.eval()


def transformer(model, tokenizer=None, seed=1, **arguments):
    """Returns a Transformer module for a model with random weights."""
    with tempfile.TemporaryDirectory() as folder:
        randomize(model, seed).save_pretrained(folder)
        (tokenizer or bert_tokenizer()).save_pretrained(folder)
        return mod.Transformer(folder, **arguments)


def sizes(**more):
    return {"vocab_size": len(VOCAB), "hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2,
            "intermediate_size": 32, "max_position_embeddings": 40, **more}


def bert(seed=1, vocabulary=VOCAB):
    return transformer(tf.BertModel(tf.BertConfig(**sizes(vocab_size=len(vocabulary)))), bert_tokenizer(vocabulary), seed=seed)


def random(module, seed):
    return randomize(module, seed)


def save(model, name, cases, texts=TEXTS, change=None, sparse=False):
    """Writes the folder, reads it back and embeds the texts. A case is its flags and the arguments for encode()."""
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.save(str(folder), create_model_card=False)
    for file in folder.rglob("*.json"):
        data = json.loads(file.read_text())
        if file.name == "config_sentence_transformers.json":
            data.pop("__version__", None)
        if change:
            change(file.relative_to(folder).as_posix(), data)
        file.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    read = (SparseEncoder if sparse else SentenceTransformer)(str(folder), device="cpu").double()
    found = []
    for flags, arguments in cases:
        vectors = read.encode(texts, batch_size=4, **arguments)
        vectors = vectors.to_dense() if sparse else torch.tensor(vectors)
        found.append({"flags": flags, "embeddings": [[float(f"{x:.9g}") for x in row] for row in vectors.tolist()]})
    lines = ",\n".join("  " + json.dumps(case) for case in found)
    (folder / "texts.json").write_text(
        f'{{"oracle": "sentence-transformers {st.__version__}, transformers {tf.__version__}, float64",\n "texts": '
        f'{json.dumps(texts)},\n "cases": [\n{lines}\n ]}}\n')


PLAIN = [([], {})]


@recipe
def mean():
    save(SentenceTransformer(modules=[bert(), mod.Pooling(WIDTH), mod.Normalize()]), "mean", PLAIN + [
        (["--dim", "8"], {"truncate_dim": 8, "normalize_embeddings": True}),
        (["--dim", "8", "--no-normalize"], {"truncate_dim": 8}),
        (["--precision", "int8"], {"precision": "int8"}),
        (["--precision", "binary", "--dim", "21"], {"precision": "binary", "truncate_dim": 21, "normalize_embeddings": True}),
        (["--precision", "ubinary"], {"precision": "ubinary"})])


@recipe
def old_flags():
    """Several pooling modes, in the format of old versions."""
    def change(file, data):
        if file == "1_Pooling/config.json":
            data.clear()
            data.update({"word_embedding_dimension": WIDTH, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False,
                         "pooling_mode_max_tokens": True, "pooling_mode_mean_sqrt_len_tokens": True,
                         "pooling_mode_weightedmean_tokens": False, "pooling_mode_lasttoken": False})
        if file == "modules.json":
            for module in data:
                module["type"] = "sentence_transformers.models." + module["type"].split(".")[-1]
    save(SentenceTransformer(modules=[bert(2), mod.Pooling(WIDTH, ("cls", "max", "mean_sqrt_len_tokens"))]), "old-flags", PLAIN,
         change=change)


@recipe
def side_by_side():
    save(SentenceTransformer(modules=[bert(3), mod.Pooling(WIDTH, ("weightedmean", "lasttoken", "mean")), mod.Normalize()]),
         "side-by-side", PLAIN)


@recipe
def dense():
    modules = [bert(4), mod.Pooling(WIDTH, "cls"), random(mod.Dense(WIDTH, 16), 5), random(mod.LayerNorm(16), 6), mod.Dropout(0.3),
               mod.Normalize()]
    save(SentenceTransformer(modules=modules), "dense", PLAIN)


@recipe
def residual():
    nn = torch.nn
    modules = [bert(7), mod.Pooling(WIDTH, "max"),
               random(mod.Dense(WIDTH, 20, activation_function=nn.GELU(), use_residual=True), 8),
               random(mod.Dense(20, 20, bias=False, activation_function=nn.Identity(), use_residual=True), 9),
               random(mod.Dense(20, 18, activation_function=nn.ReLU()), 10)]
    save(SentenceTransformer(modules=modules), "residual", PLAIN)


@recipe
def activations():
    """A Dense module for each torch activation that is composed of others."""
    nn = torch.nn
    kinds = (nn.LeakyReLU, nn.ELU, nn.SELU, nn.CELU, nn.Mish, nn.Softplus, nn.Softsign, nn.Tanhshrink, nn.LogSigmoid, nn.Hardtanh, nn.ReLU6,
             nn.Hardswish, nn.Hardsigmoid, nn.Hardshrink, nn.Softshrink, nn.RReLU, nn.PReLU)
    width = [WIDTH] + [12] * len(kinds)
    layers = [random(mod.Dense(width[i], 12, activation_function=kind(), use_residual=i > 0), 40 + i) for i, kind in enumerate(kinds)]
    save(SentenceTransformer(modules=[bert(39), mod.Pooling(WIDTH), *layers, mod.Normalize()]), "activations", PLAIN)


def change_arguments(file, data, **arguments):
    """Files as Python writes and reads them: a number that is not JSON, an integer with more than 64 bits, a null."""
    if file == "config.json":
        data.update(seed=12345678901234567890123, largest=float("inf"), nothing=None)
    if file == "tokenizer_config.json":
        data.update(model_max_length=float("inf"), tokenizer_class="BertTokenizer")
    if file == "sentence_bert_config.json":
        data.clear()
        data.update({"max_seq_length": 9, "do_lower_case": False, **arguments})


@recipe
def old_arguments():
    """A Transformer with model and tokenizer arguments under their old names; the tokenizer truncates texts and lowers their case."""
    save(SentenceTransformer(modules=[bert(41), mod.Pooling(WIDTH)]), "old-arguments", PLAIN, change=lambda file, data: change_arguments(
        file, data, model_args={"attn_implementation": "eager", "torch_dtype": "float32"}, config_args={},
        tokenizer_args={"model_max_length": 6, "do_lower_case": False}))


@recipe
def arguments():
    """The same arguments under their new names, with keys that replace config.json keys."""
    save(SentenceTransformer(modules=[bert(42), mod.Pooling(WIDTH)]), "arguments", PLAIN, change=lambda file, data: change_arguments(
        file, data, model_kwargs={}, processor_kwargs={"truncation_side": "left"},
        config_kwargs={"hidden_act": "relu", "layer_norm_eps": 0.1, "output_attentions": False}))


PROMPTS = {"query": "search query : ", "document": "search document : ", "about": "what is ", "nothing": ""}
PROMPT_CASES = [([], {}), (["--prompt-name", "query"], {"prompt_name": "query"}), (["--prompt-name", "about"], {"prompt_name": "about"}),
                (["--prompt-name", "nothing"], {"prompt_name": "nothing"}), (["--prompt", "a zebra"], {"prompt": "a zebra"})]


@recipe
def prompts():
    model = SentenceTransformer(modules=[bert(11), mod.Pooling(WIDTH), mod.Normalize()], prompts=dict(PROMPTS),
                                default_prompt_name="document")
    save(model, "prompts", PROMPT_CASES)


@recipe
def prompts_not_pooled():
    roberta = tf.RobertaModel(tf.RobertaConfig(pad_token_id=0, bos_token_id=2, eos_token_id=3, type_vocab_size=1, **sizes()))
    pooling = mod.Pooling(WIDTH, ("cls", "weightedmean", "max", "lasttoken"), include_prompt=False)
    model = SentenceTransformer(modules=[transformer(roberta, seed=12), pooling], prompts=dict(PROMPTS))
    save(model, "prompts-not-pooled", PROMPT_CASES)


@recipe
def cut():
    model = SentenceTransformer(modules=[bert(13), mod.Pooling(WIDTH), mod.Normalize()], truncate_dim=10, similarity_fn_name="dot")
    save(model, "cut", PLAIN + [(["--dim", "20"], {"truncate_dim": 20, "normalize_embeddings": True})])


@recipe
def splade():
    model = transformer(tf.BertForMaskedLM(tf.BertConfig(**sizes())), seed=14, transformer_task="fill-mask")
    save(SparseEncoder(modules=[model, sparse_mod.SpladePooling("max")]), "splade", PLAIN, sparse=True)


@recipe
def splade_sum():
    """The older Transformer class, and the logarithm applied twice."""
    def change(file, data):
        if file == "modules.json":
            data[0]["type"] = "sentence_transformers.sparse_encoder.models.MLMTransformer"
        if file == "sentence_bert_config.json":
            data.clear()
            data.update({"max_seq_length": 12, "do_lower_case": False})
    config = tf.DistilBertConfig(vocab_size=len(VOCAB), dim=WIDTH, n_layers=1, n_heads=2, hidden_dim=32, max_position_embeddings=40)
    model = transformer(tf.DistilBertForMaskedLM(config), seed=15, transformer_task="fill-mask")
    pooling = sparse_mod.SpladePooling("sum", activation_function="log1p_relu")
    save(SparseEncoder(modules=[model, pooling], max_active_dims=9), "splade-sum", PLAIN, change=change, sparse=True)


@recipe
def gemma_dense():
    config = tf.Gemma3TextConfig(**sizes(num_key_value_heads=1, head_dim=12, query_pre_attn_scalar=12, sliding_window=8,
                                         use_bidirectional_attention=True))
    identity = torch.nn.Identity()
    modules = [transformer(tf.Gemma3TextModel(config), end_tokenizer("left"), seed=16), mod.Pooling(WIDTH),
               random(mod.Dense(WIDTH, 36, bias=False, activation_function=identity), 17),
               random(mod.Dense(36, 20, bias=False, activation_function=identity), 18), mod.Normalize()]
    save(SentenceTransformer(modules=modules, prompts={"query": "search query : "}), "gemma-dense",
         [([], {}), (["--prompt-name", "query"], {"prompt_name": "query"})])


@recipe
def qwen_last():
    """A bare decoder whose config names its causal class."""
    def change(file, data):
        if file == "config.json":
            data["architectures"] = ["Qwen3ForCausalLM"]
    config = tf.Qwen3Config(**sizes(num_key_value_heads=1, head_dim=12, tie_word_embeddings=True))
    modules = [transformer(tf.Qwen3Model(config), end_tokenizer("left"), seed=19), mod.Pooling(WIDTH, "lasttoken"), mod.Normalize()]
    save(SentenceTransformer(modules=modules, prompts={"query": "what is : "}), "qwen-last",
         [([], {}), (["--prompt-name", "query"], {"prompt_name": "query"})], change=change)


@recipe
def gpt2_weighted():
    """Learned positions; padding on the right."""
    config = tf.GPT2Config(vocab_size=len(VOCAB), n_embd=WIDTH, n_layer=1, n_head=2, n_positions=40, n_inner=32)
    modules = [transformer(tf.GPT2Model(config), end_tokenizer("right"), seed=20), mod.Pooling(WIDTH, "weightedmean")]
    save(SentenceTransformer(modules=modules), "gpt2-weighted", PLAIN)


@recipe
def t5_dense():
    config = tf.T5Config(vocab_size=len(VOCAB), d_model=WIDTH, d_kv=12, d_ff=32, num_layers=1, num_heads=2, pad_token_id=0)
    modules = [transformer(tf.T5EncoderModel(config), end_tokenizer("right"), seed=21), mod.Pooling(WIDTH),
               random(mod.Dense(WIDTH, 16, bias=False, activation_function=torch.nn.Identity()), 22), mod.Normalize()]
    save(SentenceTransformer(modules=modules), "t5-dense", PLAIN)


def table(width, seed, truncation=None):
    """A vector table with the tokenizer only."""
    tokenizer = bert_tokenizer().backend_tokenizer
    if truncation:
        tokenizer.enable_truncation(truncation)
    weights = torch.randn(len(VOCAB), width, generator=torch.Generator().manual_seed(seed))
    return mod.StaticEmbedding(tokenizer, embedding_weights=weights)


@recipe
def static():
    """A vector table in the model's folder, without config.json."""
    model = SentenceTransformer(modules=[table(WIDTH, 27)], prompts=dict(PROMPTS))
    save(model, "static", PROMPT_CASES + [(["--dim", "8"], {"truncate_dim": 8}), (["--precision", "int8"], {"precision": "int8"}),
                                          (["--precision", "ubinary"], {"precision": "ubinary"})])


@recipe
def static_dense():
    """A table in a separate folder, whose texts are truncated; a text without tokens passes through the modules after it."""
    def change(file, data):
        if file == "modules.json":
            data[0].update({"path": "0_StaticEmbedding", "type": "sentence_transformers.models.StaticEmbedding"})
    modules = [table(WIDTH, 28, truncation=7), random(mod.Dense(WIDTH, 16), 29), random(mod.LayerNorm(16), 30), mod.Normalize()]
    modules[0].save_in_root = False
    save(SentenceTransformer(modules=modules, truncate_dim=12), "static-dense", PLAIN, change=change)


@recipe
def static_factors():
    """A table as model2vec writes it: a factor for each token, and a config.json without a transformers model."""
    def change(file, data):
        if file == "modules.json":
            data[0].update({"path": ".", "type": "sentence_transformers.models.StaticEmbedding"})
            folder = ROOT / "static-factors"
            vectors = load_file(folder / "model.safetensors")["embedding.weight"].half()
            factors = 0.5 + torch.rand(len(VOCAB), generator=torch.Generator().manual_seed(31), dtype=torch.float64)
            save_file({"embeddings": vectors, "weights": factors}, folder / "model.safetensors")
            (folder / "config.json").write_text(json.dumps(
                {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True, "seq_length": 1000000}, indent=1))
            (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 3, "tokenizer_class": "BertTokenizer"}))
    save(SentenceTransformer(modules=[table(WIDTH, 32), mod.Normalize()]), "static-factors", PLAIN, change=change)


def write_late(folder, texts=TEXTS):
    """Writes texts.json with token vectors for queries and documents."""
    model = MultiVectorEncoder(str(folder), device="cpu").double()
    found = []
    for flags, encode in ((["--prompt-name", "query"], model.encode_query), (["--prompt-name", "document"], model.encode_document),
                          ([], model.encode_document)):
        vectors = [torch.as_tensor(v).tolist() for v in encode(texts)]
        found.append({"flags": flags, "embeddings": [[[float(f"{x:.9g}") for x in row] for row in text] for text in vectors]})
    lines = ",\n".join("  " + json.dumps(case) for case in found)
    (folder / "texts.json").write_text(
        f'{{"oracle": "sentence-transformers {st.__version__}, transformers {tf.__version__}, float64",\n "texts": '
        f'{json.dumps(texts)},\n "cases": [\n{lines}\n ]}}\n')


@recipe
def late():
    """Late interaction as sentence-transformers writes a folder, with expansion tokens that are attended to."""
    modules = [bert(25), random(mod.Dense(WIDTH, 12, module_input_name="token_embeddings"), 26),
               mod.Normalize(module_input_name="token_embeddings"),
               MultiVectorMask(skiplist_words=[".", "the"], skiplist_tasks=["query", "document"])]
    modules[0].query_length, modules[0].document_length = 12, 9
    modules[0].query_expansion = {"strategy": "min", "attend": True, "length": 8, "token": "[UNK]"}
    folder = ROOT / "late"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    MultiVectorEncoder(modules=modules, prompts={"query": "search query : ", "document": ""}).save(str(folder), create_model_card=False)
    config = folder / "config_sentence_transformers.json"
    data = json.loads(config.read_text())
    data.pop("__version__")
    config.write_text(json.dumps(data, indent=1) + "\n")
    write_late(folder)


@recipe
def tokens():
    """Late interaction, as PyLate writes a folder; torch computes the entry's results."""
    def change(file, data):
        if file == "modules.json":
            data[1]["type"] = "pylate.models.Dense.Dense"
        if file == "1_Dense/config.json":
            data.update({"use_residual": False})
            data.pop("module_input_name"), data.pop("module_output_name")
    projection = random(mod.Dense(WIDTH, 12, bias=False, activation_function=torch.nn.Identity(),
                                  module_input_name="token_embeddings"), 24)
    base = bert(23, MARKED)
    model = SentenceTransformer(modules=[base, projection])
    folder = ROOT / "tokens"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.save(str(folder), create_model_card=False)
    for file in folder.rglob("*.json"):
        data = json.loads(file.read_text())
        if file.name == "config_sentence_transformers.json":
            data = {"model_type": "ColBERT", "similarity_fn_name": "MaxSim", "query_prefix": "[Q] ", "document_prefix": "[D] ",
                    "query_length": 8, "document_length": 20, "attend_to_expansion_tokens": False, "skiplist_words": ["!", "."]}
        change(file.relative_to(folder).as_posix(), data)
        file.write_text(json.dumps(data, indent=1) + "\n")
    write_late(folder)
    # Only the entry.
    ids = torch.tensor([[2, 5, 7, 9, 3, 0], [2, 8, 3, 0, 0, 0], [2, 11, 12, 13, 14, 3]])
    mask = torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0], [1, 0, 1, 1, 1, 1]])
    with torch.no_grad():
        states = base.model.double()(input_ids=ids, attention_mask=mask).last_hidden_state
        vectors = torch.nn.functional.normalize(projection.double().linear(states), dim=-1) * mask[..., None]
    save_file({"input_ids": ids, "attention_mask": mask}, folder / "token_embeddings.0.in.safetensors")
    save_file({"token_embeddings": vectors.float().contiguous()}, folder / "token_embeddings.0.out.safetensors")
    (folder / "cases.json").write_text(json.dumps(
        {"kind": "pipeline", "oracle": f"transformers {tf.__version__}, float64", "atol": 1e-5, "rtol": 1e-5,
         "cases": [{"entry": "token_embeddings", "input": "token_embeddings.0.in.safetensors",
                    "expect": "token_embeddings.0.out.safetensors"}]}, indent=1) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:] or RECIPES:
        RECIPES[name]()
        print(name)
