#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The side of the comparison that needs the rivals' packages: it runs in their environment, one process an engine.
# rival.py make MODEL FOLDER: a checkpoint with random weights, its ONNX form, and inputs to agree on.
# rival.py time JOB: milliseconds of the fastest run of each shape, as JSON; JOB holds the arguments of time_shapes().
import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy  # noqa: E402

# Largest difference between two engines' float32 results.
AGREEMENT = 1e-3

MODELS = {
    "bert-base": {},
    "bert-large": dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096),
}


def export_onnx(model, path):
    """The mask is spelt out by hand: transformers' own comes out of a trace tied to the traced length."""
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


def make(name, folder):
    import safetensors.numpy
    import torch
    from transformers import BertConfig, BertModel
    torch.manual_seed(0)
    model = BertModel(BertConfig(**MODELS[name]), add_pooling_layer=False).eval()
    model.save_pretrained(folder)
    export_onnx(model, os.path.join(folder, "model.onnx"))
    mask = (numpy.arange(40) < numpy.array([[40], [17], [1]])).astype(numpy.int64)
    inputs = {"input_ids": some_ids(3, 40) * mask, "attention_mask": mask}
    safetensors.numpy.save_file(inputs, os.path.join(folder, "inputs"))


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


def load_openvino(folder, threads):
    import openvino
    hints = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    model = openvino.Core().compile_model(os.path.join(folder, "model.onnx"), "CPU", hints)
    request = model.create_infer_request()
    return lambda ids, mask: request.infer({"input_ids": ids, "attention_mask": mask})[0]


ENGINES = {"onnxruntime": load_onnxruntime, "openvino": load_openvino, "torch": load_torch, "inductor": load_inductor}


def check_agreement(encode, folder):
    """An engine that computes something else is no rival."""
    from safetensors.numpy import load_file
    inputs, ours = (load_file(os.path.join(folder, name)) for name in ("inputs", "results"))
    kept = inputs["attention_mask"] == 1
    difference = abs(encode(inputs["input_ids"], inputs["attention_mask"]) - ours["last_hidden_state"])[kept].max()
    if not difference <= AGREEMENT:
        sys.exit(f"its results differ from transom's by {difference:g}, at most {AGREEMENT:g}")


def time_shapes(engine, folder, threads, runs, shapes):
    encode = ENGINES[engine](folder, threads)
    check_agreement(encode, folder)
    best = {}
    for shape in shapes:
        ids = some_ids(*map(int, shape.split("x")))
        mask = numpy.ones_like(ids)
        encode(ids, mask)
        times = []
        for _ in range(int(runs[shape])):
            start = time.perf_counter()
            encode(ids, mask)
            times.append(time.perf_counter() - start)
        best[shape] = 1e3 * min(times)
    return best


def main():
    if sys.argv[1] == "make":
        make(*sys.argv[2:])
    else:
        job = json.loads(sys.argv[2])
        print(json.dumps(time_shapes(**job)))


if __name__ == "__main__":
    main()
