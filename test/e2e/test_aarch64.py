#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the tool without the compiler for aarch64, and runs golden models compiled with --target aarch64 under qemu-aarch64:
results are within the goldens' tolerances and have the same bits as on AVX2, in f32, bf16 and with int8 weights.

Exits 77 where the cross compiler or qemu is missing. The build persists in the folder 'aarch64' in the build tree.
"""
import glob
import importlib
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

SOURCE, BINARY = os.environ["TRANSOM_SOURCE_DIR"], os.environ["TRANSOM_BINARY_DIR"]
SYSROOT = "/usr/aarch64-linux-gnu"
HOST = [os.path.join(BINARY, "bin", "transom")]
ARM = ["qemu-aarch64", "-L", SYSROOT, os.path.join(BINARY, "aarch64", "bin", "transom")]
# Folder, type, optimization level: bits do not depend on the level, and most use -O0 to save time.
MODELS = [("test/goldens/bert", "f32", 2), ("test/goldens/bert", "bf16", 0), ("test/goldens/bert-tokens", "f32", 0),
          ("examples/pre-norm", "bf16", 0), ("examples/decomposed-attention", "f32", 0), ("examples/transformer-encoder", "f32", 0),
          ("test/goldens/gpt2", "f32", 0), ("test/goldens/llama-gqa", "f32", 0), ("test/goldens/llama-gqa", "bf16", 2),
          ("test/goldens/llama-gqa", "int8", 0), ("test/goldens/llama-gqa", "int4", 0), ("test/goldens/bert", "int8", 0),
          ("test/goldens/gemma2", "bf16", 0), ("test/goldens/bloom-alibi", "f32", 0)]

goldens = importlib.import_module("check-goldens")


def skip(reason):
    print(f"skipped: {reason}; crossbuild-essential-arm64 and qemu-user have it")
    sys.exit(77)


def call(command, expected=0):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != expected:
        sys.exit(f"{' '.join(command)}\nexits {done.returncode}, expected {expected}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout + done.stderr


def build():
    folder = os.path.join(BINARY, "aarch64")
    call(["cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja", "--toolchain", os.path.join(SOURCE, "cmake", "aarch64-linux-gnu.cmake"),
          "-DCMAKE_BUILD_TYPE=Release", "-DTRANSOM_COMPILER=OFF", "-DTRANSOM_TESTS=OFF"])
    call(["ninja", "-C", folder, "transom"])


def bits(path):
    """Returns {name: (shape, values as hexadecimal)}, which preserves every bit."""
    return {name: (shape, [v.hex() if isinstance(v, float) else v for v in values])
            for name, (shape, values) in goldens.read_tensors(path).items()}


def check_model(folder, dtype, level, scratch):
    name = f"{os.path.basename(folder)} {dtype}"
    flags = ["--quantize", dtype] if dtype.startswith("int") else ["--dtype", dtype]
    meta = goldens.json.load(open(os.path.join(folder, "cases.json")))
    arm, host = artifacts = [os.path.join(scratch, f"{name}.{target}.so") for target in ("aarch64", "x86-64-v3")]
    for artifact in artifacts:
        call([*HOST, "compile", folder, "-q", f"-O{level}", *flags, "--target", artifact.split(".")[-2], "-o", artifact])
    for case in meta["cases"]:
        # A barrier for each step in each token is slow if there are fewer CPUs than emulated threads.
        entry = goldens.get_entry(case)
        threads = "1" if entry == "generate" else "2"
        given, expected = os.path.join(folder, case["input"]), os.path.join(folder, case["expect"])
        for tool, artifact in ((ARM, arm), (HOST, host)):
            call([*tool, "run", artifact, entry, "--in", given, "--out", artifact + ".out", "-t", threads,
                  *goldens.generation_flags(case)])
        problem = None
        if dtype == "f32":
            results = [goldens.read_tensors(path) for path in (arm + ".out", expected)]
            problem = goldens.difference(*results, meta["atol"], meta["rtol"])
        if problem is None and bits(arm + ".out") != bits(host + ".out"):
            problem = "the bits differ from those of AVX2"
        if problem:
            sys.exit(f"FAIL {name} {case['input']}: {problem}")
        print(f"ok   {name} {case['input']}", flush=True)
    return arm, host


def main():
    for program in ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-aarch64"):
        if not shutil.which(program):
            skip(f"there is no '{program}'")
    if not glob.glob(SYSROOT + "/lib/libstdc++.so*"):
        skip(f"there is no C++ library in '{SYSROOT}'")
    build()
    with tempfile.TemporaryDirectory() as scratch:
        for model, dtype, level in MODELS:
            arm, host = check_model(os.path.join(SOURCE, model), dtype, level, scratch)
        # Code for the other target is refused with a message that names it, but can be inspected.
        for tool, artifact, words in ((HOST, arm, "has code for aarch64, this machine is x86-64"),
                                      (ARM, host, "has code for x86-64, this machine is aarch64")):
            refused = call([*tool, "run", artifact, "run", "--in", "none", "--out", "none"], expected=4)
            assert words in refused, refused
            assert "instruction sets" in call([*tool, "inspect", artifact])
    print("ok   the other machine's artifacts are refused")


if __name__ == "__main__":
    main()
