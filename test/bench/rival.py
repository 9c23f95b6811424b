#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The part of the comparison that needs the rivals' packages: it runs in their environment, one process per engine.
# rival.py make MODEL FOLDER [SOURCE]: a checkpoint with random weights (or a copy of SOURCE's), its formats for the engines,
# inputs to agree on, and texts with mixed lengths. `save` omits the formats.
# rival.py time JOB: loads an engine, and times a task for each input line; JOB contains the arguments for load_engine().
import importlib
import json
import os
import shutil
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy  # noqa: E402

# Largest difference between two engines' float32 results, and smallest row cosine for rivals with lower precision; rivals' int8
# with one scale per row has 0.943 for all-MiniLM-L6-v2.
AGREEMENT, LEAST_COSINES = 1e-3, {"bf16": 0.98, "int8": 0.9}

# By name: the model's type in transformers, its config, and the constructor argument that omits the pooler.
NO_POOLER = dict(add_pooling_layer=False)
MODELS = {
    "bert-base": ("bert", {}, NO_POOLER),
    "bert-large": ("bert", dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096), NO_POOLER),
    "xlm-roberta-base": ("xlm-roberta", dict(vocab_size=250002, max_position_embeddings=514, type_vocab_size=1), NO_POOLER),
    "mpnet-base": ("mpnet", {}, NO_POOLER),
    "modernbert-base": ("modernbert", {}, {}),
    "deberta-v3-base": ("deberta-v2", dict(
        hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072, vocab_size=128100,
        max_position_embeddings=512, relative_attention=True, position_buckets=256, norm_rel_ebd="layer_norm", share_att_key=True,
        pos_att_type=["p2c", "c2p"], type_vocab_size=0, position_biased_input=False), {}),
}
# Text counts with mixed lengths for each model.
TEXTS, SMALL, SMALL_TEXTS = 64, 400, 256
# A query with each of N passages, as rerankers receive them.
PASSAGES, PASSAGE_LENGTH = 100, 100


def export_onnx(model, path):
    """With batch and length as symbols, and the attention that transformers chooses."""
    import torch

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            return self.model(input_ids=ids, attention_mask=mask).last_hidden_state

    ids, mask = torch.from_numpy(some_ids(2, 24)), torch.ones(2, 24, dtype=torch.int64)
    symbols = {0: torch.export.Dim("batch", min=1, max=512), 1: torch.export.Dim("seq", min=2, max=512)}
    program = torch.onnx.export(Encoder(), (ids, mask), dynamo=True, verbose=False, dynamic_shapes=dict(ids=symbols, mask=symbols),
                                input_names=["input_ids", "attention_mask"], output_names=["last_hidden_state"])
    program.save(path, external_data=False)


def convert_ctranslate2(model, folder):
    """CTranslate2's own format; its converter requires a vocabulary, so each id gets a word."""
    from ctranslate2.converters.transformers import TransformersConverter
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    words = {f"t{i}": i for i in range(model.config.vocab_size)}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="t3")), pad_token="t0",
                                        bos_token="t1", cls_token="t1", eos_token="t2", sep_token="t2", unk_token="t3",
                                        mask_token="t4")
    type(model.config).position_embedding_type = "absolute"
    converter = TransformersConverter(folder)
    converter.load_tokenizer = lambda *arguments, **options: tokenizer
    converter.convert(os.path.join(folder, "ct2"))


def save_sequences(path, lengths, vocabulary):
    import safetensors.numpy
    mask = (numpy.arange(lengths.max()) < lengths[:, None]).astype(numpy.int64)
    ids = numpy.random.default_rng(4).integers(5, vocabulary - 5, mask.shape) * mask
    safetensors.numpy.save_file({"input_ids": ids, "attention_mask": mask}, path)


def text_lengths(count):
    """Mixed lengths, as in texts: logarithms are normal, the median is 30."""
    return numpy.clip(numpy.exp(numpy.random.default_rng(3).normal(3.4, 0.9, count)).astype(int), 4, 256)


def new_model(name, source):
    import torch
    from transformers import AutoConfig, AutoModel
    torch.manual_seed(0)
    if source:
        return AutoModel.from_pretrained(source, **NO_POOLER).eval()
    kind, values, options = MODELS[name]
    return AutoModel.from_config(AutoConfig.for_model(kind, **values), **options).eval()


def save(name, folder, source=None):
    """The checkpoint alone, with inputs, texts and passages."""
    import safetensors.numpy
    model = new_model(name, source)
    model.save_pretrained(folder)
    mask = (numpy.arange(40) < numpy.array([[40], [17], [1]])).astype(numpy.int64)
    inputs = {"input_ids": some_ids(3, 40) * mask, "attention_mask": mask}
    safetensors.numpy.save_file(inputs, os.path.join(folder, "inputs"))
    texts = SMALL_TEXTS if model.config.hidden_size < SMALL else TEXTS
    save_sequences(os.path.join(folder, "texts"), text_lengths(texts), model.config.vocab_size)
    save_sequences(os.path.join(folder, "passages"), numpy.full(PASSAGES, PASSAGE_LENGTH), model.config.vocab_size)
    return model


def make(name, folder, source=None):
    model = save(name, folder, source)
    try:
        convert_ctranslate2(model, folder)
    except Exception as error:  # any converter error: the other engines do not need it
        print(f"no form for ctranslate2: {error}", file=sys.stderr)
        shutil.rmtree(os.path.join(folder, "ct2"), ignore_errors=True)
    export_onnx(model, os.path.join(folder, "model.onnx"))


def some_ids(batch, length):
    return numpy.random.default_rng(0).integers(5, 30000, (batch, length))


def load_torch(folder, threads, compiled=False):
    import torch
    from transformers import AutoModel
    torch.set_num_threads(threads)
    model = AutoModel.from_pretrained(folder).eval()
    if compiled:
        model = torch.compile(model, dynamic=False)

    def encode(ids, mask):
        with torch.inference_mode():
            return model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).last_hidden_state.numpy()
    return encode


def load_inductor(folder, threads):
    return load_torch(folder, threads, compiled=True)


def quantized_onnx(folder):
    """The model with int8 matmuls, as quantized by ONNX Runtime: activation row scales are computed at run time."""
    path = os.path.join(folder, "model-int8.onnx")
    if not os.path.exists(path):
        from onnxruntime.quantization import QuantType, quantize_dynamic
        quantize_dynamic(os.path.join(folder, "model.onnx"), path, per_channel=True, weight_type=QuantType.QInt8)
    return path


def load_onnxruntime_int8(folder, threads):
    return load_onnxruntime(folder, threads, quantized_onnx(folder))


def load_onnxruntime(folder, threads, path=None):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path or os.path.join(folder, "model.onnx"), options, providers=["CPUExecutionProvider"])
    return lambda ids, mask: session.run(None, {"input_ids": ids, "attention_mask": mask})[0]


def load_openvino(folder, threads, precision="f32", path=None):
    import openvino
    hints = {"INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    model = openvino.Core().compile_model(path or os.path.join(folder, "model.onnx"), "CPU", hints)
    request = model.create_infer_request()
    return lambda ids, mask: request.infer({"input_ids": ids, "attention_mask": mask})[0]


def load_openvino_bf16(folder, threads):
    return load_openvino(folder, threads, "bf16")


def load_openvino_int8(folder, threads):
    """The model that ONNX Runtime quantizes."""
    return load_openvino(folder, threads, path=quantized_onnx(folder))


def load_ctranslate2_int8(folder, threads):
    return load_ctranslate2(folder, threads, "int8")


def load_ctranslate2(folder, threads, kind="float32"):
    import ctranslate2
    encoder = ctranslate2.Encoder(os.path.join(folder, "ct2"), device="cpu", intra_threads=threads, compute_type=kind)

    def encode(ids, mask):
        rows = [row[:length] for row, length in zip(ids.tolist(), mask.sum(1).tolist())]
        return numpy.array(encoder.forward_batch(rows).last_hidden_state)
    return encode


ENGINES = {
    "openvino": (load_openvino, ["openvino"]),
    "openvino-bf16": (load_openvino_bf16, ["openvino"]),
    "openvino-int8": (load_openvino_int8, ["openvino", "onnxruntime"]),
    "onnxruntime": (load_onnxruntime, ["onnxruntime"]),
    "onnxruntime-int8": (load_onnxruntime_int8, ["onnxruntime"]),
    "ctranslate2-int8": (load_ctranslate2_int8, ["ctranslate2"]),
    "ctranslate2": (load_ctranslate2, ["ctranslate2"]),
    "torch": (load_torch, ["torch", "transformers"]),
    "inductor": (load_inductor, ["torch", "transformers"]),
}


def check_agreement(engine, encode, folder):
    """An engine with different results is not a valid rival."""
    from safetensors.numpy import load_file
    inputs, ours = (load_file(os.path.join(folder, name)) for name in ("inputs", "results"))
    kept = inputs["attention_mask"] == 1
    theirs, ours = encode(inputs["input_ids"], inputs["attention_mask"])[kept], ours["last_hidden_state"][kept]
    least = next((least for bits, least in LEAST_COSINES.items() if bits in engine), None)
    if least:
        cosine = (theirs * ours).sum(1) / numpy.sqrt((theirs**2).sum(1) * (ours**2).sum(1))
        if not cosine.min() >= least:
            sys.exit(f"its results have a cosine of {cosine.min():g} to transom's, at least {least}")
        return
    difference = abs(theirs - ours).max()
    if not difference <= AGREEMENT:
        sys.exit(f"its results differ from transom's by {difference:g}, at most {AGREEMENT:g}")


def batches_of(path, size):
    """Returns the sequences in a file by length, `size` at a time, padded to the longest in their batch."""
    from safetensors.numpy import load_file
    texts = load_file(path)
    ids, mask = texts["input_ids"], texts["attention_mask"]
    lengths = mask.sum(1)
    order = numpy.argsort(lengths, kind="stable")
    for begin in range(0, len(order), size):
        rows = order[begin:begin + size]
        longest = lengths[rows].max()
        yield numpy.ascontiguousarray(ids[rows, :longest]), numpy.ascontiguousarray(mask[rows, :longest])


def inputs_of(task, folder):
    """Returns the calls in a task."""
    name, _, size = task.partition("-")
    if size:
        return list(batches_of(os.path.join(folder, name), int(size)))
    ids = some_ids(*map(int, task.split("x")))
    return [(ids, numpy.ones_like(ids))]


def least_ms(work, runs):
    """Returns the fastest of `runs` runs after one warm-up."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def load_engine(engine, folder, threads):
    """Returns the engine's load time in milliseconds, and a function that takes a task and a run count."""
    load, packages = ENGINES[engine]
    for package in packages:
        importlib.import_module(package)
    start = time.perf_counter()
    encode = load(folder, threads)
    loaded = 1e3 * (time.perf_counter() - start)
    calls = {}

    def time_task(task, runs):
        if not calls:
            check_agreement(engine, encode, folder)
        if task not in calls:
            calls[task] = inputs_of(task, folder)
        return least_ms(lambda: [encode(ids, mask) for ids, mask in calls[task]], runs)
    return loaded, time_task


def serve(load):
    """Answers each line `{"task": ..., "runs": ...}` with a line `{"ms": ...}`; the first line reports the load."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # engines may print anything
    loaded, time_task = load(**json.loads(sys.argv[2]))
    print(json.dumps({"load": loaded}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps({"ms": time_task(**json.loads(line))}), file=answers, flush=True)


def main():
    if sys.argv[1] in ("make", "save"):
        {"make": make, "save": save}[sys.argv[1]](*sys.argv[2:])
    else:
        serve(load_engine)


if __name__ == "__main__":
    main()
