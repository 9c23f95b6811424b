# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engines side by side: each in a process of its own, as spinning threads would disturb each other; rounds alternate.

What is fetched or made stays in the folder `bench` beside the build. Standard library only; rival.py has the rest.
"""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("TRANSOM_BUILD_DIR", os.path.join(ROOT, "build", "release"))
PLACE = os.path.join(os.path.dirname(os.path.abspath(BUILD)), "bench")
TRANSOM = os.path.join(BUILD, "bin", "transom")
PACKAGES = [["torch==2.13.0"], ["transformers", "onnx", "onnxruntime", "openvino"]]
RIVALS = ["onnxruntime", "openvino", "torch", "inductor"]


def say(text):
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr, flush=True)


def add_flags(parser):
    parser.add_argument("--rounds", type=int, default=3, help="how often each engine runs (default 3); the fastest counts")
    parser.add_argument("--threads", type=int, default=2, help="threads of each engine (default 2)")
    parser.add_argument("--priority", type=int, help="run engines at this real-time priority (chrt -f), for a machine in use")
    parser.add_argument("--python", help="a Python that has the rivals' packages; default: one is set up beside the build")


def prefix(flags):
    return ["chrt", "-f", str(flags.priority)] if flags.priority else []


def succeed(command, **options):
    """Runs a command; its output, or the end of this program with its last words."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}").splitlines()[-1]
        sys.exit(f"{os.path.basename(sys.argv[0])}: error: '{command[0]}' failed: {last}")
    return done.stdout


def made(path, make):
    """`path` below the cache; made under another name first, so that an interrupted run leaves nothing that looks whole."""
    path = os.path.join(PLACE, path)
    if not os.path.exists(path):
        say(f"making {os.path.relpath(path)}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        partial = path + ".part"
        shutil.rmtree(partial, ignore_errors=True)
        make(partial)
        os.rename(partial, path)
    return path


def rivals_python(flags):
    if flags.python:
        return flags.python
    folder = os.path.join(PLACE, "venv")
    python, done = os.path.join(folder, "bin", "python"), os.path.join(folder, "done")
    if not os.path.exists(done):
        say(f"setting up {os.path.relpath(folder)}: {' '.join(sum(PACKAGES, []))}")
        succeed([sys.executable, "-m", "venv", "--clear", folder])
        for packages in PACKAGES:
            succeed([python, "-m", "pip", "install", "--quiet", *packages])
        open(done, "w").close()
    return python


class Comparison:
    """One model on several engines."""

    def __init__(self, model, flags):
        self.flags = flags
        self.python = rivals_python(flags)
        self.folder = made(model, lambda path: succeed([self.python, os.path.join(HERE, "rival.py"), "make", model, path]))
        self.artifact = os.path.join(PLACE, model + ".so")
        succeed([TRANSOM, "compile", self.folder, "-q", "-o", self.artifact])
        results = os.path.join(self.folder, "results")
        succeed([TRANSOM, "run", self.artifact, "encode", "--in", os.path.join(self.folder, "inputs"), "--out", results])
        # The least milliseconds by shape and engine; the limit's are the engine named 'limit'.
        self.times = {}

    def best(self, shape, engine, milliseconds):
        row = self.times.setdefault(shape, {})
        row[engine] = min(milliseconds, row.get(engine, milliseconds))

    def run(self, engines, shapes):
        for number in range(self.flags.rounds):
            say(f"round {number + 1} of {self.flags.rounds}")
            for engine in engines:
                self.run_transom(shapes) if engine == "transom" else self.run_rival(engine, shapes)
        return self.times

    def run_transom(self, shapes):
        for shape in shapes:
            batch, length = shape.split("x")
            command = [TRANSOM, "bench", self.artifact, "-q", "-b", batch, "-s", length, "-r", str(runs_of(shape)),
                       "-t", str(self.flags.threads), "--format", "json"]
            (row,) = json.loads(succeed(prefix(self.flags) + command))
            self.best(shape, "transom", row["ms_min"])
            self.best(shape, "limit", row["ms_min"] * row["limit_share"])

    def run_rival(self, engine, shapes):
        job = dict(engine=engine, folder=self.folder, threads=self.flags.threads, shapes=shapes,
                   runs={shape: runs_of(shape) for shape in shapes})
        command = [self.python, os.path.join(HERE, "rival.py"), "time", json.dumps(job)]
        for shape, milliseconds in json.loads(succeed(prefix(self.flags) + command)).items():
            self.best(shape, engine, milliseconds)


def runs_of(shape):
    """The same for every engine; a few seconds each."""
    batch, length = map(int, shape.split("x"))
    return max(10, min(200, 6400 // (batch * length)))
