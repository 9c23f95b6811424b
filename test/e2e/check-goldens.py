#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles golden models, runs their cases through the command line and compares with the expected tensors.

usage: check-goldens.py TRANSOM FOLDER... [--all-isas | --isa NAME...] [--compile-flag=FLAG]... [--entry NAME]...
           [--threads N] [--tolerance ABSOLUTE RELATIVE] [--cosine LEAST] [--gguf]

--gguf converts the folder to a GGUF file and compiles that file. --all-isas runs each case with each instruction set that the
artifact contains code for and this CPU supports. Standard library only. Prints one line per case; exits 1 when a case failed, 2
when there was none, 77 where a backend library is not installed. Generated ids must equal the expected ids; under a case's own
tolerance, within which near ties may be decided differently, each id must be the most likely one by the artifact's own logits.
Encoder-decoder beams must then have the scores that the entry `score` returns for their tokens.
"""
import argparse
import functools
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

CODES = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B", "BOOL": "?"}


def read_tensors(path):
    """Returns {name: (shape, flat list)} for a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        code = CODES[entry["dtype"]]
        count = (end - begin) // struct.calcsize(code)
        tensors[name] = (entry["shape"], struct.unpack_from(f"<{count}{code}", data, 8 + length + begin))
    return tensors


def write_tensors(path, tensors):
    """Writes {name: (shape, integers)} as safetensors."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        piece = struct.pack(f"<{len(values)}q", *values)
        header[name] = {"dtype": "I64", "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def generation_flags(case):
    """Returns a case's generation flags."""
    keys = ("max_new_tokens", "min_new_tokens", "eos_token_id", "num_beams", "num_return_sequences", "length_penalty",
            "early_stopping", "no_repeat_ngram_size", "repetition_penalty", "renormalize_logits")
    flags = [word for key in keys if key in case for word in ("--" + key.replace("_", "-"), str(case[key]).lower())]
    if "may not be chosen" in case.get("sampling", ""):
        flags += ["--min-new-tokens", str(case["max_new_tokens"])]
    return flags + (["--ignore-eos"] if "end token ignored" in case.get("sampling", "") else [])


def get_entry(case):
    """The entry that a case runs: `generate_beam` is `generate` with beams."""
    return case["entry"].split("_beam")[0]


def rows_of(tensor):
    (rows, columns), values = tensor
    return [list(values[i * columns : (i + 1) * columns]) for i in range(rows)]


def unlikely(ids, mask, new, logits, end):
    """Returns the error in greedily chosen ids according to the logits for all tokens, or None. `end` ends a row."""
    width, columns = logits[0][2], logits[0][1]
    for row, chosen in enumerate(new):
        for step, token in enumerate(chosen):
            seen = [column for column in range(len(mask[row])) if mask[row][column]][-1] if step == 0 else len(ids[row]) + step - 1
            at = (row * columns + seen) * width
            values = logits[1][at : at + width]
            if values[token] != max(values):
                return f"id {token} of row {row}, step {step} has a logit of {values[token]:g}, the largest is {max(values):g}"
            if token == end:
                break
    return None


def unlikely_target(chosen, logits, row, barred):
    """Returns the error in a row of greedy ids according to the target logits, or None; the token `barred` may not be chosen."""
    _, columns, width = logits[0]
    for step, token in enumerate(chosen):
        at = (row * columns + step) * width
        values = [value for other, value in enumerate(logits[1][at : at + width]) if other != barred]
        if token == barred or logits[1][at + token] != max(values):
            return f"id {token} of step {step} is not the most likely one"
    return None


def wrong_score(chosen, logprobs, score, penalty):
    """Returns the error in a beam score according to its token log-probabilities, or None."""
    expected = sum(logprobs) / len(chosen) ** penalty
    return None if abs(score - expected) < 1e-4 else f"the score is {score:g}, expected {expected:g}"


def folder_kind(folder):
    with open(os.path.join(folder, "cases.json"), encoding="utf-8") as file:
        return json.load(file).get("kind")


def difference(got, want, atol, rtol):
    """Returns the difference between results and expected results, or None."""
    for name, (shape, values) in want.items():
        if name not in got:
            return f"result '{name}' is missing, got {sorted(got)}"
        got_shape, got_values = got[name]
        if got_shape != shape:
            return f"'{name}' has shape {got_shape}, expected {shape}"
        if name.endswith("_ids"):
            if got_values != values:
                return f"'{name}' is {list(got_values)}, expected {list(values)}"
            continue
        worst = 0.0
        for index, (g, w) in enumerate(zip(got_values, values)):
            if not math.isfinite(g):
                return f"'{name}' is not finite at element {index}"
            worst = max(worst, abs(g - w) - rtol * abs(w))
        if worst > atol:
            return f"'{name}' is off by {worst:.2e} beyond {rtol:.0e} of the value, allowed are {atol:.0e}"
    return None


def cosine(got, want):
    """Returns the smallest cosine between results and expected results."""
    least = 1.0
    for name, (_, values) in want.items():
        if name.endswith("_ids"):
            continue
        dot, one, other = (sum(a * b for a, b in zip(x, y)) for x, y in
                           ((got[name][1], values), (got[name][1], got[name][1]), (values, values)))
        least = min(least, dot / math.sqrt(one * other) if one * other else 1.0)
    return least


def last_line(process):
    lines = process.stderr.strip().splitlines()
    return lines[-1] if lines else "(silent)"


class Checker:
    def __init__(self, options):
        self.options = options
        self.passed = self.failed = 0
        self.least_cosine = 1.0

    def record(self, name, problem):
        print(f"ok   {name}" if problem is None else f"FAIL {name}: {problem}", flush=True)
        self.passed += problem is None
        self.failed += problem is not None

    def call(self, arguments, isa=None):
        environment = dict(os.environ)
        environment.pop("TRANSOM_FORCE_ISA", None)
        if isa:
            environment["TRANSOM_FORCE_ISA"] = isa
        return subprocess.run([self.options.transom, *arguments], capture_output=True, text=True, timeout=400, env=environment)

    def run_case(self, folder, artifact, case, tolerances, isa):
        out = artifact + ".result"
        threads = ["-t", str(self.options.threads)] if self.options.threads else []
        run = self.call(["run", artifact, get_entry(case), "--in", os.path.join(folder, case["input"]), "--out", out, *generation_flags(case), *threads], isa)
        if run.returncode == 4 and "backend 'onednn'" in run.stderr:
            print(f"skipped: {last_line(run)}")
            sys.exit(77)
        if run.returncode:
            return f"run exits {run.returncode}: {last_line(run)}"
        got, want = read_tensors(out), read_tensors(os.path.join(folder, case["expect"]))
        if get_entry(case) == "generate" and self.options.tolerance and folder_kind(folder) == "encoder-decoder":
            return self.replay_targets(folder, artifact, case, got, isa)
        if case["entry"] == "generate_beam" and self.options.tolerance:
            return None  # beams follow near ties, so only running can be checked
        if case["entry"] == "generate" and self.options.tolerance:
            return self.replay(os.path.join(folder, case["input"]), artifact, case, got, want, isa)
        problem = difference(got, want, *(self.options.tolerance or tolerances))
        if problem is None:
            least = cosine(got, want)
            self.least_cosine = min(self.least_cosine, least)
            if least < self.options.cosine:
                problem = f"a cosine of {least:.6f}, expected at least {self.options.cosine}"
        return problem

    def isas(self, artifact):
        """The instruction sets to run the cases with; None is the one that the runtime chooses."""
        wanted = self.options.isa
        if self.options.all_isas:
            wanted = json.loads(self.call(["inspect", artifact, "--json"]).stdout)["isas"]
        for isa in [isa for isa in wanted if not runnable(isa)]:
            print(f"skipped: this CPU lacks {isa}")
        return [isa for isa in wanted if runnable(isa)] if wanted else [None]

    def replay(self, inputs, artifact, case, got, want, isa):
        """Checks generated ids by means of the logits for the prompt and the ids."""
        (rows, length), (expected, _) = got["output_ids"][0], want["output_ids"][0]
        if rows != expected or not 1 <= length <= case["max_new_tokens"]:
            return f"'output_ids' has shape {[rows, length]}, expected {[expected, case['max_new_tokens']]} or shorter"
        tensors = read_tensors(inputs)
        ids, new = rows_of(tensors["input_ids"]), rows_of(got["output_ids"])
        mask = rows_of(tensors["attention_mask"]) if "attention_mask" in tensors else [[1] * len(row) for row in ids]
        whole, longer = ([row + tail for row, tail in zip(rows, tails)] for rows, tails in
                         ((ids, new), (mask, [[1] * len(row) for row in new])))
        shape, path = [len(whole), len(whole[0])], artifact + ".replay"
        write_tensors(path, {"input_ids": (shape, sum(whole, [])), "attention_mask": (shape, sum(longer, []))})
        out = artifact + ".logits"
        run = self.call(["run", artifact, "logits", "--in", path, "--out", out], isa)
        if run.returncode:
            return f"run of logits exits {run.returncode}: {last_line(run)}"
        end = None if "ignored" in case.get("sampling", "") else case.get("eos_token_id")
        return unlikely(ids, mask, new, read_tensors(out)["logits"], end)

    def replay_targets(self, folder, artifact, case, got, isa):
        """Checks encoder-decoder results: greedy ids by their logits, beam scores by the entry `score`."""
        with open(os.path.join(folder, "generation_config.json"), encoding="utf-8") as file:
            settings = json.load(file)
        end, start = settings["eos_token_id"], settings["decoder_start_token_id"]
        new, returned = rows_of(got["output_ids"]), case.get("num_return_sequences", 1)
        new = [row[:row.index(end) + 1] if end in row else row for row in new]
        columns = max(map(len, new))
        tensors, path = read_tensors(os.path.join(folder, case["input"])), artifact + ".replay"
        sources = {name: [row for row in rows_of(tensors[name]) for _ in range(returned)] for name in ("input_ids", "attention_mask")}
        if len(new) != len(sources["input_ids"]) or not 1 <= columns <= case["max_new_tokens"]:
            return f"'output_ids' has shape {list(got['output_ids'][0])}"
        beams = "num_beams" in case
        entry, name, rows = ("score", "labels", [row + [-100] * (columns - len(row)) for row in new]) if beams else \
                            ("logits", "decoder_input_ids", [[start] + row[:-1] for row in new])
        write_tensors(path, {key: ([len(value), len(value[0])], sum(value, [])) for key, value in {**sources, name: rows}.items()})
        out = f"{artifact}.{entry}"
        run = self.call(["run", artifact, entry, "--in", path, "--out", out], isa)
        if run.returncode:
            return f"run of {entry} exits {run.returncode}: {last_line(run)}"
        found = read_tensors(out)["logprobs" if beams else "logits"]
        for number, row in enumerate(new):
            problem = (wrong_score(row, rows_of(found)[number], got["scores"][1][number], case["length_penalty"]) if beams else
                       unlikely_target(row, found, number, end))
            if problem:
                return f"row {number}: {problem}"
        return None

    def check_folder(self, folder):
        with open(os.path.join(folder, "cases.json")) as file:
            meta = json.load(file)
        name = os.path.basename(os.path.normpath(folder))
        with tempfile.TemporaryDirectory() as scratch:
            artifact, stored = os.path.join(scratch, "model.so"), os.path.join(folder, "model.gguf")
            model = stored if os.path.exists(stored) else folder
            if self.options.gguf:
                import gguf_files  # next to this file; tests in other folders load it, too
                model = os.path.join(scratch, "model.gguf")
                gguf_files.convert(folder, model)
            compiled = self.call(["compile", model, "-o", artifact, *self.options.compile_flag])
            if compiled.returncode:
                self.record(name, f"compile exits {compiled.returncode}: {last_line(compiled)}")
                return
            for isa in self.isas(artifact):
                for case in meta["cases"]:
                    if self.options.entry and case["entry"] not in self.options.entry:
                        continue
                    problem = self.run_case(folder, artifact, case, (meta["atol"], meta["rtol"]), isa)
                    self.record(f"{name} {case['input']} {isa or ''}".strip(), problem)


def runnable(isa):
    """True where this CPU supports the instruction set; others cannot be tested here."""
    return isa in runnable_isas()


@functools.cache
def runnable_isas():
    """The instruction sets that this CPU runs, strongest first."""
    program = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "test", "bin", "instruction-sets")
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("transom")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--isa", action="append", default=[])
    parser.add_argument("--all-isas", action="store_true")
    parser.add_argument("--compile-flag", action="append", default=[])
    parser.add_argument("--entry", action="append", default=[])
    parser.add_argument("--gguf", action="store_true")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--tolerance", type=float, nargs=2)
    parser.add_argument("--cosine", type=float, default=-1.0)
    options = parser.parse_args()
    # The test programs are next to the tool, unless the build folder is known.
    os.environ.setdefault("TRANSOM_BINARY_DIR", os.path.dirname(os.path.dirname(os.path.abspath(options.transom))))
    checker = Checker(options)
    for folder in options.folders:
        checker.check_folder(folder)
    print(f"{checker.passed} passed, {checker.failed} failed, least cosine {checker.least_cosine:.6f}")
    sys.exit(1 if checker.failed else 0 if checker.passed else 2)


if __name__ == "__main__":
    main()
