# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""inspect on a config.json alone: parameters, operations and cache sizes for models with well-known sizes, as in transformers.

make-config-numbers.py made configs.json. Standard library only.
"""
import json
import os
import resource
import subprocess
import tempfile
import time
import unittest

TOOL = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "bin", "transom")
OWN = os.path.dirname(os.path.abspath(__file__))

with open(os.path.join(OWN, "configs.json"), encoding="utf-8") as file:
    _all = json.load(file)
MODELS, ENCODER_DECODERS = _all["models"], _all["encoder_decoders"]
EVERY = {**MODELS, **ENCODER_DECODERS}


def config_folder(config):
    folder = tempfile.TemporaryDirectory()
    with open(os.path.join(folder.name, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    return folder


def inspect(path, *flags):
    done = subprocess.run([TOOL, "inspect", path, *flags], capture_output=True, text=True, timeout=400)
    if done.returncode:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    return done.stdout


class Configs(unittest.TestCase):
    def report(self, name):
        with config_folder(EVERY[name]["config"]) as folder:
            return json.loads(inspect(folder, "--json"))

    def test_parameters(self):
        for name, want in EVERY.items():
            with self.subTest(name):
                self.assertEqual(self.report(name)["parameters"], want["parameters"])

    def test_gpt3(self):
        found = self.report("gpt3-175b")
        self.assertEqual(round(found["parameters"] * 1e-9), 175)
        self.assertEqual(found["context"], 2048)
        self.assertEqual(found["cache_bytes_per_position"]["bf16"], 2 * 2 * 96 * 96 * 128)
        self.assertEqual(found["costs"][-1]["cache_bytes"]["f32"], 4 * 2 * 96 * 12288 * 2048)

    def test_operations(self):
        for name, want in MODELS.items():
            with self.subTest(name):
                found = self.report(name)
                positions = want["positions"]
                if found["context"] and found["context"] < positions:
                    self.assertLess(found["costs"][-1]["positions"], positions)
                    continue
                (cost,) = [cost for cost in found["costs"] if cost["positions"] == positions]
                self.assertEqual(cost["token_flops"], want["token"]["linear"] + want["token"]["attention"])
                if any(cache["window"] for cache in found["caches"]):
                    continue  # there a prompt count includes keys outside the window
                seen = want["prompt"]["attention"] * (positions + 1) // (2 * positions)
                self.assertEqual(cost["prompt_flops"], want["prompt"]["linear"] + seen)

    def test_caches(self):
        for name, want in EVERY.items():
            with self.subTest(name):
                found = self.report(name)
                self.assertEqual(sum(cache["numbers_per_position"] for cache in found["caches"]), want["cache_numbers"])
                self.assertEqual(found["cache_bytes_per_position"], {"f32": 4 * want["cache_numbers"], "bf16": 2 * want["cache_numbers"]})

    def test_windows(self):
        for name, layers in (("mistral-7b", [32]), ("gemma2-9b", [21, 21])):
            caches = self.report(name)["caches"]
            self.assertEqual([cache["layers"] for cache in caches], layers)
            self.assertEqual(caches[0]["window"], 1024)

    def test_text(self):
        with config_folder(MODELS["gpt3-175b"]["config"]) as folder:
            text = inspect(os.path.join(folder, "config.json"))
        self.assertIn("parameters  174604259328", text)
        self.assertIn("entry step", text)
        self.assertIn("9.0 MiB in f32", text)

    def test_quick_and_small(self):
        with config_folder(MODELS["gpt3-175b"]["config"]) as folder:
            times = []
            for _ in range(3):
                start = time.monotonic()
                inspect(folder)
                times.append(time.monotonic() - start)
        if os.environ.get("TRANSOM_TIMED"):  # as test/bench/time-limits does; ctest must pass on a busy machine
            self.assertLess(min(times), 1)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 400 << 10)  # KiB


if __name__ == "__main__":
    unittest.main()
