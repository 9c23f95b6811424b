# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`test_attention_entry.py EntryTest|BitsTest`: the entry from `compile --attention`: its weights, the bits in its other
results, selected layers and heads, errors."""
import json
import os
import re
import sys
import unittest
from random import Random

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from base import GOLDENS, SOURCE, ToolTest, goldens, write_tensors


def flatten(rows):
    return [value for row in rows for value in row]


class Entry(ToolTest):
    """The entry `attention` by `run`."""

    def run_entry(self, model, entry, ids, mask, target=None):
        shape = [len(ids), len(ids[0])]
        tensors = {"input_ids": ("I64", shape, flatten(ids))}
        if not all(flatten(mask)):
            tensors["attention_mask"] = ("I64", shape, flatten(mask))
        if target:
            tensors["decoder_input_ids"] = ("I64", [len(target), len(target[0])], flatten(target))
        write_tensors(self.path("in"), tensors)
        self.succeed("run", model, entry, "--in", self.path("in"), "--out", self.path("out"))
        return goldens.read_tensors(self.path("out"))

    def get_cases(self):
        """Name, entry arguments, and the expected weights by kind, as shape and values for each layer."""
        with open(os.path.join(GOLDENS, "attention.json"), encoding="utf-8") as file:
            cases = json.load(file)
        for name, case in cases.items():
            given = case["input_ids"], case["attention_mask"], case.get("decoder_input_ids")
            if given[2]:
                kinds = {kind: (case[kind]["shape"], case[kind]["weights"]) for kind in case if kind.endswith("attentions")}
                yield f"encoder-decoders/{name}", given, kinds
            else:
                yield name, given, {"attentions": (case["shape"], case["attentions"])}


class EntryTest(Entry):
    def test_weights_are_those_of_transformers(self):
        for name, given, kinds in self.get_cases():
            results = self.run_entry(self.compiled(name, "--attention"), "attention", *given)
            for kind, (shape, layers) in kinds.items():
                for layer, expected in enumerate(layers):
                    got, weights = results[f"{kind}.{layer}"]
                    self.assertEqual(got, shape, f"{name}, {kind}.{layer}")
                    self.assertLess(max(abs(a - b) for a, b in zip(weights, expected)), 1e-5, f"{name}, {kind}.{layer}")
                self.assertNotIn(f"{kind}.{len(layers)}", results)

    def test_bits_do_not_depend_on_the_batch(self):
        with open(os.path.join(GOLDENS, "attention.json"), encoding="utf-8") as file:
            case = json.load(file)["bert"]
        model = self.compiled("bert", "--attention")
        together = self.run_entry(model, "attention", case["input_ids"], case["attention_mask"])["attentions.1"][1]
        size = len(together) // 3
        for row in range(3):
            alone = self.run_entry(model, "attention", case["input_ids"][row:row + 1], case["attention_mask"][row:row + 1])
            self.assertEqual(alone["attentions.1"][1], together[row * size:(row + 1) * size])

    def test_sizes_have_limits(self):
        model = self.compiled("bert", "--attention")
        for rows, columns in ((5, 4), (1, 97)):
            write_tensors(self.path("in"), {"input_ids": ("I64", [rows, columns], [5] * rows * columns)})
            self.fail_with(5, "run", model, "attention", "--in", self.path("in"), "--out", self.path("out"))

    def test_other_entries_are_compiled_as_without_the_flag(self):
        # Each function in the module, as its operation list; the phases in a run are functions of these.
        def get_functions(folder, *flags):
            text = self.succeed("compile", os.path.join(GOLDENS, folder), "-q", "--emit", "kern", "-o", "-", *flags).stdout
            functions = re.findall(r"^  func\.func (?:private )?@\w+\(.*?^  }", text, re.S | re.M)
            return [re.findall(r"kern\.\w+|epilogue <\w+|\w+_out\b|splits", function) for function in functions]
        for name in ("bert", "llama-gqa", "gpt2-by-layer", "encoder-decoders/marian"):
            plain, others = get_functions(name), get_functions(name, "--attention")
            self.assertGreater(len(plain), 1)
            for function in plain:
                self.assertIn(function, others, name)
            self.assertEqual(len(others), len(plain) + 1)

    def test_chosen_layers_and_heads(self):
        plain = self.compiled("encoder-decoders/marian", "--attention")
        # The encoder has 1 layer with 4 heads, the decoder 2 with 2.
        for layers, heads, expected in (("1", "0", {"decoder_attentions.1": [0], "cross_attentions.1": [0]}),
                                        ("0", "1,3", {"encoder_attentions.0": [1, 3], "decoder_attentions.0": [1], "cross_attentions.0": [1]})):
            model = self.compiled("encoder-decoders/marian", "--attention", "--attention-layers", layers, "--attention-heads", heads)
            given = [[5, 6, 7]], [[1, 1, 1]], [[8, 9]]
            every, results = self.run_entry(plain, "attention", *given), self.run_entry(model, "attention", *given)
            self.assertEqual(set(results), {"logits", *expected})
            self.assertEqual(results["logits"], every["logits"])
            for name, chosen in expected.items():
                (_, count, queries, keys), weights = every[name]
                size = queries * keys
                self.assertEqual(results[name][0], [1, len(chosen), queries, keys])
                self.assertEqual(list(results[name][1]), [weight for head in chosen for weight in weights[head * size:(head + 1) * size]])
            # The command reports their indices.
            made = json.loads(self.succeed("attention", model, "--ids", "5,6,7", "--target-ids", "9,2", "--format", "json", "-o", "-").stdout)
            self.assertEqual({f"{group['name']}_attentions.{group['layers'][0]}": group["heads"] for group in made["attention"]}, expected)
            self.fail_with(2, "attention", model, "--ids", "5", "--target-ids", "9", "--heads", "2", "-o", self.path("p"), says="'2' is out of range")
        folder = os.path.join(GOLDENS, "encoder-decoders", "marian")
        for flags, says in ((("--attention-layers", "2"), "no layer '2'"), (("--attention-heads", "0,4"), "head '4'"), (("--attention-heads", "x"), "'x'")):
            self.fail_with(2, "compile", folder, "--attention", *flags, "-q", "-o", self.path("m.so"), says=says)
        self.fail_with(2, "compile", folder, "--attention-layers", "0", "-q", "-o", self.path("m.so"), says="need '--attention'")

    def test_caches_that_round_are_refused(self):
        # The entry has no cache, so its results would differ.
        for name in ("llama-gqa", "encoder-decoders/marian"):
            for dtype, cache in (("f32", "int8"), ("f32", "bf16"), ("bf16", "f32"), ("bf16", "int8")):
                self.fail_with(4, "compile", os.path.join(GOLDENS, name), "--attention", "--dtype", dtype, "--kv-dtype", cache, "-q", "-o", self.path("m.so"),
                               says=f"'--attention' with '--kv-dtype {cache}' is not supported for '--dtype {dtype}'; supported: '--kv-dtype {dtype}'")

    def test_models_without_weights_are_refused(self):
        self.fail_with(4, "compile", os.path.join(SOURCE, "examples", "pre-norm"), "--attention", "-q", "-o", self.path("m.so"), says="supported: encoders, decoders and encoder-decoders")


class BitsTest(Entry):
    def test_other_results_keep_their_bits(self):
        for name, given, _ in self.get_cases():
            # Some, for time.
            if os.path.basename(name) not in ("bert", "modernbert", "llama-gqa", "gemma2", "marian", "t5", "m2m"):
                continue
            entry = "encode" if name in ("bert", "modernbert") else "logits"
            plain = self.run_entry(self.compiled(name), entry, *given)
            model = self.compiled(name, "--attention")
            self.assertEqual(plain, self.run_entry(model, entry, *given))
            results = self.run_entry(model, "attention", *given)
            self.assertEqual(plain, {result: results[result] for result in plain}, name)

    def test_other_results_keep_their_bits_beside_padding(self):
        # Sources longer than one panel of 32 keys: without padding, and with padding on the left, on the right, and between
        # tokens.
        length, random = 40, Random(1)
        mask = [[1] * length, [0] * 7 + [1] * 33, [1] * 35 + [0] * 5, [int(i % 3 != 1) for i in range(length)]]
        ids = [[random.randrange(4, 30) for _ in row] for row in mask]
        for name, entry in (("bert", "encode"), ("gemma2", "logits"), ("encoder-decoders/marian", "logits"), ("encoder-decoders/t5", "logits")):
            # A decoder alone takes no mask.
            given = [ids, [[1] * length] * 4] if name == "gemma2" else [ids, mask]
            if "/" in name:
                given.append([[random.randrange(4, 30) for _ in range(9)] for _ in mask])
            for dtype in ("f32", "bf16"):
                model = self.compiled(name, "--attention", *(["--dtype", dtype] if dtype != "f32" else []))
                plain, results = self.run_entry(model, entry, *given), self.run_entry(model, "attention", *given)
                self.assertEqual(plain, {result: results[result] for result in plain}, f"{name}, {dtype}")


unittest.main()
