# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run: results, limits of a model, instruction sets."""
import json
import os
import unittest

from base import ALL_TARGETS, GOLDENS, goldens
from tensors import RunTest


class Run(RunTest):
    def test_results_as_json(self):
        path = os.path.join(GOLDENS, "bert", "encode.0.in.safetensors")
        output = self.succeed("run", self.compiled("bert"), "encode", "--in", path, "--out", self.path("out"), "--json").stdout
        results = goldens.read_tensors(self.path("out"))
        self.assertEqual({r["name"]: r["shape"] for r in json.loads(output)}, {name: shape for name, (shape, _) in results.items()})

    def test_one_token(self):
        shape, values = self.run_on({"input_ids": ("I64", [1, 1], [9])})["last_hidden_state"]
        self.assertEqual(shape[:2], [1, 1])
        self.assertEqual(len(values), shape[2])

    def test_ids_out_of_range(self):
        self.run_on({"input_ids": ("I64", [1, 2], [1, 211])}, 3, says="211")
        self.run_on({"input_ids": ("I64", [1, 2], [-1, 2])}, 3, says="-1")

    def test_length_over_the_maximum(self):
        for model in ("bert", "roberta"):
            with open(os.path.join(GOLDENS, model, "config.json")) as file:
                config = json.load(file)
            most = config["max_position_embeddings"] - (config["pad_token_id"] + 1 if model == "roberta" else 0)
            self.run_on({"input_ids": ("I64", [1, most], [5] * most)}, model=model)
            os.remove(self.path("out.safetensors"))
            self.run_on({"input_ids": ("I64", [1, most + 1], [5] * (most + 1))}, 5, says=str(most), model=model)

    def test_unknown_entry(self):
        self.run_on({"input_ids": ("I64", [1, 1], [1])}, 2, says="did you mean 'encode'?", entry="encoder")

    def test_instruction_sets(self):
        v3 = self.compiled("bert", "--target", "x86-64-v3")
        v4 = self.compiled("bert", "--target", "x86-64-v4")
        self.fail_with(4, "bench", v4, env={"TRANSOM_FORCE_ISA": "avx2"}, says="avx2")
        self.fail_with(4, "bench", v3, env={"TRANSOM_FORCE_ISA": "avx512"}, says="avx512")
        self.fail_with(4, "bench", v3, env={"TRANSOM_FORCE_ISA": "sse9"}, says="sse9")

    @unittest.skipUnless(goldens.runnable("avx512"), "this CPU has no AVX-512")
    def test_same_bits_on_each_instruction_set(self):
        tensors = {"input_ids": ("I64", [3, 40], [(7 * i) % 200 + 1 for i in range(120)]), "attention_mask": ("I64", [3, 40], [int(i % 40 < 10 * (i // 40 + 2)) for i in range(120)])}
        results = [self.run_on(tensors, flags=ALL_TARGETS, env={"TRANSOM_FORCE_ISA": isa}) for isa in ("avx2", "avx512")]
        self.assertEqual(*results)


if __name__ == "__main__":
    unittest.main()
