# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run: results, model limits, instruction sets, errors for encoder-decoders."""
import json
import os
import unittest

from base import ALL_TARGETS, GOLDENS, goldens, write_tensors
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


class RunEncoderDecoder(RunTest):
    """Input that an encoder-decoder rejects; its goldens have 53 tokens and 40 positions, T5 has no limit."""

    def refuse(self, code, says, ids, entry="generate", flags=(), model="marian", **others):
        tensors = {name: ("I64", [len(rows), len(rows[0])], sum(rows, [])) for name, rows in {"input_ids": ids, **others}.items()}
        write_tensors(self.path("in"), tensors)
        self.fail_with(code, "run", self.compiled("encoder-decoders/" + model), entry, "--in", self.path("in"), "--out", self.path("out"), *flags, says=says)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_sources(self):
        given = {"logits": {"decoder_input_ids": [[2, 5], [2, 5]]}, "score": {"labels": [[5, 6], [5, -100]]}, "generate": {}}
        for entry, others in given.items():
            self.refuse(3, "1 has no tokens" if entry == "generate" else "row 1 of 'input_ids' has no tokens", [[5, 6], [7, 8]], entry,
                        attention_mask=[[1, 1], [0, 0]], **others)
            self.refuse(5, "40", [[5] * 41] * 2, entry, **others)
            self.refuse(3, "53", [[5, 53]] * 2, entry, **others)
            self.refuse(3, "-1", [[-1, 5]] * 2, entry, **others)
            self.refuse(3, "2", [[5, 6]] * 2, entry, attention_mask=[[1, 2]] * 2, **others)

    def test_targets(self):
        self.refuse(5, "41 tokens, over the model's context of 40", [[5]], "logits", decoder_input_ids=[[2] * 41])
        self.refuse(3, "53", [[5]], "logits", decoder_input_ids=[[53]])
        self.refuse(3, "'decoder_input_ids'", [[5]], "logits")
        self.refuse(3, "'batch' is 1", [[5]], "logits", decoder_input_ids=[[2], [2]])
        self.refuse(5, "41 tokens", [[5]], "score", labels=[[5] * 41])
        self.refuse(3, "-5", [[5]], "score", labels=[[-5]])
        self.refuse(3, "'labels'", [[5]], "score")

    def test_searches(self):
        self.refuse(2, "got '0'", [[5]], flags=["--num-beams", "0"])
        self.refuse(2, "65536", [[5]], flags=["--num-beams", "65537"])
        self.refuse(2, "'num_return_sequences' 3 is more than 'num_beams' 2", [[5]], flags=["--num-beams", "2", "--num-return-sequences", "3"])
        self.refuse(4, "sampling with 'num_beams' 4", [[5]], flags=["--num-beams", "4", "--temperature", "1"])
        self.refuse(4, "context", [[5]], flags=["--num-beams", "2", "--context-shift"])
        self.refuse(3, "no token is left", [[5]], flags=["--forced-bos-token-id", "53"])

    def test_entries_that_are_not_for_tensors(self):
        for entry in ("step", "source"):
            self.refuse(2, f"'{entry}'", [[5]], entry)

    def test_a_long_source_of_t5(self):
        write_tensors(self.path("in"), {"input_ids": ("I64", [1, 300], [5] * 300)})
        self.succeed("run", self.compiled("encoder-decoders/t5"), "generate", "--in", self.path("in"), "--out", self.path("out"), "-n", "2")


if __name__ == "__main__":
    unittest.main()
