# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paths that are not a model: the error names the kind of file and the remedy."""
import json
import os
import shutil
import struct
import unittest

from base import GOLDENS, ToolTest

HEADER = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
LFS = b"version https:" b"//git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
HTML = b"\n<!DOCTYPE html>\n<html><body>404</body></html>\n"

# File, contents, exit code of compile, parts of the error.
FILES = [
    ("model.onnx", b"\x08\x07\x12\x07pytorch" + bytes(64), 4, ["ONNX", "config.json"]),
    ("renamed", b"\x08\x07\x12\x07pytorch" + bytes(64), 4, ["ONNX"]),
    ("model.safetensors", struct.pack("<Q", len(HEADER)) + HEADER + bytes(4), 4, ["safetensors", "config.json"]),
    ("pytorch_model.bin", b"PK\3\4" + bytes(64), 4, ["PyTorch", "save_pretrained"]),
    ("old.pt", b"\x80\2" + bytes(64), 4, ["PyTorch", "save_pretrained"]),
    ("pointer.json", LFS, 3, ["Git LFS pointer", "git lfs pull"]),
    ("graph.json", HTML, 3, ["HTML page", "download"]),
]


class ModelPath(ToolTest):
    def write(self, name, contents):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(contents)
        return path

    def check(self, code, path, parts):
        line = self.fail_with(code, "compile", path, "-o", self.path("out.so"), says=os.path.basename(path))
        for part in parts:
            self.assertIn(part, line)

    def test_files_of_other_formats(self):
        for name, contents, code, parts in FILES:
            path = self.write(name, contents)
            self.check(code, path, parts)
            line = self.fail_with(3, "embed", path, "--text", "a", says="expected a compiled model")
            self.assertIn(parts[0], line)

    def test_compiled_model(self):
        self.check(3, self.compiled("bert"), ["compiled model", "config.json"])
        self.fail_with(6, "tokenize", os.path.join(GOLDENS, "bert"), "--text", "a", says="'transom compile' makes one")

    def test_placeholders_in_a_folder(self):
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            for contents, what in ((LFS, "Git LFS pointer"), (HTML, "HTML page")):
                folder = self.path("model")
                shutil.copytree(os.path.join(GOLDENS, "bert"), folder)
                self.write("model/" + name, contents)
                self.fail_with(3, "compile", folder, "-o", self.path("out.so"), says=f"{name}' is a" + ("n " if what[0] == "H" else " ") + what)
                shutil.rmtree(folder)

    def test_folders_of_other_layouts(self):
        self.write("lora/adapter_config.json", b"{}")
        self.write("lora/adapter_model.safetensors", b"")
        self.check(4, self.path("lora"), ["a LoRA adapter, not a model", f"'transom compile MODEL --lora {self.path('lora')}'"])
        self.fail_with(4, "compile", self.path("lora/adapter_model.safetensors"), "-o", self.path("out.so"), says=f"--lora {self.path('lora')}'")
        self.write("lora/adapter_config.json", b'{"base_model_name_or_path": "some/base"}')
        self.check(4, self.path("lora"), ["base model 'some/base' with it", "compile MODEL --lora"])
        self.write("lora/config.json", b"{}")
        self.write("lora/adapter_config.json", json.dumps({"base_model_name_or_path": GOLDENS}).encode())
        self.check(4, self.path("lora"), [f"'transom compile {GOLDENS} --lora {self.path('lora')}'"])
        self.write("pipeline/model_index.json", b"{}")
        self.check(4, self.path("pipeline"), ["diffusers"])
        self.write("pipeline/text_encoder/config.json", b"{}")
        self.check(4, self.path("pipeline"), ["diffusers", "pipeline/text_encoder'"])
        self.write("sentence/modules.json", b"[]")
        self.write("sentence/0_Transformer/config.json", b"{}")
        self.check(4, self.path("sentence"), ["sentence-transformers", "sentence/0_Transformer'"])
        os.mkdir(self.path("empty"))
        self.check(6, self.path("empty"), ["config.json"])

    def test_hub_names(self):
        for command in (["compile", "google/bert_uncased", "-o", self.path("m.so")], ["embed", "google/bert_uncased", "--text", "a"]):
            line = self.fail_with(6, *command, says="'google/bert_uncased'", cwd=self.folder)
            self.assertIn("hf download google/bert_uncased --local-dir bert_uncased", line)
        # A folder that exists makes it a path.
        os.mkdir(self.path("google"))
        self.assertNotIn("hf download", self.fail_with(6, "compile", "google/bert", "-o", "m.so", cwd=self.folder))

    def test_broken_links(self):
        os.symlink("nowhere", self.path("link"))
        for command in (["compile", self.path("link"), "-o", self.path("m.so")], ["embed", self.path("link"), "--text", "a"]):
            self.fail_with(6, *command, says="is a broken link to 'nowhere'")

    def test_gguf_files(self):
        empty = self.write("model.gguf", b"GGUF\3\0\0\0" + bytes(64))
        self.fail_with(3, "compile", empty, "-o", self.path("out.so"), says="missing key 'general.architecture'")
        self.fail_with(3, "embed", empty, "--text", "a", says="is a GGUF file, expected a compiled model; 'transom compile' makes one from it")
        self.fail_with(4, "inspect", self.write("old", b"GGUF" + bytes(64)), says="GGUF version 0; supported: 2, 3")
        self.write("models/b.gguf", b"GGUF")
        self.write("models/a.gguf", b"GGUF")
        self.fail_with(6, "compile", self.path("models"), "-o", self.path("out.so"), says="models' has no config.json; compile its GGUF file '")
        self.fail_with(3, "compile", self.write("pointer.gguf", LFS), "-o", self.path("out.so"), says="Git LFS pointer")


if __name__ == "__main__":
    unittest.main()
