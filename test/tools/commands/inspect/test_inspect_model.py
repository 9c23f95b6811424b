# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""inspect on models that are not compiled: parameters by component and by layer, and FLOPs, against transformers and torch."""
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from base import GOLDENS, ToolTest, write_tensors

# Configurations; their `num_parameters()` in transformers 5.23; and the count by `torch.utils.flop_counter` in torch 2.13 for
# two sequences with 16 tokens with eager attention: all scores, including causally masked ones, and the head for each token.
ORACLES = {
    "bert": (
        {"architectures": ["BertForMaskedLM"], "model_type": "bert", "vocab_size": 211, "hidden_size": 48,
         "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 100, "hidden_act": "gelu",
         "max_position_embeddings": 96, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0},
        75631, 4703232),
    "gpt2": (
        {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 211, "n_positions": 96,
         "n_embd": 48, "n_layer": 3, "n_head": 4, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5},
        99648, 6251520),
    "llama": (
        {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 211, "hidden_size": 48,
         "intermediate_size": 112, "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2,
         "hidden_act": "silu", "max_position_embeddings": 96, "rms_norm_eps": 1e-6, "tie_word_embeddings": False,
         "head_dim": 8, "rope_theta": 10000.0},
        87408, 5219328),
    "t5": (
        {"architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "is_encoder_decoder": True,
         "vocab_size": 211, "d_model": 48, "d_kv": 10, "d_ff": 100, "num_layers": 3, "num_decoder_layers": 2,
         "num_heads": 4, "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128,
         "layer_norm_epsilon": 1e-6, "feed_forward_proj": "gated-gelu", "pad_token_id": 0, "eos_token_id": 1,
         "decoder_start_token_id": 0, "scale_decoder_outputs": False, "tie_word_embeddings": True},
        136816, 9270272),
}

# The same for golden models, with weights in several layouts.
GOLDEN_PARAMETERS = {
    "bert": 99264, "gpt2": 99072, "llama-gqa": 113344, "gemma2": 35208, "phi3": 34896, "modernbert-mlm": 75235,
    "electra-classify": 99654, "encoder-decoders/t5": 6992,
}


def evaluate(formula, sizes):
    """Evaluates a sum whose terms are products of numbers and symbols."""
    return eval(re.sub(r"[A-Za-z_]\w*", lambda name: str(sizes[name.group()]), formula))


class InspectModel(ToolTest):
    def inspect(self, path):
        return json.loads(self.succeed("inspect", path, "--json").stdout)

    def inspect_config(self, config):
        with open(self.path("config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        return self.inspect(self.path("config.json"))

    def check_sums(self, found):
        report = found["parameter_report"]
        self.assertEqual(sum(report["components"].values()), found["parameters"])
        total = {}
        for layer in report["layers"]:
            self.assertEqual(sum(layer["components"].values()), layer["parameters"])
            times = layer["last"] - layer["first"] + 1 if layer["stack"] else 1
            for component, count in layer["components"].items():
                total[component] = total.get(component, 0) + times * count
        self.assertEqual(total, report["components"])

    def test_parameters_of_configs(self):
        for name, (config, parameters, _) in ORACLES.items():
            with self.subTest(name):
                found = self.inspect_config(config)
                self.assertEqual(found["parameters"], parameters)
                self.check_sums(found)

    def test_parameters_of_folders(self):
        for name, parameters in GOLDEN_PARAMETERS.items():
            with self.subTest(name):
                found = self.inspect(os.path.join(GOLDENS, name))
                self.assertEqual(found["parameters"], parameters)
                self.check_sums(found)

    def test_parts_of_a_decoder(self):
        found = self.inspect_config(ORACLES["llama"][0])["parameter_report"]
        d, f, v, keys = 48, 112, 211, 16
        self.assertEqual(found["components"], {
            "embedding": v * d, "attention_query": 3 * d * d, "attention_key": 3 * keys * d,
            "attention_value": 3 * keys * d, "attention_output": 3 * d * d, "mlp": 3 * 3 * d * f, "norm": 7 * d,
            "head": v * d})
        self.assertFalse(found["tied_head"])
        self.assertEqual([(layer["stack"], layer.get("first"), layer.get("last")) for layer in found["layers"]],
                         [(None, None, None), ("model.layers", 0, 2)])

    def test_parts_of_an_encoder_with_a_tied_head(self):
        found = self.inspect_config(ORACLES["bert"][0])["parameter_report"]
        d, f, v = 48, 100, 211
        self.assertEqual(found["components"], {
            "embedding": (v + 96 + 2) * d, "attention_query": 3 * d * d, "attention_key": 3 * d * d,
            "attention_value": 3 * d * d, "attention_output": 3 * d * d, "mlp": 3 * 2 * d * f,
            "norm": (2 + 3 * 4 + 2) * d, "head": d * d, "bias": 3 * (5 * d + f) + d + v})
        self.assertTrue(found["tied_head"])

    def test_parts_follow_from_the_flow_of_values(self):
        """Node names in a graph do not matter, nor does decomposed attention."""
        linear = lambda name, source, rows, columns: {
            "name": name, "op": "linear", "inputs": [source], "attrs": {"weight": name}, "shape": [rows, columns]}
        nodes = [linear("a", "x", 6, 8), linear("b", "x", 6, 8), linear("c", "x", 4, 8),
                 {"name": "s", "op": "matmul", "inputs": ["a", "b"], "attrs": {"transpose_b": True}},
                 {"name": "p", "op": "softmax", "inputs": ["s"]},
                 {"name": "m", "op": "matmul", "inputs": ["p", "c"]},
                 linear("d", "m", 8, 4), {"name": "r", "op": "add", "inputs": ["x", "d"]},
                 linear("e", "r", 10, 8), {"name": "g", "op": "relu", "inputs": ["e"]},
                 linear("f", "g", 8, 10), {"name": "t", "op": "add", "inputs": ["r", "f"]},
                 linear("h", "t", 3, 8)]
        weights = {}
        for node in nodes:
            if node["op"] == "linear":
                shape = node.pop("shape")
                weights[node["name"]] = ("F32", shape, [0.5] * (shape[0] * shape[1]))
        write_tensors(self.path("model.safetensors"), weights)
        with open(self.path("graph.json"), "w", encoding="utf-8") as file:
            json.dump({"transom": 1, "name": "named", "weights": ["model.safetensors"], "dims": {"n": {}},
                       "inputs": [{"name": "x", "dtype": "f32", "shape": [1, "n", 8]}],
                       "nodes": nodes, "outputs": ["h"]}, file)
        found = self.inspect(self.path("graph.json"))
        self.assertEqual(found["parameter_report"]["components"], {
            "attention_query": 48, "attention_key": 48, "attention_value": 32, "attention_output": 32, "mlp": 160,
            "head": 24})

    def test_flops(self):
        batch, length = 2, 16
        tokens, pairs = batch * length, batch * length * length
        sizes = {"batch": batch, "seq": length, "rows": tokens, "rows1": tokens, "wanted": tokens,
                 "pairs_of_rows": pairs, "pairs_of_rows_source": pairs}
        for name, (config, _, flops) in ORACLES.items():
            with self.subTest(name):
                found = self.inspect_config(config)
                self.assertEqual(sum(evaluate(entry["flops"], sizes) for entry in found["entries"]), flops)

    def test_formulas_of_an_encoder(self):
        found = self.inspect_config(ORACLES["bert"][0])["formulas"]
        layers, d, f, v, s = 3, 48, 100, 211, 96
        self.assertEqual((found["layers"], found["width"]), (layers, d))
        self.assertEqual(found["parameters"]["textbook"], 12 * layers * d * d)
        self.assertEqual(found["parameters"]["exact"], layers * (4 * d * d + 2 * d * f))
        self.assertEqual(found["training_flops_per_token"]["textbook"], 6 * ORACLES["bert"][1])
        (entry,) = found["entries"]
        self.assertEqual(entry["length"], s)
        terms = {term["name"]: (term["textbook"], term["exact"]) for term in entry["terms"]}
        attention = 4 * layers * s * s * d
        projections = 8 * layers * s * d * d
        self.assertEqual(terms, {
            "attention_projections": (projections, projections), "attention": (attention, attention),
            "mlp": (16 * layers * s * d * d, 4 * layers * s * d * f), "head": (0, 2 * s * d * (d + v))})
        self.assertEqual(entry["textbook_flops"], 24 * layers * s * d * d + attention)
        self.assertEqual(entry["exact_flops"], sum(exact for _, exact in terms.values()))
        for term in entry["terms"]:
            self.assertEqual("why" in term, term["textbook"] != term["exact"])

    def test_layers_of_a_pipeline_count_once(self):
        found = json.loads(self.succeed("inspect", os.path.join(GOLDENS, "pipelines", "dense"), "--json").stdout)["formulas"]
        self.assertEqual([entry["entry"] for entry in found["entries"]], ["encode", "embed"])
        self.assertEqual((found["layers"], found["width"]), (1, 24))
        self.assertEqual(found["parameters"]["textbook"], 12 * 24 * 24)

    def test_formulas_of_a_decoder(self):
        """Grouped queries, three products in the MLP, causal attention, and a head for the last token only."""
        (entry,) = self.inspect_config(ORACLES["llama"][0])["formulas"]["entries"]
        layers, d, f, v, keys, s = 3, 48, 112, 211, 16, 96
        terms = {term["name"]: term for term in entry["terms"]}
        self.assertEqual({name: term["exact"] for name, term in terms.items()}, {
            "attention_projections": 2 * layers * s * (2 * d * d + 2 * d * keys),
            "attention": 4 * layers * d * s * (s + 1) // 2, "mlp": 2 * layers * s * 3 * d * f, "head": 2 * d * v})
        self.assertIn("6 of 48 x 16", terms["attention_projections"]["why"])
        self.assertIn("6 of 48 x 112", terms["mlp"]["why"])
        self.assertIn("s*(s+1)/2", terms["attention"]["why"])
        self.assertIn("last token", terms["head"]["why"])

    def test_text(self):
        text = self.succeed("inspect", os.path.join(GOLDENS, "llama-gqa")).stdout
        self.assertIn("model.layers 0-1, each: 43136 (attention_query 4096, attention_key 2048", text)
        self.assertIn("formulas for 2 layers of width 64", text)


if __name__ == "__main__":
    unittest.main()
