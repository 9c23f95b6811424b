#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the models in test/goldens/random-beams under their settings and compares ids and scores with transformers'.

usage: check-random-beams.py TRANSOM FOLDER [MODEL...]

Standard library only. Prints one line for each run that fails; exits 1 when one failed, 2 when there was none."""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile

spec = importlib.util.spec_from_file_location("goldens", os.path.join(os.path.dirname(__file__), "check-goldens.py"))
goldens = importlib.util.module_from_spec(spec)
spec.loader.exec_module(goldens)

SCORE_TOLERANCE = 1e-4


def call(arguments):
    """Returns the last line of stderr if a command failed, else None."""
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    return f"exits {done.returncode}: {goldens.last_line(done)}" if done.returncode else None


def get_flags(run):
    """Returns the flags for a run; a boolean `early_stopping` becomes the flag's value."""
    return [f"--{key.replace('_', '-')}={str(value).lower()}" for key, value in run["flags"].items()]


def find_difference(got, run, ends):
    """Returns the difference in a run's results, or None. Rows are compared up to their first end token."""
    rows = goldens.rows_of(got["output_ids"])
    if len(rows) != len(run["output_ids"]):
        return f"{len(rows)} results, expected {len(run['output_ids'])}"
    for number, (row, want) in enumerate(zip(rows, run["output_ids"])):
        end = next((i for i, token in enumerate(row) if token in ends), len(row) - 1)
        # A row that ends at the max length is padded where others in the batch are longer.
        made = row[:end + 1] if end + 1 <= len(want) or row[:len(want)] != want else row[:len(want)]
        if made != want:
            return f"row {number} is {row}, expected {want}"
    if ("scores" in got) != ("scores" in run):
        return f"results are {sorted(got)}, expected scores: {'scores' in run}"
    for number, want in enumerate(run.get("scores", ())):
        score = got["scores"][1][number]
        if not abs(score - want) <= SCORE_TOLERANCE:
            return f"the score of row {number} is {score}, expected {want}"
    return None


def check_run(transom, artifact, run, ends):
    """Runs one case; returns its error, or None."""
    shape = [len(run["input_ids"]), len(run["input_ids"][0])]
    given, made = artifact + ".in", artifact + ".out"
    goldens.write_tensors(given, {name: (shape, sum(run[name], [])) for name in ("input_ids", "attention_mask")})
    problem = call([transom, "run", artifact, "generate", "--in", given, "--out", made, *get_flags(run)])
    return problem or find_difference(goldens.read_tensors(made), run, ends)


def check_model(transom, folder, scratch):
    """Returns the run count for a model, and the errors by run."""
    with open(os.path.join(folder, "cases.json"), encoding="utf-8") as file:
        cases = json.load(file)
    count, problems = 0, []
    for number, case in enumerate(cases):
        model = os.path.join(scratch, f"{os.path.basename(folder)}-{number}")
        shutil.copytree(folder, model)
        with open(os.path.join(model, "generation_config.json"), "w", encoding="utf-8") as file:
            json.dump(case["generation_config"], file)
        problem = call([transom, "compile", model, "-o", model + ".so"])
        if problem:
            problems.append(f"compile {number} {problem}")
            continue
        for which, run in enumerate(case["runs"]):
            count += 1
            problem = check_run(transom, model + ".so", run, case["generation_config"]["eos_token_id"])
            if problem:
                problems.append(f"{number}.{which} {case['generation_config']} {run['flags']}: {problem}")
    return count, problems


def main():
    transom, folder, *models = sys.argv[1:]
    total = failed = 0
    for model in models or sorted(os.listdir(folder)):
        with tempfile.TemporaryDirectory() as scratch:
            count, problems = check_model(transom, os.path.join(folder, model), scratch)
        for problem in problems:
            print(f"FAIL {model} {problem}")
        print(f"{model}: {count} runs, {len(problems)} failed", flush=True)
        total, failed = total + count, failed + len(problems)
    sys.exit(1 if failed else 0 if total else 2)


if __name__ == "__main__":
    main()
