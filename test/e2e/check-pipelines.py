#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles sentence-transformers folders, embeds the texts in their texts.json, and compares with the vectors listed there.

usage: check-pipelines.py TRANSOM FOLDER...

Standard library only. Prints one line per case; exits 1 when a case failed, 2 when there was none.
"""
import json
import os
import subprocess
import sys
import tempfile

TOLERANCE = 1e-5


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[1]} exits {done.returncode}: {(done.stderr.strip().splitlines() or ['(silent)'])[-1]}")
    return done.stdout


def get_vector(line, size):
    """Returns the values in a line; for a sparse vector the weights by id."""
    if "embedding" in line:
        return line["embedding"]
    vector = [0.0] * size
    weights = [term["weight"] for term in line["terms"]]
    if weights != sorted(weights, reverse=True):
        raise RuntimeError("terms are not in the order of their weights")
    for term in line["terms"]:
        vector[term["id"]] = term["weight"]
    return vector


def find_difference(lines, texts, expected, flags):
    """Returns the first difference, or None."""
    if [line["text"] for line in lines] != texts:
        return "the texts are others"
    worst = 0.0
    for line, want in zip(lines, expected):
        if "embeddings" in line:  # token vectors
            if len(line["embeddings"]) != len(want):
                return f"{len(line['embeddings'])} tokens, expected {len(want)}"
            worst = max([worst] + [abs(x - y) for a, b in zip(line["embeddings"], want) for x, y in zip(a, b, strict=True)])
            continue
        got = get_vector(line, len(want))
        if len(got) != len(want):
            return f"{len(got)} numbers, expected {len(want)}"
        worst = max([worst] + [abs(x - y) for x, y in zip(got, want)])
    # A value on the border between two int8 steps may be rounded to either.
    allowed = 1 if "int8" in flags else TOLERANCE
    return f"off by {worst:.2e}, allowed {allowed}" if not worst <= allowed else None


def check(tool, folder):
    """Prints a line for each case; returns the case count and the failure count."""
    with open(os.path.join(folder, "texts.json")) as file:
        golden = json.load(file)
    count = failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        model, texts = os.path.join(scratch, "model.so"), golden["texts"]
        run(tool, "compile", folder, "-o", model)
        for case in golden["cases"]:
            flags = case["flags"] + [word for text in texts for word in ("--text", text)]
            try:
                lines = [json.loads(line) for line in run(tool, "embed", model, *flags).splitlines()]
                problem = find_difference(lines, texts, case["embeddings"], case["flags"])
            except RuntimeError as error:
                problem = str(error)
            count += 1
            failures += problem is not None
            print(("FAIL " if problem else "ok   ") + os.path.basename(folder), *case["flags"], *([":", problem] if problem else []))
    return count, failures


def main():
    tool, *folders = sys.argv[1:]
    results = [check(tool, folder) for folder in folders]
    count, failures = sum(r[0] for r in results), sum(r[1] for r in results)
    print(f"{count - failures} passed, {failures} failed")
    return 2 if not count else 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
