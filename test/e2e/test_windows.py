# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attention window in each family: in a one-layer model a token changes exactly the results for the tokens that see it."""
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools", "commands"))

from base import GOLDENS, ToolTest, goldens, write_tensors  # noqa: E402

LENGTH, CHANGED = 21, 10


class Windows(ToolTest):
    def one_layer(self, golden, **keys):
        """Reduces a golden model to its first layer, with other config keys; None removes one."""
        folder = self.path(golden)
        shutil.copytree(os.path.join(GOLDENS, golden), folder)
        path = os.path.join(folder, "config.json")
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        config.update({key: 1 for key in config if key in ("num_hidden_layers", "n_layer")})
        config.update(keys)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({key: value for key, value in config.items() if value is not None}, file)
        artifact = self.path(golden + ".so")
        self.succeed("compile", folder, "-o", artifact)
        return artifact

    def results(self, artifact, entry, ids, mask):
        given, taken = self.path("in.safetensors"), self.path("out.safetensors")
        tensors = {"input_ids": ("I64", [1, len(ids)], ids)}
        if entry == "encode":
            tensors["attention_mask"] = ("I64", [1, len(ids)], mask)
        write_tensors(given, tensors)
        self.succeed("run", artifact, entry, "--in", given, "--out", taken)
        (shape, values), = (tensor for name, tensor in goldens.read_tensors(taken).items() if name in ("logits", "last_hidden_state"))
        width = shape[-1]
        return [values[i * width:(i + 1) * width] for i in range(len(ids))]

    def distances(self, artifact, entry, mask=None):
        """Returns the distances from the changed token to the later tokens whose results change."""
        mask = mask or [1] * LENGTH
        ids = [5 + i for i in range(LENGTH)]
        other = list(ids)
        other[CHANGED] = 50
        one, two = (self.results(artifact, entry, given, mask) for given in (ids, other))
        return [i - CHANGED for i in range(LENGTH) if one[i] != two[i]]

    def check_causal(self, golden, window, **keys):
        artifact = self.one_layer(golden, **keys)
        # The token is visible at distance window - 1, and hidden at distance window.
        self.assertEqual(self.distances(artifact, "logits"), list(range(window)))

    def test_mistral(self):
        self.check_causal("mistral-window", 4, sliding_window=4, layer_types=None)

    def test_qwen2(self):
        self.check_causal("qwen2", 5, sliding_window=5, use_sliding_window=True, max_window_layers=0, layer_types=None)

    def test_qwen3(self):
        self.check_causal("qwen3", 4, sliding_window=4, use_sliding_window=True, max_window_layers=0, layer_types=None)

    def test_gemma2(self):
        self.check_causal("gemma2", 3, sliding_window=3, layer_types=None)

    def test_phi3(self):
        self.check_causal("phi3", 6, sliding_window=6)

    def test_gemma3(self):
        self.check_causal("gemma3", 4, sliding_window=4)

    def test_smollm3(self):
        self.check_causal("smollm3", 5, sliding_window=5, no_rope_layer_interval=1)

    def test_starcoder2(self):
        self.check_causal("starcoder2", 3, sliding_window=3)

    def test_gemma_encoder(self):
        """An encoder window w reaches w / 2 to both sides."""
        artifact = self.one_layer("gemma-encoder", sliding_window=7, layer_types=["sliding_attention"])
        self.assertEqual(self.distances(artifact, "encode"), list(range(-3, 4)))

    def check_modernbert(self, window, reach, mask=None):
        artifact = self.one_layer("modernbert", local_attention=window, layer_types=["sliding_attention"],
                                  architectures=["ModernBertModel"])
        seen = [d for d in range(-reach, reach + 1) if not mask or mask[CHANGED + d]]
        self.assertEqual(self.distances(artifact, "encode", mask), seen)

    def test_modernbert(self):
        self.check_modernbert(8, 4)

    def test_modernbert_of_odd_size(self):
        self.check_modernbert(7, 3)

    def test_modernbert_with_holes(self):
        mask = [1] * LENGTH
        for hole in (0, 1, CHANGED - 3, CHANGED + 2, CHANGED + 3):
            mask[hole] = 0
        self.check_modernbert(8, 4, mask)


if __name__ == "__main__":
    unittest.main()
