# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run: tensors that fit, tensors that do not, instruction sets."""
import json
import os
import unittest

from base import ALL_TARGETS, GOLDENS, ToolTest, goldens, write_tensors


class Run(ToolTest):
    def run_on(self, tensors, code=0, says="", model="bert", entry="encode", flags=(), **options):
        write_tensors(self.path("in.safetensors"), tensors)
        arguments = ["run", self.compiled(model, *flags), entry, "--in", self.path("in.safetensors"), "--out", self.path("out.safetensors")]
        if code:
            self.fail_with(code, *arguments, says=says, **options)
            self.assertFalse(os.path.exists(self.path("out.safetensors")))
            return None
        self.succeed(*arguments, **options)
        return goldens.read_tensors(self.path("out.safetensors"))

    def test_masks_and_types_are_optional(self):
        ids = [5, 6, 7, 8]
        short = self.run_on({"input_ids": ("I64", [1, 4], ids)})
        full = self.run_on({"input_ids": ("I64", [1, 4], ids), "attention_mask": ("I64", [1, 4], [1] * 4), "token_type_ids": ("I64", [1, 4], [0] * 4)})
        self.assertEqual(short, full)

    def test_i32_is_as_good_as_i64(self):
        ids = [5, 6, 7, 8]
        self.assertEqual(self.run_on({"input_ids": ("I32", [2, 2], ids)}), self.run_on({"input_ids": ("I64", [2, 2], ids)}))

    def test_results_as_json(self):
        path = os.path.join(GOLDENS, "bert", "encode.0.in.safetensors")
        output = self.succeed("run", self.compiled("bert"), "encode", "--in", path, "--out", self.path("out"), "--json").stdout
        results = goldens.read_tensors(self.path("out"))
        self.assertEqual({r["name"]: r["shape"] for r in json.loads(output)}, {name: shape for name, (shape, _) in results.items()})

    def test_one_token(self):
        shape, values = self.run_on({"input_ids": ("I64", [1, 1], [9])})["last_hidden_state"]
        self.assertEqual(shape[:2], [1, 1])
        self.assertEqual(len(values), shape[2])

    def test_inputs_that_do_not_fit(self):
        ids = ("I64", [1, 2], [1, 2])
        self.run_on({"ids": ids}, 3, says="ids")
        self.run_on({}, 3, says="input_ids")
        self.run_on({"input_ids": ids, "extra": ids}, 3, says="extra")
        self.run_on({"input_ids": ("F32", [1, 2], [1, 2])}, 3, says="f32")
        self.run_on({"input_ids": ("I64", [2], [1, 2])}, 3, says="input_ids")
        self.run_on({"input_ids": ("I64", [1, 2, 1], [1, 2])}, 3, says="input_ids")
        self.run_on({"input_ids": ids, "attention_mask": ("I64", [1, 3], [1, 1, 1])}, 3, says="attention_mask")
        self.run_on({"input_ids": ids, "attention_mask": ("I64", [1, 2], [1, 2])}, 3, says="attention_mask")
        self.run_on({"input_ids": ("I64", [0, 2], [])}, 3, says="input_ids")
        self.run_on({"input_ids": ("I64", [1, 0], [])}, 3, says="input_ids")
        self.run_on({"input_ids": ("U8", [1, 2], [1, 2])}, 3, says="U8")

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

    def test_inputs_that_are_no_safetensors(self):
        with open(self.path("in.safetensors"), "wb") as file:
            file.write(b"\x10\0\0\0\0\0\0\0{}")
        self.fail_with(3, "run", self.compiled("bert"), "encode", "--in", self.path("in.safetensors"), "--out", self.path("o"), says="in.safetensors")

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
