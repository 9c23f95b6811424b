#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The part of the quality comparison that needs the rivals' packages.
# rival_quality.py make MODEL FOLDER: a random model with the statistics of trained models.
# rival_quality.py convert FOLDER GGUF: converts a model folder for llama.cpp, in float32.
# rival_quality.py run GGUF TYPE IDS OUT logits|encode: llama.cpp's results in a type for the ids in a safetensors file; prints
# its bits per weight.
import array
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(HERE), "e2e"))

import gguf_files  # noqa: E402
from qualities import read_tensors, write_tensors  # noqa: E402

SHAPES = {
    "llama-100m": dict(kind="llama", hidden=1024, intermediate=2816, layers=6, heads=16, kv_heads=4, vocab=16000),
    "gpt2-50m": dict(kind="gpt2", hidden=768, layers=6, heads=12, vocab=8000),
}
# Weights follow Student's t with this many degrees of freedom, for the heavy tails of trained weights (kurtosis 9); rows and
# columns have lognormal scales with this sigma.
FREEDOM, SPREAD = 5, 0.25
# Some residual stream channels are scaled by factors in this range, through the norm gammas and the embedding rows: the outlier
# channels in trained models, which a GEMM reads equally in each token.
OUTLIERS, LEAST_FACTOR, MOST_FACTOR = 0.004, 2, 6
# Standard deviation of logits, so that token distributions are as peaked as in trained models.
LOGITS = 1.8
# The branch output added to the residual stream, relative to its input.
BRANCH = 0.4


class Weights:
    """Draws tensors, the same for a seed."""

    def __init__(self, hidden):
        import numpy
        self.numpy, self.source = numpy, numpy.random.default_rng(0)
        self.factors = numpy.ones(hidden)
        chosen = self.source.choice(hidden, max(1, round(OUTLIERS * hidden)), replace=False)
        self.factors[chosen] = self.source.uniform(LEAST_FACTOR, MOST_FACTOR, len(chosen))

    def matrix(self, rows, columns, gain=1.0):
        """[out, in] whose GEMMs preserve the input size, times `gain`."""
        draw = self.source
        values = draw.standard_t(FREEDOM, (rows, columns)) / (FREEDOM / (FREEDOM - 2)) ** 0.5
        values *= draw.lognormal(0, SPREAD, (rows, 1)) * draw.lognormal(0, SPREAD, (1, columns))
        return (gain * values / columns ** 0.5).astype(self.numpy.float32)

    def gamma(self, mean=1.0):
        """A norm's gamma, with the outlier channels."""
        return (mean * self.source.lognormal(0, SPREAD, len(self.factors)) * self.factors).astype(self.numpy.float32)

    def reader(self, rows, gain=1.0):
        """A matrix that reads a norm: its columns at outlier channels are smaller, but not by as much."""
        values = self.matrix(rows, len(self.factors), gain)
        return (values / self.numpy.sqrt(self.factors)).astype(self.numpy.float32)

    def vector(self, count, size=0.1):
        return self.source.normal(0, size, count).astype(self.numpy.float32)


def llama_weights(draw, hidden, intermediate, layers, heads, kv_heads, vocab):
    embedding = draw.matrix(vocab, hidden, gain=hidden ** 0.5)
    yield "model.embed_tokens.weight", (embedding * draw.numpy.sqrt(draw.factors)).astype("float32")
    kv = hidden // heads * kv_heads
    for layer in range(layers):
        name = f"model.layers.{layer}."
        yield name + "input_layernorm.weight", draw.gamma()
        yield name + "self_attn.q_proj.weight", draw.reader(hidden)
        yield name + "self_attn.k_proj.weight", draw.reader(kv)
        yield name + "self_attn.v_proj.weight", draw.reader(kv)
        yield name + "self_attn.o_proj.weight", draw.matrix(hidden, hidden, BRANCH)
        yield name + "post_attention_layernorm.weight", draw.gamma()
        yield name + "mlp.gate_proj.weight", draw.reader(intermediate)
        yield name + "mlp.up_proj.weight", draw.reader(intermediate)
        yield name + "mlp.down_proj.weight", draw.matrix(hidden, intermediate, BRANCH)
    yield "model.norm.weight", draw.gamma()
    yield "lm_head.weight", draw.reader(vocab, LOGITS / 1.3)


def gpt2_weights(draw, hidden, layers, heads, vocab):
    # One table is read by ids and multiplied by the head; modules are stored as [in, out].
    yield "transformer.wte.weight", draw.reader(vocab, LOGITS / 1.3)
    yield "transformer.wpe.weight", draw.matrix(1024, hidden)
    for layer in range(layers):
        name = f"transformer.h.{layer}."
        for norm in ("ln_1", "ln_2"):
            yield name + norm + ".weight", draw.gamma()
            yield name + norm + ".bias", draw.vector(hidden)
        for module, weight in {"attn.c_attn": draw.reader(3 * hidden), "attn.c_proj": draw.matrix(hidden, hidden, BRANCH),
                               "mlp.c_fc": draw.reader(4 * hidden), "mlp.c_proj": draw.matrix(hidden, 4 * hidden, BRANCH)}.items():
            yield name + module + ".weight", draw.numpy.ascontiguousarray(weight.T)
            yield name + module + ".bias", draw.vector(weight.shape[0])
    yield "transformer.ln_f.weight", draw.gamma()
    yield "transformer.ln_f.bias", draw.vector(hidden)


def config_of(kind, hidden, layers, heads, vocab, intermediate=0, kv_heads=0):
    if kind == "gpt2":
        return dict(architectures=["GPT2LMHeadModel"], model_type="gpt2", n_embd=hidden, n_layer=layers, n_head=heads,
                    vocab_size=vocab, n_positions=1024, layer_norm_epsilon=1e-5)
    return dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=hidden, intermediate_size=intermediate,
                num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads, vocab_size=vocab,
                max_position_embeddings=2048, rms_norm_eps=1e-5, tie_word_embeddings=False, hidden_act="silu")


def write_tokenizer(folder, vocabulary):
    """A word for each id, so that ids can be given as a text: `t5 t17`."""
    words = {f"t{i}": i for i in range(vocabulary)}
    model = dict(type="WordPiece", unk_token="t0", continuing_subword_prefix="##", max_input_chars_per_word=16, vocab=words)
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(dict(version="1.0", added_tokens=[], pre_tokenizer=dict(type="WhitespaceSplit"), model=model), file)


def make(name, folder):
    shape = dict(SHAPES[name])
    os.makedirs(folder)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config_of(**shape), file)
    weights = {"llama": llama_weights, "gpt2": gpt2_weights}[shape.pop("kind")]
    write_tokenizer(folder, shape["vocab"])
    tensors = {tensor: (list(values.shape), array.array("f", values.tobytes()))
               for tensor, values in weights(Weights(shape["hidden"]), **shape)}
    write_tensors(os.path.join(folder, "model.safetensors"), tensors)


def convert(folder, path):
    writer = gguf_files.convert_to(gguf_files.Writer(), folder, path)
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        vocabulary = json.load(file)["vocab_size"]
    kind = writer.metadata["general.architecture"]
    if kind != "bert":  # which requires token types
        writer.metadata = {key: value for key, value in writer.metadata.items() if not key.startswith("tokenizer.")}
    if "tokenizer.ggml.model" not in writer.metadata:
        writer.set("tokenizer.ggml.model", "no_vocab")
        writer.set(f"{kind}.vocab_size", vocabulary)
    writer.write(path)


class LlamaCpp:
    """llama.cpp with float32 caches, so that only weights and GEMM inputs have lower precision."""

    def __init__(self, path, tokens, embeds):
        import llama_cpp
        self.api, self.embeds = llama_cpp, embeds
        options = llama_cpp.llama_model_default_params()
        options.use_extra_bufts = False  # its AMX tiles crash where a hypervisor reports AMX but does not enable it
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), options)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = max(tokens, 32)
        params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
        params.embeddings = embeds
        if embeds:
            params.pooling_type = llama_cpp.LLAMA_POOLING_TYPE_MEAN
        self.context = self.model and llama_cpp.llama_init_from_model(self.model, params)
        if not self.context:
            sys.exit("llama.cpp does not load the model")

    def bits(self):
        return 8 * self.api.llama_model_size(self.model) / self.api.llama_model_n_params(self.model)

    def compute(self, ids, width):
        """Returns the logits for all tokens in a sequence, or its embedding, flat."""
        api = self.api
        if not self.embeds:
            api.llama_memory_clear(api.llama_get_memory(self.context), True)
        batch = api.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = token, i, 1, 0, True
        if (api.llama_encode if self.embeds else api.llama_decode)(self.context, batch):
            sys.exit("llama.cpp does not compute")
        found = api.llama_get_embeddings_seq(self.context, 0) if self.embeds else api.llama_get_logits(self.context)
        values = array.array("f", found[:width * (1 if self.embeds else len(ids))])
        api.llama_batch_free(batch)
        return values


def quantize(source, kind):
    """Returns a file with the type next to the source, made as in llama-quantize."""
    import llama_cpp
    if kind == "F32":
        return source
    path = source + "." + kind
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = getattr(llama_cpp, "LLAMA_FTYPE_MOSTLY_" + kind)
    if llama_cpp.llama_model_quantize(source.encode(), path.encode(), params):
        sys.exit(f"llama.cpp does not write {kind}")
    return path


def run(source, kind, ids_file, out, entry):
    import ctypes
    import llama_cpp
    quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda level, text, data: None)
    llama_cpp.llama_log_set(quiet, None)
    llama_cpp.llama_backend_init()
    tensors = read_tensors(ids_file)
    (batch, length), ids = tensors["input_ids"]
    mask = tensors["attention_mask"][1]
    model = LlamaCpp(quantize(source, kind), length, entry == "encode")
    width = llama_cpp.llama_model_n_embd(model.model) if model.embeds else \
        llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model.model))
    results = array.array("f")
    for row in range(batch):
        used = [token for token, real in zip(ids[row * length:], mask[row * length:(row + 1) * length]) if real]
        results.extend(model.compute(used, width))
        if not model.embeds:
            results.extend([0.0] * (width * (length - len(used))))
    shape = [batch, width] if model.embeds else [batch, length, width]
    write_tensors(out, {"results": (shape, results)})
    print(model.bits())


if __name__ == "__main__":
    {"make": make, "convert": convert, "run": run}[sys.argv[1]](*sys.argv[2:])
