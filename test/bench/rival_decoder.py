#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The part of the decoder comparison that needs the rivals' packages: it runs in their environment, one process per engine.
# rival_decoder.py make MODEL FOLDER: a checkpoint with random weights and its formats for CTranslate2 and llama.cpp.
# rival_decoder.py time JOB: loads an engine, and times a task for each input line; JOB contains the arguments for
# load_engine().
import ctypes
import json
import os
import shutil
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy  # noqa: E402

from decoders import NEW_TOKENS  # noqa: E402
from rival import least_ms, serve  # noqa: E402

# Smallest cosine between the logits after a prompt and transom's in float32, and for types with such names.
COSINE, LEAST_COSINES = 0.9999, {"bf16": 0.98, "q8": 0.98, "int8": 0.98, "q4": 0.9}
# Max tokens in a llama.cpp context.
ROOM = 4608

LLAMA = dict(hidden_size=1024, intermediate_size=2816, num_hidden_layers=16, num_attention_heads=16, num_key_value_heads=4,
             vocab_size=32000, max_position_embeddings=8192, tie_word_embeddings=True)


def new_model(name):
    import torch
    import transformers
    torch.manual_seed(0)
    if name == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config()).eval()
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA)).eval()


# Checkpoint formats.

def convert_ctranslate2(folder, vocabulary):
    """CTranslate2's own format; its converter requires a vocabulary, so each id gets a word."""
    from ctranslate2.converters.transformers import TransformersConverter
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    words = {f"t{i}": i for i in range(vocabulary)}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="t3")), pad_token="t0",
                                        bos_token="t1", eos_token="t2", unk_token="t3")
    converter = TransformersConverter(folder)
    converter.load_tokenizer = lambda *arguments, **options: tokenizer
    converter.convert(os.path.join(folder, "ct2"))


def fill_gpt2(writer, config, tensor):
    writer.add_context_length(config.n_positions)
    writer.add_embedding_length(config.n_embd)
    writer.add_feed_forward_length(4 * config.n_embd)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    writer.add_tensor("token_embd.weight", tensor("transformer.wte.weight"))
    writer.add_tensor("position_embd.weight", tensor("transformer.wpe.weight"))
    norms = {"output_norm": "transformer.ln_f"}
    products = {}
    for i in range(config.n_layer):
        norms[f"blk.{i}.attn_norm"], norms[f"blk.{i}.ffn_norm"] = (f"transformer.h.{i}.ln_{n}" for n in (1, 2))
        for theirs, ours in {"attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj", "ffn_up": "mlp.c_fc",
                             "ffn_down": "mlp.c_proj"}.items():
            products[f"blk.{i}.{theirs}"] = f"transformer.h.{i}.{ours}"
    for theirs, ours in {**norms, **products}.items():
        weight = tensor(ours + ".weight")
        writer.add_tensor(theirs + ".weight", numpy.ascontiguousarray(weight.T) if theirs in products else weight)
        writer.add_tensor(theirs + ".bias", tensor(ours + ".bias"))


def side_by_side(weight, heads):
    """Reorders rows in each head so that the two elements that llama.cpp rotates together, half a head apart before, are
    adjacent."""
    halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, weight.shape[1])
    return numpy.ascontiguousarray(halves.transpose(0, 2, 1, 3).reshape(weight.shape))


def fill_llama(writer, config, tensor):
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(10000.0)
    names = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
    for i in range(config.num_hidden_layers):
        for theirs, ours in {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
                             "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
                             "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}.items():
            names[f"blk.{i}.{theirs}"] = f"model.layers.{i}.{ours}"
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for theirs, ours in names.items():
        weight, kind = tensor(ours + ".weight"), theirs.rpartition(".")[2]
        writer.add_tensor(theirs + ".weight", side_by_side(weight, heads[kind]) if kind in heads else weight)


def write_gguf(model, path):
    import gguf
    config, weights = model.config, model.state_dict()
    writer = gguf.GGUFWriter(path, config.model_type)
    writer.add_tokenizer_model("no_vocab")
    writer.add_vocab_size(config.vocab_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    fill = fill_gpt2 if config.model_type == "gpt2" else fill_llama
    fill(writer, config, lambda name: weights[name].float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantized_gguf(folder, kind):
    """Returns the file for a type, made as in llama-quantize; in bf16 all matrices, including the token table."""
    path = os.path.join(folder, kind + ".gguf")
    if os.path.exists(path):
        return path
    import llama_cpp
    llama_cpp.llama_backend_init()
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.pure = getattr(llama_cpp, "LLAMA_FTYPE_MOSTLY_" + kind.upper()), kind == "bf16"
    if llama_cpp.llama_model_quantize(os.path.join(folder, "f32.gguf").encode(), path.encode(), params):
        sys.exit(f"llama.cpp does not write {kind}")
    return path


def save(name, folder):
    """The checkpoint alone, with inputs."""
    import safetensors.numpy
    model = new_model(name)
    model.save_pretrained(folder)
    safetensors.numpy.save_file({"input_ids": prompt_of(48, model.config.vocab_size)[None]}, os.path.join(folder, "inputs"))
    return model


def make(name, folder):
    model = save(name, folder)
    try:
        convert_ctranslate2(folder, model.config.vocab_size)
    except Exception as error:  # any converter error: llama.cpp does not need it
        print(f"no form for ctranslate2: {error}", file=sys.stderr)
        shutil.rmtree(os.path.join(folder, "ct2"), ignore_errors=True)
    write_gguf(model, os.path.join(folder, "f32.gguf"))
    quantized_gguf(folder, "bf16")


# Engines.

def prompt_of(length, vocabulary):
    return numpy.random.default_rng(length).integers(5, vocabulary - 5, length).astype(numpy.int64)


class LlamaCpp:
    """llama.cpp; its cache is f16, as it is by default."""

    def __init__(self, folder, threads, kind):
        import llama_cpp
        self.api = llama_cpp
        llama_cpp.llama_log_set(QUIET, None)
        llama_cpp.llama_backend_init()
        path = quantized_gguf(folder, kind)
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch, params.n_threads, params.n_threads_batch = ROOM, 512, 512, threads, threads
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        if not self.context:
            sys.exit("llama.cpp does not load the model")
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))

    def feed(self, tokens):
        """Logits after the last token."""
        array = (self.api.llama_token * len(tokens))(*map(int, tokens))
        if self.api.llama_decode(self.context, self.api.llama_batch_get_one(array, len(tokens))):
            sys.exit("llama.cpp does not decode")
        return numpy.ctypeslib.as_array(self.api.llama_get_logits_ith(self.context, -1), shape=(self.vocabulary,))

    def logits(self, prompt):
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), True)
        for at in range(0, len(prompt), 512):
            last = self.feed(prompt[at:at + 512])
        return last

    def prefill(self, prompt):
        return int(self.logits(prompt).argmax())

    def decode_ms(self, prompt, runs):
        """Goes back to the prompt before each run."""
        first = self.prefill(prompt)

        def decode():
            self.api.llama_memory_seq_rm(self.api.llama_get_memory(self.context), 0, len(prompt), -1)
            token = first
            for _ in range(NEW_TOKENS):
                token = int(self.feed([token]).argmax())
        return least_ms(decode, runs)


class CTranslate2:
    def __init__(self, folder, threads, kind):
        import ctranslate2
        self.generator = ctranslate2.Generator(os.path.join(folder, "ct2"), device="cpu", intra_threads=threads, compute_type=kind)
        with open(os.path.join(folder, "ct2", "vocabulary.json"), encoding="utf-8") as file:
            self.words = json.load(file)

    def logits(self, prompt):
        return numpy.array(self.generator.forward_batch([[self.words[i] for i in prompt]]))[0, -1]

    def generate(self, prompt, count):
        self.generator.generate_batch([[self.words[i] for i in prompt]], max_length=count, min_length=count, beam_size=1,
                                      include_prompt_in_result=False, sampling_topk=1)

    def prefill(self, prompt):
        self.generate(prompt, 1)

    def decode_ms(self, prompt, runs):
        """It has no step: subtracts the time for the prompt and the first token."""
        first, whole = (least_ms(lambda: self.generate(prompt, count), runs) for count in (1, NEW_TOKENS + 1))
        return whole - first


ENGINES = {
    "llamacpp": (LlamaCpp, "f32"),
    "llamacpp-bf16": (LlamaCpp, "bf16"),
    "llamacpp-q8_0": (LlamaCpp, "q8_0"),
    "llamacpp-q4_0": (LlamaCpp, "q4_0"),
    "llamacpp-q4_k_m": (LlamaCpp, "q4_k_m"),
    "ctranslate2": (CTranslate2, "float32"),
    "ctranslate2-int8": (CTranslate2, "int8"),
}
QUIET = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda level, text, data: None)


def check_agreement(engine, last_logits, folder):
    """An engine with different results is not a valid rival."""
    from safetensors.numpy import load_file
    prompt = load_file(os.path.join(folder, "inputs"))["input_ids"][0]
    ours = load_file(os.path.join(folder, "results"))["logits"][0, -1].astype(numpy.float64)
    theirs = last_logits(prompt).astype(numpy.float64)
    cosine = (theirs * ours).sum() / numpy.sqrt((theirs**2).sum() * (ours**2).sum())
    kind = ENGINES[engine][1]
    least = next((least for part, least in LEAST_COSINES.items() if part in kind), COSINE)
    if not cosine >= least:
        sys.exit(f"its logits have a cosine of {cosine:.6f} to transom's, at least {least}")


def load_engine(engine, folder, threads):
    """Returns the engine's load time in milliseconds, and a function that takes a task and a run count."""
    build, kind = ENGINES[engine]
    start = time.perf_counter()
    model = build(folder, threads, kind)
    loaded = 1e3 * (time.perf_counter() - start)
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        vocabulary = json.load(file)["vocab_size"]
    check_agreement(engine, model.logits, folder)

    def time_task(task, runs):
        work, _, depth = task.partition("-")
        prompt = prompt_of(int(depth), vocabulary)
        return model.decode_ms(prompt, runs) if work == "decode" else least_ms(lambda: model.prefill(prompt), runs)
    return loaded, time_task


def main():
    if sys.argv[1] in ("make", "save"):
        {"make": make, "save": save}[sys.argv[1]](*sys.argv[2:])
    else:
        serve(load_engine)


if __name__ == "__main__":
    main()
