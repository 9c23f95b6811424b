# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench inputs and their cost."""
import json
import os
import unittest

from benches import LENGTHS, BenchTest
from base import GOLDENS, SOURCE, goldens  # isort: skip (benches finds it)


class BenchCalls(BenchTest):
    def test_gathered_tables_are_not_streamed(self):
        """A tied head reads the complete token table, the embedding only some rows."""
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
        """GEMM costs have a formula; norms and activations add little."""
        with open(os.path.join(GOLDENS, "bert", "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        hidden, wide, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
        rows = 64
        products = layers * rows * (2 * (4 * hidden * hidden + 2 * hidden * wide) + 4 * hidden * rows)
        self.assertAlmostEqual(self.work(self.row("-s", str(rows), "-r", "1")) * 1e9, products, delta=0.03 * products)

    def test_operations_in_other_types(self):
        """Products count as bf16 or int8 where their sides are; norms and activations never do."""
        flags = {"f32": (), "bf16": ("--dtype", "bf16"), "int8": ("--quantize", "int8")}
        entries = {dtype: json.loads(self.succeed("inspect", self.compiled("bert", *own), "--json").stdout)["entries"][0] for dtype, own in flags.items()}
        self.assertEqual([entries["f32"][key] for key in ("bf16_flops", "int8_flops")], ["0", "0"])
        self.assertEqual([entries["int8"]["bf16_flops"], entries["bf16"]["int8_flops"]], ["0", "0"])
        text = self.succeed("inspect", self.compiled("bert", *flags["int8"])).stdout
        self.assertIn(f"  in int8      {entries['int8']['int8_flops']}\n", text)
        self.assertNotIn("in bf16", text)
        # Attention stays f32: all GEMMs except its two use integers.
        (plain, whole) = [next(e[key] for e in entries[dtype]["examples"] if (e["batch"], e["seq"]) == (8, 96))
                          for dtype, key in (("f32", "flops"), ("int8", "int8_flops"))]
        with open(os.path.join(GOLDENS, "bert", "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        hidden, wide, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
        pooler = 8 * 2 * hidden * hidden
        self.assertEqual(whole, layers * 8 * 96 * 2 * (4 * hidden * hidden + 2 * hidden * wide) + pooler)
        self.assertLess(whole, plain)
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
        # The same operations as for the single sequences without padding.
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
