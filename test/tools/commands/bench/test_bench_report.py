# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The three table formats, profiles and traces."""
import csv
import io
import json
import unittest

from benches import COLUMNS, LIMITS, MORE, BenchTest


class BenchReport(BenchTest):
    def test_json_rows(self):
        rows = self.rows("-b", "1,2", "-s", "4,8", "-r", "2")
        self.assertEqual([(row["batch"], row["seq"]) for row in rows], [(1, 4), (1, 8), (2, 4), (2, 8)])
        for row in rows:
            self.assertEqual(list(row), ["entry", *COLUMNS, *MORE, *LIMITS])
            self.assertGreater(row["limit_gflops"], row["gflops"])
            self.assertGreater(row["limit_gbps"], 0)
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

    def test_profile(self):
        row = self.row("-s", "16", "-r", "2", "--profile")
        profile = row["profile"]
        self.assertEqual(list(profile[0]), ["location", "phase", "dispatches", "ms", "share", "gflops", "gbps", "peak_share"])
        self.assertEqual(profile[-1]["location"], "outside dispatches")
        self.assertTrue(any("attention" in line["location"] for line in profile), profile)
        entry = json.loads(self.succeed("inspect", self.compiled("bert"), "--json").stdout)["entries"][0]
        self.assertEqual(sum(line["dispatches"] for line in profile), entry["barriers"])
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
        work = [event for event in events if event["ph"] == "X"]
        entry = json.loads(self.succeed("inspect", self.compiled("bert"), "--json").stdout)["entries"][0]
        self.assertEqual(len(work), entry["barriers"] * len(names))
        self.assertEqual({event["tid"] for event in work}, set(range(len(names))))
        for event in work:
            self.assertGreaterEqual(event["ts"], 0)
            self.assertGreaterEqual(event["dur"], 0)
        # Both layers in the model share their phases; the events specify the layer.
        products = [event["args"] for event in work if event["tid"] == 0 and event["args"].get("operation") == "attention"]
        self.assertEqual([(args["layer"], args["location"]) for args in products],
                         [(0, "encoder.layer.0.attention.self"), (1, "encoder.layer.1.attention.self")])
        for args in products:
            self.assertGreater(args["flops"], 0)
            self.assertGreater(args["bytes"], 0)
            # The layer descriptions, and code that this host supports.
            self.assertEqual((args["file"], args["pointer"]), ("config.json", "/num_attention_heads"))
            isa = args["function"].split(".")[2]
            self.assertEqual(len(args["kernels"]), 3)  # scores, and values with and without a division
            for kernel in args["kernels"]:
                self.assertRegex(kernel, rf"^transom\.k\.{isa}\.f32\.\d+x\d+\.")
            self.assertRegex(args["function"], r"^transom\.p\.\w+\..*\.attention\.encoder\.layer\.\{0-1\}\.attention\.self$")
        # No worker starts a dispatch before all have finished the previous one.
        ends = {}
        for event in work:
            dispatch = event["args"]["dispatch"]
            ends[dispatch] = max(ends.get(dispatch, 0), event["ts"] + event["dur"])
        for event in work:
            self.assertGreaterEqual(event["ts"] + 0.002, ends.get(event["args"]["dispatch"] - 1, 0))
        self.fail_with(6, "bench", self.compiled("bert"), "-r", "1", "--trace", self.path("no/trace"), says="no/trace")


if __name__ == "__main__":
    unittest.main()
