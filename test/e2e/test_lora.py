# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PEFT adapters: results of merged, GGUF and quantized models, and invalid adapters."""
import json
import os
import shutil
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools", "commands"))
sys.path.insert(0, os.path.dirname(__file__))

from base import GOLDENS, ToolTest, goldens  # noqa: E402
import gguf_files  # noqa: E402

ADAPTERS = os.path.join(GOLDENS, "lora")


def read_header(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    return json.loads(data[8 : 8 + length]), data[8 + length :]


class Lora(ToolTest):
    def check(self, name, model=None, tolerance=2e-4):
        adapter = os.path.join(ADAPTERS, name)
        with open(os.path.join(adapter, "cases.json"), encoding="utf-8") as file:
            described = json.load(file)
        base, artifact = os.path.join(GOLDENS, described["base"]), self.path(name + ".so")
        self.succeed("compile", model or base, "--lora", adapter, "-O0", "-o", artifact)
        for case in described["cases"]:
            taken = self.path("out.safetensors")
            self.succeed("run", artifact, described["entry"], "--in", os.path.join(base, case), "--out", taken)
            found, expected = goldens.read_tensors(taken), goldens.read_tensors(os.path.join(adapter, case.replace(".in.", ".out.")))
            for result, (_, values) in expected.items():
                self.assertLess(max(abs(a - b) for a, b in zip(found[result][1], values)), tolerance, (name, case, result))
        return artifact

    def test_results(self):
        for name in sorted(os.listdir(ADAPTERS)):
            with self.subTest(name):
                self.check(name)

    def test_manifest(self):
        artifact = self.check("patterns")
        inspected = json.loads(self.succeed("inspect", "--json", artifact).stdout)
        self.assertEqual(inspected["options"]["lora"], os.path.join(ADAPTERS, "patterns"))
        self.assertIn("lora/adapter_model.safetensors", inspected["inputs_sha256"])

    def test_a_gguf_file(self):
        path = self.path("m.gguf")
        gguf_files.convert(os.path.join(GOLDENS, "gpt2"), path)
        self.check("transposed", path)

    def test_tied_tensors_of_a_gguf_file(self):
        path = self.path("tied.gguf")
        gguf_files.convert(os.path.join(GOLDENS, "llama-mqa"), path)
        self.check("embeddings", path)

    def copy(self, change_config=None, change_header=None):
        """Copies an adapter with another config or another tensor header."""
        source, folder = os.path.join(ADAPTERS, "patterns"), self.path("adapter")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        if change_config:
            path = os.path.join(folder, "adapter_config.json")
            with open(path, encoding="utf-8") as file:
                config = json.load(file)
            change_config(config)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config, file)
        if change_header:
            path = os.path.join(folder, "adapter_model.safetensors")
            header, data = read_header(path)
            header = change_header(header)
            text = json.dumps(header).encode()
            with open(path, "wb") as file:
                file.write(struct.pack("<Q", len(text)) + text + data)
        return folder

    def refuse(self, code, says, base="qwen2", **changes):
        self.fail_with(code, "compile", os.path.join(GOLDENS, base), "--lora", self.copy(**changes), "-o", self.path("x.so"), says=says)

    def test_wrong_configs(self):
        for key, value in (("layer_replication", [[0, 2]]), ("alora_invocation_tokens", [1]), ("use_qalora", True)):
            self.refuse(4, f"'/{key}': is not supported; supported: null or false", change_config=lambda c: c.update({key: value}))
        self.refuse(4, "adapters of the kind 'LOHA' are not supported; supported: LORA, TRAINABLE_TOKENS", change_config=lambda c: c.update(peft_type="LOHA"))
        self.refuse(4, "'pissa' changes the model's own weights", change_config=lambda c: c.update(init_lora_weights="pissa"))
        self.refuse(4, "has look-around", change_config=lambda c: c.update(alpha_pattern={"(?=q)_proj": 2}))
        self.refuse(4, "parameter 'experts.down_proj' is not supported", change_config=lambda c: c.update(target_parameters=["experts.down_proj"]))
        self.refuse(3, "has no 'lora_magnitude_vector', but 'use_dora'", change_config=lambda c: c.update(use_dora=True))
        self.refuse(3, "by the rank of adapter_config.json", change_config=lambda c: c.update(rank_pattern={}))
        self.refuse(3, "expected a number", change_config=lambda c: c.update(lora_alpha="much"))
        self.refuse(3, "'/r'", change_config=lambda c: c.update(r=0))
        self.refuse(3, "'/rank_pattern/q_proj'", change_config=lambda c: c.update(rank_pattern={"q_proj": 1e300}))
        self.refuse(3, "missing key 'peft_type'", change_config=lambda c: c.pop("peft_type"))

    def test_wrong_tensors(self):
        self.refuse(3, "which 'GPT2LMHeadModel' does not have", base="gpt2")
        self.refuse(3, "has shape [64], but the model's is [40]", base="qwen2-tied")
        self.refuse(3, "has no 'lora_B.weight'", change_header=lambda h: {
            key.replace("layers.0.mlp.down_proj.lora_B", "layers.7.mlp.down_proj.lora_B"): value for key, value in h.items()})
        self.refuse(4, "is of a kind of adapter that is not supported",
                    change_header=lambda h: {key.replace("q_proj.base_layer.bias", "q_proj.lora_diag"): value
                                             for key, value in h.items()})

    def test_other_uses(self):
        folder = self.copy()
        os.rename(os.path.join(folder, "adapter_model.safetensors"), os.path.join(folder, "adapter_model.bin"))
        self.fail_with(4, "compile", os.path.join(GOLDENS, "qwen2"), "--lora", folder, "-o", self.path("x.so"), says="only 'adapter_model.bin'")
        self.fail_with(6, "compile", os.path.join(GOLDENS, "qwen2"), "--lora", self.path("none"), "-o", self.path("x.so"), says="no such folder")
        self.fail_with(6, "compile", os.path.join(GOLDENS, "qwen2"), "--lora", GOLDENS, "-o", self.path("x.so"), says="adapter_config.json")


if __name__ == "__main__":
    unittest.main()
