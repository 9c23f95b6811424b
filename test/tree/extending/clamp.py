# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The op `attn.clamp`, which a patch in docs/extending.md adds: a graph.json with it is compiled and run, and the evaluator
# computes it.
import json
import math
import os
import shutil
import struct
import subprocess

MIN, MAX = -1.0, 2.5
INPUT = [-math.inf, -3.0, -1.0, -0.5, 0.0, 2.5, 2.75, math.inf]
EXPECTED = [min(max(x, MIN), MAX) for x in INPUT]
GRAPH = {
    "transom": 1, "dims": {"batch": {}}, "inputs": [{"name": "x", "dtype": "f32", "shape": ["batch", 9]}],
    "nodes": [{"name": "y", "op": "clamp", "inputs": ["x"], "attrs": {"min": MIN, "max": MAX}}], "outputs": ["y"],
}
MODULE = f"""
func.func @run(%x: tensor<8xf32> {{attn.name = "x"}}) -> (tensor<8xf32> {{attn.name = "y"}}) {{
  %y = attn.clamp %x from {MIN} to {MAX} : [8] f32
  return %y : tensor<8xf32>
}}"""


def write_tensor(path, name, values):
    """Writes one row to a safetensors file."""
    header = json.dumps({name: {"dtype": "F32", "shape": [1, len(values)], "data_offsets": [0, 4 * len(values)]}}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + struct.pack(f"<{len(values)}f", *values))


def read_tensor(path, name):
    with open(path, "rb") as file:
        data = file.read()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    low, high = json.loads(data[8:begin])[name]["data_offsets"]
    return list(struct.unpack(f"<{(high - low) // 4}f", data[begin + low:begin + high]))


def check_compiled(build, objects, folder):
    """Compiles and runs the graph with a compiler that has the op; the last element is a NaN, and so is its result."""
    program = os.path.join(folder, "bin", "transom")
    os.makedirs(os.path.join(folder, "bin"))
    os.makedirs(os.path.join(folder, "lib"))
    shutil.copy(os.path.join(build.build, "bin", "transom"), program)
    linked = build.link("lib/libtransom-compiler.so", objects, os.path.join(folder, "lib", "libtransom-compiler.so"))
    if linked.returncode:
        yield f"the compiler with attn.clamp does not link: {linked.stderr.strip()}"
        return
    with open(os.path.join(folder, "graph.json"), "w", encoding="utf-8") as file:
        json.dump(GRAPH, file)
    write_tensor(os.path.join(folder, "in.safetensors"), "x", [*INPUT, math.nan])
    for arguments in (["compile", "graph.json", "-o", "clamp.so"],
                      ["run", "clamp.so", "run", "--in", "in.safetensors", "--out", "out.safetensors"]):
        done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            yield f"'transom {' '.join(arguments)}' with attn.clamp ends with {done.returncode}: {done.stderr.strip()}"
            return
    *numbers, last = read_tensor(os.path.join(folder, "out.safetensors"), "y")
    if numbers != EXPECTED or not math.isnan(last):
        yield f"the compiled attn.clamp gives {[*numbers, last]}, expected {[*EXPECTED, math.nan]}"


def check_evaluated(build, objects, folder):
    """Adds a case to those that the evaluator's test computes."""
    cases = os.path.join("test", "goldens", "evaluator", "cases.json")
    with open(os.path.join(build.source, cases), encoding="utf-8") as file:
        known = json.load(file)

    def tensor(values):
        listed = [x if math.isfinite(x) else "-inf" if x < 0 else "inf" for x in values]
        return {"dtype": "f32", "shape": [len(values)], "values": listed}

    known["cases"].append({"name": "clamp", "module": MODULE, "inputs": [{"name": "x", **tensor(INPUT)}], "result": tensor(EXPECTED)})
    os.makedirs(os.path.join(folder, os.path.dirname(cases)))
    with open(os.path.join(folder, cases), "w", encoding="utf-8") as file:
        json.dump(known, file)
    program = os.path.join(folder, "unit-evaluator")
    linked = build.link("test/bin/unit-evaluator", objects, program)
    if linked.returncode:
        yield f"the evaluator with attn.clamp does not link: {linked.stderr.strip()}"
        return
    done = subprocess.run([program, "--gtest_filter=EvaluateElementwise.*"], env={**os.environ, "TRANSOM_SOURCE_DIR": folder},
                          capture_output=True, text=True)
    if done.returncode or "[  PASSED  ] 1 test" not in done.stdout:
        yield f"the evaluator with attn.clamp ends with {done.returncode}: {done.stdout.strip()}"


def check(build, objects, folder):
    """Returns the op's errors; `objects` are the patch's changed objects by source."""
    shared = [made for name, made in objects.items() if not name.startswith("compiler/evaluator/")]
    yield from check_compiled(build, shared, folder)
    yield from check_evaluated(build, [made for name, made in objects.items() if "/import/" not in name], folder)
