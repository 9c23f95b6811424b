#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Quality loss by quantization, measured by test/bench/quality: the measures against their definitions, and golden models
# against bounds.
import array
import importlib
import math
import os
import random
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.environ["TRANSOM_SOURCE_DIR"]
TOOL = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "bin", "transom")
sys.path.append(os.path.join(ROOT, "test", "bench"))
qualities = importlib.import_module("qualities")


def logits(rows):
    return [1, len(rows), len(rows[0])], array.array("f", (value for row in rows for value in row))


class FigureTest(unittest.TestCase):
    def test_the_divergence_of_two_outcomes(self):
        # Probabilities of 3/4 and 1/4 against halves: 3/4 log 3/2 + 1/4 log 1/2.
        row = qualities.compare_logits(logits([[math.log(3), 0.0]]), logits([[7.0, 7.0]]), [1])
        self.assertAlmostEqual(row["kl_mean"], 0.75 * math.log(1.5) + 0.25 * math.log(0.5), places=6)

    def test_a_constant_added_to_logits_changes_nothing(self):
        row = qualities.compare_logits(logits([[1.0, 2.0, 4.0]]), logits([[11.0, 12.0, 14.0]]), [1])
        self.assertLess(abs(row["kl_mean"]), 1e-12)
        self.assertEqual(row["top1"], 1)

    def test_the_divergence_is_at_most_that_of_errors_in_a_range(self):
        # Hoeffding's lemma: errors in a range r change the log-mean-exp by at most r^2 / 8.
        source = random.Random(1)
        for size in (0.01, 0.3, 2.0):
            rows = [[source.gauss(0, 3) for _ in range(50)] for _ in range(20)]
            errors = [[source.uniform(0, size) for _ in row] for row in rows]
            found = qualities.compare_logits(logits(rows), logits([[x + e for x, e in zip(*pair)] for pair in zip(rows, errors)]), [1] * 20)
            self.assertLess(found["kl_p99"], size ** 2 / 8)
            self.assertGreater(found["kl_mean"], 0)

    def test_rows_of_padding_do_not_count(self):
        row = qualities.compare_logits(logits([[0.0, 1.0], [0.0, 1.0]]), logits([[0.0, 1.0], [1.0, 0.0]]), [1, 0])
        self.assertEqual((row["kl_mean"], row["top1"]), (0, 1))

    def test_percentiles_are_values_of_the_list(self):
        self.assertEqual(qualities.percentile(list(range(1, 101)), 0.99), 99)
        self.assertEqual(qualities.percentile([5, 1], 0.99), 5)

    def test_embeddings_are_means_over_the_tokens_of_a_text(self):
        states = [2, 2, 2], array.array("f", [1, 2, 3, 4, 5, 6, 9, 9])
        self.assertEqual([list(one) for one in qualities.embeddings(states, [1, 1, 1, 0])], [[2, 3], [5, 6]])
        found = qualities.compare_embeddings(states, ([2, 2, 2], array.array("f", [1, 2, 3, 4, -6, 5, 0, 0])), [1, 1, 1, 0])
        self.assertAlmostEqual(found["cosine_least"], 0)
        self.assertAlmostEqual(found["cosine_mean"], 0.5)


class GoldenTest(unittest.TestCase):
    """Elements in a group with g elements are off by at most half of 1/127 of its max, uniformly, so by m(g) / 127 / sqrt(12)
    of a typical element, where m(g) is the expected max magnitude among g normal values: 2.4, 2.6 and 2.9 for 32, 64 and 128.
    This applies to both operands. Errors in consecutive GEMMs are independent: n GEMMs have sqrt(n) times the error."""

    LARGEST = {"32": 2.4, "64": 2.6, "128": 2.9}
    # In int4 only the weights count: QuantizationTest.cpp derives their error bound in groups of 32.
    INT4 = 0.0825

    def measure(self, folder, count=4, length=24, variants=("f32", "bf16", "int8 32", "int8 64", "int8 128", "int4 32", "int4 128")):
        with tempfile.TemporaryDirectory() as place:
            quality = qualities.Quality(TOOL, os.path.join(ROOT, "test", "goldens", folder), place)
            inputs = qualities.random_inputs(quality.vocabulary(), count, length, 0, quality.has_targets)
            rows, reference = qualities.measure_all(quality, inputs, variants, self.fail)
        return {row["variant"]: row for row in rows}, reference

    def relative_error(self, group, products):
        return math.sqrt(2 * products) * self.LARGEST[group] / 127 / math.sqrt(12)

    def check_decoder(self, folder, layers):
        rows, (shape, values) = self.measure(folder)
        mean = sum(values) / len(values)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
        self.assertEqual(rows["f32"]["kl_mean"], 0)
        self.assertEqual(rows["f32"]["top1"], 1)
        self.assertLess(rows["bf16"]["kl_mean"], rows["int8 32"]["kl_mean"])
        self.assertLess(rows["int8 32"]["kl_mean"], rows["int8 64"]["kl_mean"])
        self.assertLess(rows["int8 64"]["kl_mean"], rows["int8 128"]["kl_mean"])
        self.assertLess(rows["int8 128"]["kl_mean"], rows["int4 32"]["kl_mean"])
        self.assertLess(rows["int4 32"]["kl_mean"], rows["int4 128"]["kl_mean"])
        bound = (deviation * math.sqrt(4 * layers + 1) * self.INT4) ** 2 / 2
        self.assertLess(rows["int4 32"]["kl_mean"], bound)
        self.assertGreater(rows["int4 32"]["kl_mean"], bound / 100, "nothing is quantized")
        for group in self.LARGEST:
            row = rows[f"int8 {group}"]
            # To second order the divergence is half the variance of the logit errors; four GEMMs a layer, and the head.
            bound = (deviation * self.relative_error(group, 4 * layers + 1)) ** 2 / 2
            self.assertLess(row["kl_mean"], bound)
            self.assertGreater(row["kl_mean"], bound / 100, "nothing is quantized")
            self.assertGreaterEqual(row["top1"], 0.9)
            # The mean over log-probabilities of random tokens: row errors are independent.
            self.assertLess(abs(math.log(row["perplexity"] / rows["f32"]["perplexity"])), 4 * math.sqrt(2 * bound / shape[0] / shape[1]))

    def test_a_decoder_with_rms_norms(self):
        self.check_decoder("llama-gqa", 2)

    def test_a_decoder_with_layer_norms(self):
        self.check_decoder("gpt2", 2)

    def test_an_encoder(self):
        rows, _ = self.measure("bert")
        self.assertAlmostEqual(rows["f32"]["cosine_least"], 1, places=12)
        for group in self.LARGEST:
            # The cosine between a vector and itself plus an error with relative size e is 1 - e^2 / 2.
            lost, bound = 1 - rows[f"int8 {group}"]["cosine_mean"], self.relative_error(group, 4 * 2) ** 2 / 2
            self.assertLess(lost, bound)
            self.assertGreater(lost, bound / 100, "nothing is quantized")

    def test_an_encoder_decoder_scores_targets(self):
        rows, (shape, _) = self.measure(os.path.join("encoder-decoders", "marian"), 2, 8, ("f32", "int8 32"))
        self.assertEqual(shape[:2], [2, 8])
        self.assertGreater(rows["int8 32"]["kl_mean"], 0)
        self.assertIn("perplexity", rows["int8 32"])

    def test_the_texts_of_a_file(self):
        with tempfile.TemporaryDirectory() as place:
            quality = qualities.Quality(TOOL, os.path.join(ROOT, "examples", "tiny-llama"), place)
            path = os.path.join(place, "texts")
            with open(path, "w", encoding="utf-8") as file:
                file.write("A transom is the beam above a door\nOnce upon a time\n" * 3)
            inputs = qualities.file_inputs(quality.run, quality.model, path, 2, 10, joined=True)
            self.assertEqual([len(text) for text in inputs.texts], [10, 10])
            rows, _ = qualities.measure_all(quality, inputs, ["int8 32"], self.fail)
            self.assertGreater(rows[1]["kl_mean"], 0)
            with self.assertRaisesRegex(ValueError, "fewer than 1000 tokens"):
                qualities.file_inputs(quality.run, quality.model, path, 2, 1000, joined=True)

    def test_a_variant_that_does_not_compile_is_left_out(self):
        said = []
        qualities.VARIANTS["int2"] = ["--quantize", "int2"]
        with tempfile.TemporaryDirectory() as place:
            quality = qualities.Quality(TOOL, os.path.join(ROOT, "test", "goldens", "llama-gqa"), place)
            rows, _ = qualities.measure_all(quality, qualities.random_inputs(200, 1, 8, 0), ["int2"], said.append)
        self.assertEqual([row["variant"] for row in rows], ["f32"])
        self.assertIn("without int2: ", said[0])


if __name__ == "__main__":
    unittest.main()
