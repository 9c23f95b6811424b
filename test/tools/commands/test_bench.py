# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench: its table in three forms, what it counts, two artifacts, profile and trace. No test looks at how long anything takes."""
import csv
import io
import json
import os
import unittest

from base import GOLDENS, SOURCE, ToolTest, goldens, write_tensors

COLUMNS = ["batch", "seq", "tokens", "ms_min", "ms_median", "tokens_per_s", "gflops", "gbps", "limit_share"]
MORE = ["ms_limit", "spread", "calls"]
COMPARED = ["other_ms_min", "other_ms_median", "ratio", "ratio_low", "ratio_high"]
LENGTHS = [3, 9, 1, 6]


class Bench(ToolTest):
    def rows(self, *arguments, model="bert", **options):
        return json.loads(self.succeed("bench", self.compiled(model), *arguments, "--format", "json", **options).stdout)

    def row(self, *arguments, **options):
        (row,) = self.rows(*arguments, **options)
        return row

    def ragged(self, dtype="I64"):
        """Inputs of LENGTHS, padded."""
        longest = max(LENGTHS)
        mask = [int(i < length) for length in LENGTHS for i in range(longest)]
        shape = [len(LENGTHS), longest]
        path = self.path("ragged.safetensors")
        write_tensors(path, {"input_ids": (dtype, shape, [5 * m for m in mask]), "attention_mask": (dtype, shape, mask)})
        return path

    def work(self, row):
        """Billions of operations of a row, from its speed."""
        return row["gflops"] * row["ms_min"] * 1e-3

    def test_json_rows(self):
        rows = self.rows("-b", "1,2", "-s", "4,8", "-r", "2")
        self.assertEqual([(row["batch"], row["seq"]) for row in rows], [(1, 4), (1, 8), (2, 4), (2, 8)])
        for row in rows:
            self.assertEqual(list(row), ["entry", *COLUMNS, *MORE])
            self.assertEqual(row["tokens"], row["batch"] * row["seq"])
            self.assertLessEqual(row["ms_min"], row["ms_median"])
            self.assertGreaterEqual(row["spread"], 0)
            self.assertGreater(row["gflops"], 0)
            self.assertEqual(row["calls"], 1)
            self.assertAlmostEqual(row["limit_share"], row["ms_limit"] / row["ms_min"], delta=0.02)

    def test_csv_and_markdown(self):
        text = self.succeed("bench", self.compiled("bert"), "-s", "8", "-r", "1", "--format", "csv").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(list(rows[0]), ["entry", *COLUMNS, *MORE])
        lines = self.succeed("bench", self.compiled("bert"), "-s", "8", "-r", "1").stdout.splitlines()
        self.assertTrue(lines[0].startswith("| entry | batch |"), lines[0])
        self.assertEqual(len({line.count("|") for line in lines}), 1, lines)

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

    def test_compare(self):
        other = self.compiled("bert", "--disable-pass", "kern-fuse-norm")
        row = self.row("--compare", other, "-r", "3")
        self.assertEqual(row["seq"], 96)  # the model's maximum, below the default
        self.assertEqual(list(row), ["entry", *COLUMNS, *MORE, *COMPARED])
        self.assertLessEqual(row["ratio_low"], row["ratio"])
        self.assertLessEqual(row["ratio"], row["ratio_high"])
        self.assertGreater(row["other_ms_min"], 0)

    def test_compare_with_what_does_not_fit(self):
        self.fail_with(6, "bench", self.compiled("bert"), "--compare", self.path("none.so"), says="none.so")
        with open(self.path("bad.so"), "wb") as file:
            file.write(b"no artifact")
        self.fail_with(3, "bench", self.compiled("bert"), "--compare", self.path("bad.so"), says="bad.so")

    def test_profile(self):
        row = self.row("-s", "16", "-r", "2", "--profile")
        profile = row["profile"]
        self.assertEqual(list(profile[0]), ["location", "phase", "steps", "ms", "share", "gflops", "gbps", "peak_share"])
        self.assertEqual(profile[-1]["location"], "outside steps")
        self.assertTrue(any("attention" in line["location"] for line in profile), profile)
        entry = json.loads(self.succeed("inspect", self.compiled("bert"), "--json").stdout)["entries"][0]
        self.assertEqual(sum(line["steps"] for line in profile), entry["barriers"])
        self.assertAlmostEqual(sum(line["ms"] for line in profile), row["ms_min"], delta=0.02 * row["ms_min"] + 0.001)
        self.assertAlmostEqual(sum(line["gflops"] * line["ms"] for line in profile) * 1e-3, self.work(row), delta=0.02 * self.work(row))
        text = self.succeed("bench", self.compiled("bert"), "-s", "16", "-r", "1", "--profile").stdout
        self.assertIn(f"{entry['barriers']} barriers a call", text)
        text = self.succeed("bench", self.compiled("bert"), "-s", "16", "-r", "1", "--profile", "--format", "csv").stdout
        table = list(csv.DictReader(io.StringIO(text.split("\n\n")[1])))
        self.assertEqual({line["location"] for line in table}, {line["location"] for line in profile})

    def test_trace(self):
        self.succeed("bench", self.compiled("bert"), "-s", "16", "-t", "2", "-r", "1", "--trace", self.path("trace.json"))
        with open(self.path("trace.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        names = [event for event in events if event["ph"] == "M"]
        shares = [event for event in events if event["ph"] == "X"]
        entry = json.loads(self.succeed("inspect", self.compiled("bert"), "--json").stdout)["entries"][0]
        self.assertEqual(len(shares), entry["barriers"] * len(names))
        self.assertEqual({event["tid"] for event in shares}, set(range(len(names))))
        for event in shares:
            self.assertGreaterEqual(event["ts"], 0)
            self.assertGreaterEqual(event["dur"], 0)
        # No share begins before all of the step before have ended.
        ends = {}
        for event in shares:
            step = event["args"]["step"]
            ends[step] = max(ends.get(step, 0), event["ts"] + event["dur"])
        for event in shares:
            self.assertGreaterEqual(event["ts"] + 0.002, ends.get(event["args"]["step"] - 1, 0))
        self.fail_with(6, "bench", self.compiled("bert"), "-r", "1", "--trace", self.path("no/trace"), says="no/trace")

    def test_flags_and_inputs_that_do_not_fit(self):
        model = self.compiled("bert")
        self.fail_with(5, "bench", model, "-s", "100000")
        self.fail_with(2, "bench", model, "--entry", "encoder", says="encode")
        self.fail_with(2, "bench", model, "-s", "0")
        self.fail_with(2, "bench", model, "--format", "xml", says="xml")
        self.fail_with(2, "bench", model, "--in", self.ragged(), "--texts", self.ragged(), says="--texts")
        self.fail_with(6, "bench", model, "--in", self.path("none"), says="none")
        self.fail_with(6, "bench", model, "--in", self.path("none"), "--one-by-one", says="none")
        write_tensors(self.path("odd"), {"ids": ("I64", [1, 2], [1, 2])})
        self.fail_with(3, "bench", model, "--in", self.path("odd"), says="ids")
        self.fail_with(3, "bench", model, "--in", self.path("odd"), "--one-by-one", says="ids")
        self.fail_with(4, "bench", model, "--texts", self.path("odd"), says="tokenizer")


if __name__ == "__main__":
    unittest.main()
