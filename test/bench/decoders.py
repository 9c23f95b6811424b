# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders for the comparison: checkpoints, llama.cpp built from source, and tasks by engine.

A task is `prefill-512` (a prompt with 512 tokens), `decode-4096` (NEW_TOKENS tokens after 4096) or `together-8` (8 sequences
decode NEW_TOKENS tokens each after prompts with NEW_TOKENS tokens). Standard library only; rival_decoder.py has the rest. All
times are milliseconds for the complete task; decode tasks exclude the prompt.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tarfile

from compare import HERE, PLACE, TRANSOM, Checkpoint, made, output_of, prefix, rivals_python, succeed

MODELS = ("gpt2", "llama-213m")
RIVALS = ["llamacpp", "llamacpp-bf16", "llamacpp-q8_0", "llamacpp-q4_0", "llamacpp-q4_k_m", "ctranslate2", "ctranslate2-int8"]
NEW_TOKENS = 64
# The Python package contains llama.cpp's source, so one download provides the library, its own benchmark and the binding.
LLAMA = "llama-cpp-python==0.3.36"
# GCC 12 drops a part of the AMX tile configuration, and the code ends with an illegal instruction.
LLAMA_FLAGS = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19", "-DCMAKE_BUILD_TYPE=Release",
               "-DCMAKE_BUILD_RPATH_USE_ORIGIN=ON", "-DBUILD_SHARED_LIBS=ON", "-DGGML_NATIVE=ON",
               "-DGGML_OPENMP=OFF", "-DLLAMA_CURL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_SERVER=OFF",
               "-DLLAMA_BUILD_EXAMPLES=OFF"]
PACKAGES = ["gguf", "ctranslate2", "diskcache", "jinja2", "typing-extensions"]


def build_llama(folder):
    """`bin` with llama-batched-bench and the libraries, `python` with the package llama_cpp."""
    work = folder + ".work"
    shutil.rmtree(work, ignore_errors=True)
    succeed([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", LLAMA.partition("==")[0], "--dest", work,
             LLAMA])
    (archive,) = glob.glob(os.path.join(work, "*.tar.gz"))
    with tarfile.open(archive) as file:
        file.extractall(work, filter="data")
    source, build = archive[:-len(".tar.gz")], os.path.join(work, "build")
    succeed(["cmake", "-G", "Ninja", "-S", os.path.join(source, "vendor", "llama.cpp"), "-B", build, *LLAMA_FLAGS])
    succeed(["nice", "cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", "llama-batched-bench"])
    shutil.copytree(os.path.join(build, "bin"), os.path.join(folder, "bin"), symlinks=True)
    shutil.copytree(os.path.join(source, "llama_cpp"), os.path.join(folder, "python", "llama_cpp"))
    shutil.rmtree(work)


def llama():
    return made("llama.cpp", build_llama)


def decoders_python(flags):
    """The rivals' Python with the additional decoder packages."""
    python = rivals_python(flags)
    done = os.path.join(PLACE, "venv", "done-decoders")
    if not flags.python and not os.path.exists(done):
        succeed([python, "-m", "pip", "install", "--quiet", *PACKAGES])
        open(done, "w").close()
    return python


def tokens_of(task):
    """Returns the token count that a task's time covers; None if it is not a decoder task."""
    kind, _, size = task.partition("-")
    return {"prefill": int(size), "decode": NEW_TOKENS, "together": NEW_TOKENS * int(size)}[kind] if size.isdigit() and \
        kind in ("prefill", "decode", "together") else None


class DecoderModel(Checkpoint):
    """`gpt2` or `llama-213m`."""

    script = "rival_decoder.py"

    def __init__(self, name, flags):
        self.flags = flags
        python = decoders_python(flags)
        environment = {} if flags.old else {"PYTHONPATH": os.path.join(llama(), "python"), "LLAMA_CPP_LIB_PATH": os.path.join(llama(), "bin")}
        super().__init__(name, python, [python, os.path.join(HERE, self.script)], environment)
        succeed([TRANSOM, "run", self.artifact("transom"), "logits", "--in", os.path.join(self.folder, "inputs"), "--out",
                 os.path.join(self.folder, "results")])

    def turn(self, engine, task, runs, threads, env):
        if engine.startswith("llamacpp") and task.startswith("together"):
            return dict(ms=min(self.time_together(engine, task, threads) for _ in range(runs)))
        return super().turn(engine, task, runs, threads, env)

    def time_together(self, engine, task, threads):
        """llama.cpp's own benchmark for sequences that decode together, which includes a warm-up."""
        count = int(task.partition("-")[2])
        kind = engine.partition("-")[2] or "f32"
        out = output_of([*prefix(self.flags), os.path.join(llama(), "bin", "llama-batched-bench"), "-m",
                         os.path.join(self.folder, kind + ".gguf"), "-c", str(2 * NEW_TOKENS * count + 64), "-b", "512", "-ub", "512",
                         "-npp", str(NEW_TOKENS), "-ntg", str(NEW_TOKENS), "-npl", str(count), "-t", str(threads), "-tb",
                         str(threads), "--output-format", "jsonl"])
        row = json.loads(next(line for line in out.splitlines() if line.startswith("{")))
        return 1e3 * row["t_tg"]

    def bench(self, engine, task, threads):
        """The command that times a task."""
        kind, _, size = task.partition("-")
        work = {"prefill": ["-p", size], "decode": ["-n", str(NEW_TOKENS), "-d", size],
                "together": ["-n", str(NEW_TOKENS), "-d", str(NEW_TOKENS), "-b", size]}[kind]
        return [*prefix(self.flags), self.program(engine), "bench", self.artifact(engine), "-q", *work, "-t", str(threads)]
