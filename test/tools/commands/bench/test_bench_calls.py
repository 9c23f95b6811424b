# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the inputs of bench are, and what they cost."""
import json
import os
import unittest

from benches import LENGTHS, BenchTest
from base import GOLDENS, SOURCE, goldens  # isort: skip (benches finds it)


class BenchCalls(BenchTest):
    def test_gathered_tables_are_not_streamed(self):
        """A tied head reads the whole table of words, the embedding only some rows of it."""
        for name, tied in (("bert", False), ("bert-mlm", True)):
            with open(os.path.join(GOLDENS, name, "config.json"), encoding="utf-8") as file:
                config = json.load(file)
            words, others = config["vocab_size"], config["max_position_embeddings"] + config["type_vocab_size"]
            found = json.loads(self.succeed("inspect", self.compiled(name), "--json").stdout)
            row = self.row("-s", "16", "-r", "1", model=name)
            streamed = found["entries"][0]["streamed_bytes"]
            self.assertAlmostEqual(row["gbps"] * row["ms_min"] * 1e6, streamed, delta=0.02 * streamed)
            gathered = 4 * config["hidden_size"] * (others if tied else words + others)
            # Panels are padded, and offsets in the file aligned.
            self.assertAlmostEqual(streamed, found["weights_bytes"] - gathered, delta=0.02 * found["weights_bytes"])

    def test_operations_of_a_layer(self):
        """Products are known by hand; norms and activations add little."""
        with open(os.path.join(GOLDENS, "bert", "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        hidden, wide, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
        rows = 64
        products = layers * rows * (2 * (4 * hidden * hidden + 2 * hidden * wide) + 4 * hidden * rows)
        self.assertAlmostEqual(self.work(self.row("-s", str(rows), "-r", "1")) * 1e9, products, delta=0.03 * products)

    def test_operations_in_bf16(self):
        """Products count as bf16 where their sides are; norms and activations never do."""
        entries = {dtype: json.loads(self.succeed("inspect", self.compiled("bert", "--dtype", dtype), "--json").stdout)["entries"][0]
                   for dtype in ("f32", "bf16")}
        self.assertEqual(entries["f32"]["bf16_flops"], "0")
        (plain,) = [e["flops"] for e in entries["f32"]["examples"] if (e["batch"], e["seq"]) == (8, 96)]
        (narrow,) = [e["bf16_flops"] for e in entries["bf16"]["examples"] if (e["batch"], e["seq"]) == (8, 96)]
        self.assertLess(narrow, plain)
        self.assertGreater(narrow, 0.95 * plain)
        self.assertLess(entries["bf16"]["streamed_bytes"], 0.7 * entries["f32"]["streamed_bytes"])

    def test_given_inputs(self):
        path = os.path.join(GOLDENS, "bert", "encode.0.in.safetensors")
        row = self.row("--in", path, "-r", "1")
        self.assertEqual([row["batch"], row["seq"]], goldens.read_tensors(path)["input_ids"][0])

    def test_padding_does_not_count(self):
        for dtype in ("I64", "I32"):
            row = self.row("--in", self.ragged(dtype), "-r", "1")
            self.assertEqual((row["batch"], row["seq"], row["tokens"]), (4, 9, sum(LENGTHS)))
        # The same operations as the sequences have one by one, without padding.
        alone = self.rows("-b", "1", "-s", ",".join(map(str, LENGTHS)), "-r", "1")
        whole = self.work(row)
        self.assertAlmostEqual(whole, sum(map(self.work, alone)), delta=0.01 * whole)

    def test_one_by_one(self):
        row = self.row("--in", self.ragged(), "--one-by-one", "-r", "1")
        self.assertEqual((row["calls"], row["batch"], row["seq"], row["tokens"]), (4, 1, 9, sum(LENGTHS)))
        whole = self.row("--in", self.ragged(), "-r", "1")
        self.assertAlmostEqual(self.work(row), self.work(whole), delta=0.01 * self.work(whole))

    def test_several_files_are_calls_of_one_row(self):
        path = self.ragged()
        row = self.row("--in", path, path, "-r", "1")
        self.assertEqual((row["calls"], row["tokens"]), (2, 2 * sum(LENGTHS)))

    def test_texts(self):
        model = os.path.join(SOURCE, "examples", "tiny-bert")
        with open(self.path("texts"), "w", encoding="utf-8") as file:
            file.write("one\none two three four\n")
        row = self.row("--texts", self.path("texts"), "-r", "1", model=model)
        self.assertEqual(row["batch"], 2)
        self.assertLess(row["tokens"], 2 * row["seq"])
        alone = self.row("--texts", self.path("texts"), "--one-by-one", "-r", "1", model=model)
        self.assertEqual((alone["calls"], alone["tokens"], alone["seq"]), (2, row["tokens"], row["seq"]))


if __name__ == "__main__":
    unittest.main()
