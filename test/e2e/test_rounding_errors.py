#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized models have the expected rounding errors, and no more. Standard library only.

The median of the largest of g Gaussian values is p times a typical one. Integers up to m are rounded by up to half of p / m of
a typical value, uniformly: by e = p / (m sqrt(12)) in the root mean square. A GEMM has two rounded operands with independent
errors: it is off by as much as a float GEMM whose weights are off by sqrt(e_weights^2 + e_inputs^2). The effect of all GEMM
errors on a result depends on the model: errors in n consecutive GEMMs add up to sqrt(n) times one error, and grow where
attention scores are large. So it is measured on floats: the test adds random noise with this size to each checkpoint matrix,
and compares these results with the expected ones, too.

usage: test_rounding_errors.py [TEST...]
       test_rounding_errors.py --bounds FOLDER... [--format int8|int4] [--draws N]   prints the error bounds for folders
"""
import argparse
import functools
import json
import math
import os
import random
import shutil
import struct
import sys
import unittest
from statistics import NormalDist

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools", "commands"))

from base import GOLDENS, ToolTest, goldens  # noqa: E402

ENCODERS = ("albert", "bert-mlm", "deberta-v2", "distilbert", "gte", "jina-v3", "modernbert-mlm", "mpnet", "roberta", "xlm-roberta-xl")
DECODERS = ("bloom-alibi", "cohere", "falcon", "gemma3", "gpt2", "granite", "llama-gqa", "llama-mqa", "olmo2", "opt", "qwen3", "smollm3")
ENCODER_DECODERS = tuple(os.path.join("encoder-decoders", name) for name in ("bart", "marian", "mbart", "t5"))
INT4 = ("bert", "gpt2", "llama-gqa", "qwen3")

# Largest integers, and the usual groups.
LARGEST = {"int8": 127, "int4": 8}
GROUPS = {"int8": 128, "int4": 32}

# Factors for errors above the prediction: for their root mean square, and for the largest among thousands.
MEAN_SLACK, LARGEST_SLACK = 1.25, 2.0
# Results with fewer elements are not significant for either.
LEAST_COUNT = 200


def rounding_error(format, group):
    """Returns the relative root mean square error for Gaussian values in groups."""
    peak = NormalDist().inv_cdf((1 + 0.5 ** (1 / group)) / 2)
    return peak / (LARGEST[format] * math.sqrt(12))


def product_error(format, group):
    """Returns the relative weight error for which a float GEMM has the integer GEMM's error."""
    return math.hypot(rounding_error(format, group), rounding_error("int8", group))


def change_tensors(folder, change):
    """Replaces the values in each matrix in a folder by `change(name, shape, numbers)`, unless that is None."""
    path = os.path.join(folder, "model.safetensors")
    with open(path, "rb") as file:
        data = bytearray(file.read())
    (length,) = struct.unpack_from("<Q", data)
    changed = 0
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__" or len(entry["shape"]) < 2:
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"{folder}: '{name}' is {entry['dtype']}")
        begin, end = entry["data_offsets"]
        where = f"<{(end - begin) // 4}f", data, 8 + length + begin
        numbers = change(name, entry["shape"], struct.unpack_from(*where))
        if numbers is not None:
            struct.pack_into(*where, *numbers)
            changed += 1
    os.chmod(path, 0o644)
    with open(path, "wb") as file:
        file.write(data)
    return changed


def add_noise(error, seed, _name, _shape, numbers):
    source = random.Random(seed)
    size = error * math.sqrt(math.fsum(x * x for x in numbers) / len(numbers))
    return [x + source.gauss(0, size) for x in numbers]


def scale(tensor, factor, name, _shape, numbers):
    return [factor * x for x in numbers] if name == tensor else None


def swap_scales(tensor, group, name, shape, numbers):
    """Swaps the scales between the first two groups in each row."""
    if name != tensor:
        return None
    numbers, width = list(numbers), shape[-1]
    for row in range(0, len(numbers), width):
        peaks = [max(map(abs, numbers[first : first + group])) for first in (row, row + group)]
        for i in range(group):
            numbers[row + i] *= peaks[1] / peaks[0]
            numbers[row + group + i] *= peaks[0] / peaks[1]
    return numbers


def swap_groups(tensor, group, name, shape, numbers):
    """Swaps the first two groups in each row."""
    if name != tensor:
        return None
    numbers, width = list(numbers), shape[-1]
    for row in range(0, len(numbers), width):
        first, second = numbers[row : row + group], numbers[row + group : row + 2 * group]
        numbers[row : row + 2 * group] = second + first
    return numbers


class Errors:
    """Errors in a result over all cases."""

    def __init__(self):
        self.squares = self.reference = self.product = self.largest = 0.0
        self.count = self.rows = 0

    def add(self, got, want, width):
        self.squares += math.fsum((a - b) ** 2 for a, b in zip(got, want))
        self.reference += math.fsum(b * b for b in want)
        self.product += math.fsum(a * b for a, b in zip(got, want))
        self.largest = max(self.largest, max((abs(a - b) for a, b in zip(got, want)), default=0))
        self.count += len(want)
        self.rows += len(want) // width

    def mean(self):
        return math.sqrt(self.squares / self.reference)

    def gain(self):
        """How much larger results are than they should be."""
        return self.product / self.reference - 1

    def shares(self, draws):
        """Returns the errors relative to the errors that noise draws allow, by kind. A norm scales random errors down by half
        their square, and they become a common factor only by chance: by less than their size in each row."""
        mean, largest = max(draw.mean() for draw in draws), max(draw.largest for draw in draws)
        gain = mean ** 2 + 4 * mean / math.sqrt(self.rows)
        return {"mean": self.mean() / (MEAN_SLACK * mean), "largest": self.largest / (LARGEST_SLACK * largest), "gain": abs(self.gain()) / gain}


class RoundingErrors(ToolTest):
    def find_errors(self, folder, artifact):
        """Returns {result: errors} over the cases in a folder."""
        found = {}
        with open(os.path.join(folder, "cases.json"), encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        for case in cases:
            if case["entry"] not in ("encode", "logits"):
                continue
            out = self.path("out.safetensors")
            self.succeed("run", artifact, case["entry"], "--in", os.path.join(folder, case["input"]), "--out", out)
            got = goldens.read_tensors(out)
            for name, (shape, want) in goldens.read_tensors(os.path.join(folder, case["expect"])).items():
                self.assertTrue(all(map(math.isfinite, got[name][1])), f"{folder}: '{name}' is not finite")
                found.setdefault(f"{case['entry']}.{name}", Errors()).add(got[name][1], want, shape[-1])
        return found

    def count_ids(self, folder, artifact):
        """Counts the greedy ids that differ, and all greedy ids."""
        differ = count = 0
        with open(os.path.join(folder, "cases.json"), encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        for case in cases:
            if case["entry"] != "generate" or "num_beams" in case:
                continue
            out = self.path("out.safetensors")
            self.succeed("run", artifact, "generate", "--in", os.path.join(folder, case["input"]), "--out", out, *goldens.generation_flags(case))
            got, want = (goldens.read_tensors(path)["output_ids"][1] for path in (out, os.path.join(folder, case["expect"])))
            count += len(want)
            differ += sum(a != b for a, b in zip(got, want)) + abs(len(want) - len(got))
        return differ, count

    def compile_changed(self, folder, change, *flags):
        copy = self.path("changed")
        shutil.copytree(folder, copy)
        self.assertGreater(change_tensors(copy, change), 0)
        self.succeed("compile", copy, "-o", self.path("changed.so"), *flags)
        shutil.rmtree(copy)
        return self.path("changed.so")

    def predict(self, folder, format, group, draws):
        """Returns {result: errors of floats with noise, draw by draw}. The largest draw counts: most agree within a tenth."""
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        width = next(config[key] for key in ("hidden_size", "n_embd", "d_model", "dim") if key in config)
        found = {}
        for seed in range(draws):
            noise = functools.partial(add_noise, product_error(format, min(group, width)), seed)
            for result, errors in self.find_errors(folder, self.compile_changed(folder, noise)).items():
                found.setdefault(result, []).append(errors)
        return found

    def check(self, names, format, draws):
        worst = {}
        for name in names:
            folder = os.path.join(GOLDENS, name)
            with self.subTest(model=name):
                predicted = self.predict(folder, format, GROUPS[format], draws)
                artifact = self.path("m.so")
                self.succeed("compile", folder, "-o", artifact, "--quantize", format, "--quantize-embeddings", format)
                found = {result: errors for result, errors in self.find_errors(folder, artifact).items() if errors.count >= LEAST_COUNT}
                self.assertTrue(found)
                for result, errors in found.items():
                    shares = errors.shares(predicted[result])
                    text = " ".join(f"{kind} {share:.2f}" for kind, share in shares.items())
                    noise = " ".join(f"{draw.mean():.4f}" for draw in predicted[result])
                    print(f"{name:26} {format} {result:24} error {errors.mean():.4f}, of noise {noise}, largest {errors.largest:.3f}; "
                          f"shares: {text}")
                    for kind, share in shares.items():
                        worst[kind] = max(worst.get(kind, 0), share)
                        self.assertLess(share, 1, f"{result}: the {kind} error is more than rounding gives")
                differ, count = self.count_ids(folder, artifact)
                if count:
                    print(f"{name:26} {format} {differ} of {count} greedy ids differ")
        print("worst shares: " + ", ".join(f"{kind} {share:.2f}" for kind, share in worst.items()))

    def test_encoders(self):
        self.check(ENCODERS, "int8", 2)

    def test_decoders(self):
        self.check(DECODERS, "int8", 2)

    def test_encoder_decoders(self):
        # Their weights are larger: noise draws differ by a factor of two where attention scores are close.
        self.check(ENCODER_DECODERS, "int8", 8)

    def test_int4(self):
        self.check(INT4, "int4", 2)

    def test_faults(self):
        # A GEMM whose scales are off by 2 %, and groups with swapped scales or positions.
        down, dense = "model.layers.0.mlp.down_proj.weight", "encoder.layer.1.output.dense.weight"
        faults = [("llama-gqa", "gain", functools.partial(scale, "lm_head.weight", 1.02))]
        for swap in (swap_scales, swap_groups):
            faults += [("llama-gqa", "mean", functools.partial(swap, down, 32)), ("bert", "mean", functools.partial(swap, dense, 32))]
        predictions = {}
        for name, kind, fault in faults:
            folder = os.path.join(GOLDENS, name)
            if name not in predictions:
                predictions[name] = self.predict(folder, "int8", 32, 2)
            changed = self.compile_changed(folder, fault, "--quantize", "int8", "--group-size", "32")
            for result, errors in self.find_errors(folder, changed).items():
                share = errors.shares(predictions[name][result])
                print(f"{name:26} {fault.func.__name__} of {fault.args[0]}: " + " ".join(f"{k} {s:.2f}" for k, s in share.items()))
                self.assertGreater(share[kind], 1)


def print_bounds(folders, format, draws):
    """Prints the max quantization error for each folder."""
    test = RoundingErrors("check")
    test.setUpClass()
    for folder in folders:
        test.setUp()
        for result, noise in test.predict(folder, format, GROUPS[format], draws).items():
            print(f"{os.path.basename(os.path.normpath(folder))} {result} {LARGEST_SLACK * max(draw.largest for draw in noise):.3f}")
        test.doCleanups()
    test.doClassCleanups()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--bounds", nargs="+")
    parser.add_argument("--format", choices=LARGEST, default="int8")
    parser.add_argument("--draws", type=int, default=8)
    options, others = parser.parse_known_args()
    if options.bounds:
        print_bounds(options.bounds, options.format, options.draws)
    else:
        unittest.main(argv=sys.argv[:1] + others)
