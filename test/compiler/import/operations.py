#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# operations.py TRANSOM GOLDENS REFERENCE [NAME...]: each graph.json operation alone in a graph, compiled and run, against the
# results in GOLDENS. Every operation in REFERENCE has a case.
import json
import math
import re
import struct
import subprocess
import sys
import tempfile

TYPES = {"x": "f32", "y": "f32", "p": "f32", "ids": "i64", "keep": "bool"}
CODES = {"f32": ("F32", "f"), "i64": ("I64", "q"), "bool": ("BOOL", "?")}


def save(path, tensors):
    """tensors: name -> (type, {"shape", "values"})."""
    header, data = {}, b""
    for name, (kind, tensor) in tensors.items():
        label, code = CODES[kind]
        begin = len(data)
        data += struct.pack(f"<{len(tensor['values'])}{code}", *tensor["values"])
        header[name] = {"dtype": label, "shape": tensor["shape"], "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(path, "wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text + data)


def load(path, name):
    with open(path, "rb") as stream:
        data = stream.read()
    (length,) = struct.unpack_from("<Q", data)
    entry = json.loads(data[8:8 + length])[name]
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    return entry["shape"], struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])


def write_model(folder, goldens, case):
    read = [name for node in case["nodes"] for name in node["inputs"]]
    inputs = [{"name": name, "dtype": kind, "shape": ["batch", "seq", 8] if kind == "f32" else ["batch", "seq"]}
              for name, kind in TYPES.items() if name in read]
    save(f"{folder}/weights.safetensors", {name: ("f32", tensor) for name, tensor in goldens["weights"].items()})
    save(f"{folder}/in.safetensors", {each["name"]: (each["dtype"], goldens["inputs"][each["name"]]) for each in inputs})
    with open(f"{folder}/graph.json", "w", encoding="utf-8") as stream:
        json.dump({"transom": 1, "weights": ["weights.safetensors"], "dims": {"batch": {}, "seq": {"max": 12}},
                   "inputs": inputs, "nodes": case["nodes"], "outputs": ["o"]}, stream)


def problem(transom, goldens, case):
    """Returns the error in a case, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder, goldens, case)
        for command in (["compile", folder, "-o", f"{folder}/model.so"],
                        ["run", f"{folder}/model.so", "run", "--in", f"{folder}/in.safetensors",
                         "--out", f"{folder}/out.safetensors"]):
            done = subprocess.run([transom, *command, "-q"], capture_output=True, text=True, timeout=400)
            if done.returncode:
                return f"{command[0]} exits {done.returncode}: {done.stderr.strip()}"
        shape, values = load(f"{folder}/out.safetensors", "o")
    wanted = case["expect"]
    if shape != wanted["shape"]:
        return f"has shape {shape}, expected {wanted['shape']}"
    for index, (got, want) in enumerate(zip(values, wanted["values"])):
        if not math.isfinite(got) or abs(got - want) > 2e-5 + 2e-5 * abs(want):
            return f"element {index} is {got}, expected {want}"
    return None


def main():
    transom, goldens, reference, *names = sys.argv[1:]
    with open(goldens, encoding="utf-8") as stream:
        goldens = json.load(stream)
    with open(reference, encoding="utf-8") as stream:
        operations = set(re.findall(r"^\| `(\w+)` \|", stream.read(), re.MULTILINE))
    untested = operations - {node["op"] for case in goldens["cases"] for node in case["nodes"]}
    failed = len(untested)
    if untested:
        print("FAIL no case for", ", ".join(sorted(untested)))
    for case in goldens["cases"]:
        if not names or case["name"] in names:
            wrong = problem(transom, goldens, case)
            failed += wrong is not None
            print("FAIL" if wrong else "ok  ", case["name"], wrong or "", flush=True)
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


main()
