#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The side of the comparison that needs the rivals' packages: it runs in their environment, one process an engine.
# rival.py make MODEL FOLDER [SOURCE]: a checkpoint with random weights (or a copy of SOURCE's), its forms for the
# engines, inputs to agree on, and texts of mixed length. `save` leaves out the forms.
# rival.py time JOB: loads an engine, and times a task for each line of the input; JOB holds the arguments of load_engine().
import importlib
import json
import os
import shutil
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy  # noqa: E402

# Largest difference between two engines' float32 results, and least cosine of a row where a rival computes in bf16.
AGREEMENT, BF16_COSINE = 1e-3, 0.98

MODELS = {
    "bert-base": {},
    "bert-large": dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096),
}


def export_onnx(model, path):
    """Builds the mask by hand, since a trace of transformers' own mask is fixed to the traced length."""
    import torch

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            hidden = (mask[:, None, None, :] - 1).float() * 1e5
            return self.model.encoder(self.model.embeddings(ids), hidden).last_hidden_state

    model.set_attn_implementation("eager")
    ids = torch.ones(2, 24, dtype=torch.int64)
    names, axes = ["input_ids", "attention_mask", "last_hidden_state"], {0: "batch", 1: "seq"}
    torch.onnx.export(Encoder(), (ids, ids), path, input_names=names[:2], output_names=names[2:],
                      dynamic_axes={name: axes for name in names}, dynamo=False, opset_version=17)


def convert_ctranslate2(model, folder):
    """CTranslate2's own form; its converter asks for a vocabulary, so each id gets a word."""
    from ctranslate2.converters.transformers import TransformersConverter
    from tokenizers import Tokenizer, models
    from transformers import BertConfig, PreTrainedTokenizerFast
    words = {f"t{i}": i for i in range(model.config.vocab_size)}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="t3")), pad_token="t0",
                                        bos_token="t1", cls_token="t1", eos_token="t2", sep_token="t2", unk_token="t3",
                                        mask_token="t4")
    BertConfig.position_embedding_type = "absolute"
    converter = TransformersConverter(folder)
    converter.load_tokenizer = lambda *arguments, **options: tokenizer
    converter.convert(os.path.join(folder, "ct2"))


def save_texts(path, vocabulary):
    """256 sequences of mixed length, as texts have: lengths fall off exponentially around 30."""
    import safetensors.numpy
    random = numpy.random.default_rng(3)
    lengths = numpy.clip(numpy.exp(random.normal(3.4, 0.9, 256)).astype(int), 4, 256)
    mask = (numpy.arange(lengths.max()) < lengths[:, None]).astype(numpy.int64)
    ids = random.integers(5, vocabulary - 5, mask.shape) * mask
    safetensors.numpy.save_file({"input_ids": ids, "attention_mask": mask}, path)


def save(name, folder, source=None):
    """The checkpoint alone, with inputs and texts."""
    import safetensors.numpy
    import torch
    from transformers import BertConfig, BertModel
    torch.manual_seed(0)
    if source:
        model = BertModel.from_pretrained(source, add_pooling_layer=False).eval()
    else:
        model = BertModel(BertConfig(**MODELS[name]), add_pooling_layer=False).eval()
    model.save_pretrained(folder)
    mask = (numpy.arange(40) < numpy.array([[40], [17], [1]])).astype(numpy.int64)
    inputs = {"input_ids": some_ids(3, 40) * mask, "attention_mask": mask}
    safetensors.numpy.save_file(inputs, os.path.join(folder, "inputs"))
    save_texts(os.path.join(folder, "texts"), model.config.vocab_size)
    return model


def make(name, folder, source=None):
    model = save(name, folder, source)
    try:
        convert_ctranslate2(model, folder)
    except Exception as error:  # whatever its converter dislikes: the other engines do not need it
        print(f"no form for ctranslate2: {error}", file=sys.stderr)
        shutil.rmtree(os.path.join(folder, "ct2"), ignore_errors=True)
    export_onnx(model, os.path.join(folder, "model.onnx"))


def some_ids(batch, length):
    return numpy.random.default_rng(0).integers(5, 30000, (batch, length))


def load_torch(folder, threads, compiled=False):
    import torch
    from transformers import AutoModel
    torch.set_num_threads(threads)
    model = AutoModel.from_pretrained(folder, attn_implementation="sdpa").eval()
    if compiled:
        model = torch.compile(model, dynamic=False)

    def encode(ids, mask):
        with torch.inference_mode():
            return model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).last_hidden_state.numpy()
    return encode


def load_inductor(folder, threads):
    return load_torch(folder, threads, compiled=True)


def load_onnxruntime(folder, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(os.path.join(folder, "model.onnx"), options, providers=["CPUExecutionProvider"])
    return lambda ids, mask: session.run(None, {"input_ids": ids, "attention_mask": mask})[0]


def load_openvino(folder, threads, precision="f32"):
    import openvino
    hints = {"INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    model = openvino.Core().compile_model(os.path.join(folder, "model.onnx"), "CPU", hints)
    request = model.create_infer_request()
    return lambda ids, mask: request.infer({"input_ids": ids, "attention_mask": mask})[0]


def load_openvino_bf16(folder, threads):
    return load_openvino(folder, threads, "bf16")


def load_ctranslate2(folder, threads):
    import ctranslate2
    encoder = ctranslate2.Encoder(os.path.join(folder, "ct2"), device="cpu", intra_threads=threads, compute_type="float32")

    def encode(ids, mask):
        rows = [row[:length] for row, length in zip(ids.tolist(), mask.sum(1).tolist())]
        return numpy.array(encoder.forward_batch(rows).last_hidden_state)
    return encode


ENGINES = {
    "openvino": (load_openvino, ["openvino"]),
    "openvino-bf16": (load_openvino_bf16, ["openvino"]),
    "onnxruntime": (load_onnxruntime, ["onnxruntime"]),
    "ctranslate2": (load_ctranslate2, ["ctranslate2"]),
    "torch": (load_torch, ["torch", "transformers"]),
    "inductor": (load_inductor, ["torch", "transformers"]),
}


def check_agreement(engine, encode, folder):
    """An engine that computes something else is no rival."""
    from safetensors.numpy import load_file
    inputs, ours = (load_file(os.path.join(folder, name)) for name in ("inputs", "results"))
    kept = inputs["attention_mask"] == 1
    theirs, ours = encode(inputs["input_ids"], inputs["attention_mask"])[kept], ours["last_hidden_state"][kept]
    if "bf16" in engine:
        cosine = (theirs * ours).sum(1) / numpy.sqrt((theirs**2).sum(1) * (ours**2).sum(1))
        if not cosine.min() >= BF16_COSINE:
            sys.exit(f"its results have a cosine of {cosine.min():g} to transom's, at least {BF16_COSINE}")
        return
    difference = abs(theirs - ours).max()
    if not difference <= AGREEMENT:
        sys.exit(f"its results differ from transom's by {difference:g}, at most {AGREEMENT:g}")


def batches_of_texts(folder, size):
    """The texts by length, `size` at a time, padded to the longest of their batch."""
    from safetensors.numpy import load_file
    texts = load_file(os.path.join(folder, "texts"))
    ids, mask = texts["input_ids"], texts["attention_mask"]
    lengths = mask.sum(1)
    order = numpy.argsort(lengths, kind="stable")
    for begin in range(0, len(order), size):
        rows = order[begin:begin + size]
        longest = lengths[rows].max()
        yield numpy.ascontiguousarray(ids[rows, :longest]), numpy.ascontiguousarray(mask[rows, :longest])


def inputs_of(task, folder):
    """The calls that a task is made of."""
    if task.startswith("texts-"):
        return list(batches_of_texts(folder, int(task.partition("-")[2])))
    ids = some_ids(*map(int, task.split("x")))
    return [(ids, numpy.ones_like(ids))]


def least_ms(work, runs):
    """The fastest of so many runs after one warm-up."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def load_engine(engine, folder, threads):
    """Milliseconds that the engine takes to load, and a function of a task and a number of runs."""
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
    """Answers each line `{"task": ..., "runs": ...}` with a line `{"ms": ...}`; the first line tells of the load."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # engines may print what they like
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
