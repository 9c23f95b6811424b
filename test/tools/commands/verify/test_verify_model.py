# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""verify MODEL: the pass check, certificates, transom-check, layers against another library, invalid files."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from base import GOLDENS, SOURCE, TOOL, ToolTest, goldens, write_tensors

BERT = os.path.join(SOURCE, "examples", "tiny-bert")
LLAMA = os.path.join(SOURCE, "examples", "tiny-llama")
NLLB = os.path.join(SOURCE, "examples", "tiny-nllb")
CHECK = os.path.join(os.path.dirname(TOOL), "transom-check")


class VerifyTest(ToolTest):
    def verify(self, *arguments, code=0):
        result = self.tool("verify", *arguments, "--json")
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def check_folders(self, folders):
        """No pass changes a folder's results, also with sequential stages."""
        for model in folders:
            with self.subTest(model=model):
                certificate = self.verify(model)
                self.assertEqual((certificate["verdict"], certificate["lanes"]), ("equal", 1))
                self.assertTrue(any(entry["changed"] for entry in certificate["passes"]))

    def deep_bert(self, layers):
        """A config.json alone, with more layers."""
        folder = self.path(f"bert-{layers}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(BERT, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        config["num_hidden_layers"] = layers
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        return os.path.join(folder, "config.json")

    def config(self, name, **config):
        """A folder with only a config.json."""
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        return folder

    def large_llama(self, **changes):
        """A decoder like models with 7 billion weights, with grouped queries."""
        return self.config("large", **{**{
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "rms_norm_eps": 1e-5,
            "max_position_embeddings": 8192, "rope_theta": 500000.0, "bos_token_id": 1, "eos_token_id": 2}, **changes})

    def check(self, folder, code=0):
        result = subprocess.run([CHECK, folder], capture_output=True, text=True)
        self.assertEqual(result.returncode, code, result.stderr)
        if code:
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stdout if code == 0 else result.stderr

    def stages(self, name, *flags, model=BERT):
        folder = self.path(name)
        self.succeed("verify", model, "--stages", folder, *flags)
        return folder

    def expect(self, change=None):
        """A layer file for the golden 'bert', as computed by transformers in float64."""
        tensors = goldens.read_tensors(os.path.join(SOURCE, "test", "goldens", "layers", "bert.safetensors"))
        tensors = {name: ["I64" if name in ("input_ids", "attention_mask") else "F32", *tensor] for name, tensor in tensors.items()}
        if change:
            change(tensors)
        path = self.path("expect.safetensors")
        write_tensors(path, tensors)
        return path


class VerifyModel(VerifyTest):
    def test_examples(self):
        for model in (BERT, LLAMA, NLLB, os.path.join(SOURCE, "examples", "tiny-t5"),
                      os.path.join(SOURCE, "examples", "decomposed-attention"), os.path.join(SOURCE, "examples", "decoder")):
            with self.subTest(model=model):
                certificate = self.verify(model)
                self.assertEqual((certificate["verdict"], certificate["lanes"]), ("equal", 1))
                changed = {entry["pass"] for entry in certificate["passes"] if entry["changed"]}
                self.assertLessEqual({"convert-attn-to-kern", "kern-plan-memory"}, changed)
                self.assertEqual([stage["stage"] for stage in certificate["stages"]], ["attn", "attn-opt", "kern"])
                # A pass adds logit summaries to a decoder's results.
                results = [stage["results"] for stage in certificate["stages"]]
                self.assertEqual(results[1], results[2])
                self.assertEqual(results[0] == results[1], "attn-summarize-logits" not in changed)

    def test_pipelines_tasks_and_new_operations(self):
        # All kinds of pooling; dense, norm and sparse modules; late interaction; heads; convolutions and relative positions.
        names = ("pipelines/side-by-side", "pipelines/residual", "pipelines/gpt2-weighted", "pipelines/qwen-last", "pipelines/splade-sum",
                 "pipelines/tokens", "pipelines/t5-dense", "tasks/bert-answers", "tasks/roberta-tags", "deberta-v2-convolution", "albert")
        self.check_folders(os.path.join(GOLDENS, name) for name in names)

    def test_types_and_backends(self):
        for flags in (("--dtype", "bf16"), ("--kv-dtype", "int8"), ("--quantize", "int8"), ("--quantize", "int4"), ("--quantize", "int4", "--quantize-head", "none", "--quantize-embeddings", "int4"), ("--quantize", "int8", "--activations", "f32"), ("--backend", "onednn"), ("--disable-pass", "kern-fuse-norm"),
                      ("--attention",)):
            with self.subTest(flags=flags):
                self.assertEqual(self.verify(LLAMA, *flags)["verdict"], "equal")

    def test_words(self):
        one = self.succeed("verify", BERT).stdout
        self.assertIn("no difference found (proved chance of a miss at most 2^-11)", one)
        self.assertNotIn("proved equal", one)
        two = self.succeed("verify", BERT, "--lanes", "2", "--full").stdout
        self.assertIn("proved equal (chance of a miss below 2^-60)", two)
        for text in (one, two):
            for word in ("shown:", "not shown:", "key ", "encode: input_ids [3, 5]"):
                self.assertIn(word, text)

    def test_layers_are_left_out(self):
        cut = self.verify(self.deep_bert(9))
        self.assertEqual(cut["layers"], [{"entry": "encode", "run": ["encoder.layer.0", "encoder.layer.1", "encoder.layer.8"], "num_run": 3,
                                          "num_layers": 9}])
        self.assertTrue(any("--full" in line for line in cut["not_shown"]))
        whole = self.verify(self.deep_bert(9), "--full")
        self.assertFalse(any("--full" in line for line in whole["not_shown"]))
        self.assertEqual(whole["layers"], [])

    def test_layers_agree(self):
        report = self.verify(os.path.join(GOLDENS, "bert"), "--expect", self.expect())
        self.assertTrue(report["equal"])
        names = [module["module"] for module in report["modules"]]
        self.assertEqual(names[:2], ["encoder.layer.0", "encoder.layer.1"])
        self.assertTrue(all(module["error"] <= 1e-5 * module["largest"] for module in report["modules"]))

    def test_first_layer_that_differs(self):
        def change(tensors):
            tensors["encoder.layer.1"][2] = [value + 0.5 for value in tensors["encoder.layer.1"][2]]
        result = self.tool("verify", os.path.join(GOLDENS, "bert"), "--expect", self.expect(change))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"the first module that differs from .* is encoder.layer.1: element \d+ is \S+, expected")
        self.assertRegex(result.stdout, r"agrees +error \S+ of \S+ +encoder.layer.0")

    def test_wrong_expectations(self):
        def reshape(tensors):
            dtype, shape, values = tensors["encoder.layer.1"]
            tensors["encoder.layer.1"] = [dtype, [*shape[:-1], shape[-1] - 1], values[: len(values) // shape[-1] * (shape[-1] - 1)]]
        for change, words in ((reshape, "tensor 'encoder.layer.1' has"), (lambda tensors: tensors.pop("input_ids"), "'input_ids'")):
            result = self.tool("verify", os.path.join(GOLDENS, "bert"), "--expect", self.expect(change))
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_usage(self):
        for arguments, words in (((self.path("none"),), None), ((BERT, "--bits"), "transom compile"), ((BERT, "--lanes", "3"), "3")):
            result = self.tool("verify", *arguments)
            self.assertIn(result.returncode, (2, 6))
            if words:
                self.assertIn(words, result.stderr)


class SmallerWidths(VerifyTest):
    def test_large_models_run_at_smaller_widths(self):
        for flags in ((), ("--quantize", "int4", "--kv-dtype", "int8")):
            with self.subTest(flags=flags):
                certificate = self.verify(self.large_llama(), *flags, "--mem-limit", "2G")
                self.assertEqual((certificate["verdict"], certificate["other_structure"], certificate["full_widths_because"]), ("equal", "", ""))
                names = {width["name"]: width["size"] for width in certificate["widths"]}
                runs = {width["size"]: width["run"] for width in certificate["widths"]}
                self.assertEqual((names["vocabulary"], names["hidden"], names["heads"], names["key-value heads"]), (128256, 4096, 32, 8))
                self.assertEqual(runs[4096], runs[32] * runs[128])
                self.assertEqual(runs[32] / runs[8], 4)
                group = 128 if "--quantize" in flags else 32
                for size in (4096, 14336):
                    self.assertEqual(runs[size] % group, size % group)
                    self.assertLess(runs[size], size)
                self.assertTrue(any("The widths of the model" in line for line in certificate["not_shown"]))
                self.assertTrue(any("At the widths of the model the same passes" in line for line in certificate["shown"]))
        text = self.succeed("verify", self.large_llama()).stdout
        self.assertRegex(text, r"widths  .*hidden 4096 -> \d+")
        self.assertIn("no difference found at smaller widths", text)

    def test_other_large_models(self):
        bert = {"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": 1024, "intermediate_size": 4096,
                "num_hidden_layers": 24, "num_attention_heads": 16, "max_position_embeddings": 512, "layer_norm_eps": 1e-12,
                "type_vocab_size": 2, "vocab_size": 30522, "pad_token_id": 0}
        t5 = {"architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "d_ff": 16384, "d_kv": 128, "d_model": 1024, "num_heads": 16,
              "num_layers": 24, "relative_attention_num_buckets": 32, "vocab_size": 32128, "decoder_start_token_id": 0, "eos_token_id": 1,
              "pad_token_id": 0, "layer_norm_epsilon": 1e-6, "feed_forward_proj": "relu", "is_encoder_decoder": True}
        for name, config in (("bert", bert), ("t5", t5)):
            with self.subTest(name=name):
                certificate = self.verify(self.config(name, **config))
                self.assertEqual((certificate["verdict"], certificate["other_structure"]), ("equal", ""))
                self.assertIn("hidden", [width["name"] for width in certificate["widths"]])

    def test_memory_limit(self):
        result = self.tool("verify", self.large_llama(), "--full", "--mem-limit", "4G")
        self.assertEqual(result.returncode, 5)
        self.assertRegex(result.stderr, r"the check takes about \d+ bytes, over '--mem-limit' of 4294967296; without '--full' it takes less\n$")

    def test_progress(self):
        lines = [json.loads(line) for line in self.succeed("verify", BERT, "--progress", "json").stderr.splitlines()]
        self.assertEqual([line["done"] for line in lines], list(range(len(lines))))
        self.assertEqual({line["total"] for line in lines}, {len(lines) - 1})
        self.assertLessEqual({"convert-attn-to-kern", "kern-plan-memory"}, {line["pass"] for line in lines})
        self.assertEqual(lines[-1]["seconds_left"], 0)
        self.assertTrue(all(line["bytes"] > 0 for line in lines))
        self.assertEqual(self.succeed("verify", BERT).stderr, "")


class Stages(VerifyTest):
    def test_stages_of_smaller_widths_are_checked_again(self):
        self.assertIn("at smaller widths", self.check(self.stages("small", model=self.large_llama())))

    def test_certificate_is_the_same_each_time(self):
        first, second = (self.succeed("verify", BERT, "--json").stdout for _ in range(2))
        self.assertEqual(first, second)
        self.assertNotEqual(json.loads(first)["key"], self.verify(BERT, "--dtype", "bf16")["key"])

    def test_compile_certifies(self):
        plain, certified = self.path("plain.so"), [self.path("first.so"), self.path("second.so")]
        self.succeed("compile", BERT, "-o", plain)
        for path in certified:
            self.succeed("compile", BERT, "--certify", "-o", path)
        def digest(path):
            with open(path, "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
        self.assertEqual(digest(certified[0]), digest(certified[1]))
        self.assertNotEqual(digest(certified[0]), digest(plain))
        report = json.loads(self.succeed("inspect", certified[0], "--json").stdout)
        self.assertIn("no difference found", report["certificate"]["verdict"])
        self.assertEqual(report["certificate"]["key"], self.verify(BERT)["key"])
        self.assertIn("certificate  ", self.succeed("inspect", certified[0]).stdout)
        self.assertNotIn("certificate", json.loads(self.succeed("inspect", plain, "--json").stdout))

    def test_stages_are_checked_again(self):
        self.assertIn("no difference found", self.check(self.stages("bert")))
        self.assertIn("proved equal", self.check(self.stages("llama", "--lanes", "2", "--dtype", "bf16", model=LLAMA)))
        self.assertIn("no difference found", self.check(self.stages("nllb", model=NLLB)))

    def test_wrong_stages(self):
        good, other = self.stages("good"), self.stages("other", "--dtype", "bf16")

        def damaged(name, change):
            folder = self.path(name)
            shutil.copytree(good, folder)
            change(folder)
            return folder

        def flip(folder):
            with open(os.path.join(folder, "attn-opt.mlir"), "r+b") as file:
                file.seek(200)
                byte = file.read(1)
                file.seek(200)
                file.write(bytes([byte[0] ^ 1]))

        def rekey(folder):
            path = os.path.join(folder, "certificate.json")
            with open(path, encoding="utf-8") as file:
                certificate = json.load(file)
            certificate["key"] = "0" * 64
            with open(path, "w", encoding="utf-8") as file:
                json.dump(certificate, file)

        missing = damaged("missing", lambda folder: os.remove(os.path.join(folder, "kern.mlir")))
        self.assertIn("kern.mlir", self.check(missing, 6))
        mixed = damaged("mixed", lambda folder: shutil.copy(os.path.join(other, "kern.mlir"), folder))
        self.assertRegex(self.check(mixed, 3), r"kern.mlir: has the sha256 \w{64}, the certificate \w{64}; expected the stages of one")
        self.assertIn("attn-opt.mlir: has the sha256", self.check(damaged("flipped", flip), 3))
        self.assertIn("the key is not that of the stages", self.check(damaged("rekeyed", rekey), 3))
        self.check(self.path("nothing"), 6)

    def test_no_pass_is_linked(self):
        symbols = subprocess.run(["nm", "-C", CHECK], capture_output=True, text=True, check=True).stdout
        self.assertIn("transom::checkStages", symbols)
        self.assertNotIn("createFuseAttentionPass", symbols)
        self.assertNotIn("PassRegistration", symbols)


if __name__ == "__main__":
    unittest.main()
