# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized models: conflicting and valid flags, rounding notes, stages, and invalid files."""
import glob
import json
import os
import shutil
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools", "commands"))

from base import GOLDENS, ToolTest  # noqa: E402

Q8, LEGACY, K_QUANTS = (os.path.join(GOLDENS, "gguf", name, "model.gguf") for name in ("q8-0", "legacy", "k-quants"))
GPTQ = os.path.join(GOLDENS, "packed", "gptq-v1")
MODULE = "model.layers.0.self_attn.q_proj"


class Quantized(ToolTest):
    def notes(self, model, *flags):
        """Returns the rounding notes from `compile`."""
        lines = self.succeed("compile", model, "-O0", "-o", self.path("m.so"), *flags).stderr.splitlines()
        return [line for line in lines if "quantized weights" in line]

    def test_flags(self):
        self.fail_with(4, "compile", Q8, "--backend", "onednn", "-o", self.path("x.so"),
                       says="'--backend onednn' is not supported for a model with quantized weights")
        self.fail_with(2, "compile", Q8, "--quantize", "none", "--group-size", "32", "-o", self.path("x.so"), says="excludes '--quantize none'")
        self.succeed("compile", Q8, "--quantize", "none", "--dtype", "bf16", "-O0", "-o", self.path("m.so"))
        inspected = json.loads(self.succeed("inspect", "--json", self.path("m.so")).stdout)
        self.assertEqual(inspected["options"]["quantize"], "none")

    def test_notes(self):
        self.assertEqual(self.notes(Q8), [])
        self.assertIn("rounded anew: the root mean square error is", self.notes(LEGACY)[0])
        self.assertIn("have scales that are rounded to f16", " ".join(self.notes(K_QUANTS)))
        self.assertEqual(self.notes(K_QUANTS, "--quantize", "none"), [])

    def definition(self, model, tensor, *flags):
        """Returns the type of the weight that is created from a tensor."""
        text = self.succeed("compile", model, "--emit", "kern", *flags).stdout
        at = text.index(f'file("{tensor}"')
        alias = text[text.rindex(" : !", 0, at) + 3 : at].split()[0]
        return next(line for line in text.splitlines() if line.startswith(alias + " = "))

    def test_weights_that_are_not_quantized(self):
        output = "blk.1.attn_output.weight"
        self.assertIn("x f32", self.definition(LEGACY, output))
        self.assertIn("i8, group 64, scales f16", self.definition(LEGACY, output, "--quantize", "int8", "--group-size", "64"))

    def test_bf16_is_for_what_has_no_whole_numbers(self):
        text = self.succeed("compile", Q8, "--emit", "kern", "--dtype", "bf16").stdout
        self.assertIn("kern.quantize", text)
        self.assertIn("!kern.cache<heads 2, key 16, value 16, bf16>", text)
        self.assertRegex(text, r"kern\.rope .*!rows64bf")
        self.assertNotIn("kern.cast", text)

    def test_heads_and_tables(self):
        # Float tensors in the file are quantized; integer tensors are preserved, or converted to floats.
        self.assertIn("x f32", self.definition(GPTQ, "lm_head.weight"))
        self.assertIn("i8, group 128", self.definition(GPTQ, "lm_head.weight", "--quantize-head", "int8"))
        self.assertIn("i4, group 64", self.definition(GPTQ, "model.embed_tokens.weight", "--quantize-embeddings", "int4", "--group-size", "64"))
        self.assertIn("i8, group 32, scales f32", self.definition(Q8, "output.weight", "--quantize-head", "int4"))
        self.assertIn("x f32", self.definition(Q8, "output.weight", "--quantize-head", "none"))
        self.assertIn("i8, group 32, scales f32", self.definition(Q8, "token_embd.weight"))
        self.assertIn("x f32", self.definition(Q8, "token_embd.weight", "--quantize-embeddings", "none"))

    def test_rows_of_f32_multiply_the_numbers_of_the_file(self):
        # If the artifact has exactly the scales in the file, GEMMs equal the float GEMMs with the dequantized values.
        folders = [os.path.join(GOLDENS, "gguf", name) for name in ("q8-0", "q8-0-tied")]
        folders += sorted(glob.glob(os.path.join(GOLDENS, "packed", "*")))
        compared = 0
        for folder in folders:
            with self.subTest(model=os.path.basename(folder)):
                model = os.path.join(folder, "model.gguf")
                model = model if os.path.exists(model) else folder
                if self.notes(model):
                    continue  # some are rounded
                compared += 1
                for name, flags in (("a.so", ("--activations", "f32")), ("b.so", ("--quantize", "none"))):
                    self.succeed("compile", model, "-O0", "-o", self.path(name), *flags)
                self.assertLess(os.path.getsize(self.path("a.so")), os.path.getsize(self.path("b.so")))
                ids = [file for file in sorted(os.listdir(folder)) if file.startswith("logits.") and file.endswith(".in.safetensors")]
                self.assertTrue(ids)
                for file in ids:
                    results = []
                    for name in ("a.so", "b.so"):
                        self.succeed("run", self.path(name), "logits", "--in", os.path.join(folder, file), "--out", self.path("out.safetensors"))
                        with open(self.path("out.safetensors"), "rb") as out:
                            results.append(out.read())
                    self.assertEqual(*results)
        self.assertGreaterEqual(compared, 6)

    def test_flags_of_activations(self):
        self.fail_with(2, "compile", Q8, "--quantize", "none", "--activations", "f32", "-o", self.path("x.so"), says="'--activations' excludes '--quantize none'")
        self.fail_with(2, "compile", os.path.join(GOLDENS, "bert"), "--activations", "f32", "-o", self.path("x.so"),
                       says="'--activations' needs '--quantize', or a model with quantized weights")
        self.fail_with(2, "compile", Q8, "--activations", "bf16", "-o", self.path("x.so"), says="bf16")
        self.succeed("compile", Q8, "-O0", "--activations", "f32", "-o", self.path("m.so"))
        self.assertEqual(json.loads(self.succeed("inspect", "--json", self.path("m.so")).stdout)["options"]["activations"], "f32")

    def test_code_has_the_bits_of_the_whole_numbers(self):
        for model, *flags in ((LEGACY,), (K_QUANTS,), (GPTQ,), (Q8, "--dtype", "bf16")):
            artifact = self.path("bits.so")
            self.succeed("compile", model, "-O0", "-o", artifact, *flags)
            self.succeed("verify", artifact, "--model", model)
        # Without GLUs each weight has its own integers, some with denormal f16 scales.
        self.succeed("compile", K_QUANTS, "-O0", "--disable-pass", "kern-fuse-glu", "-o", artifact)
        self.succeed("verify", artifact, "--model", K_QUANTS)

    def test_stages(self):
        self.succeed("compile", K_QUANTS, "-O0", "--stages", self.path("stages"), "-o", self.path("m.so"))
        self.succeed("compile", K_QUANTS, "-O0", "--resume-from", os.path.join(self.path("stages"), "kern"), "-o", self.path("n.so"))
        hashes = [json.loads(self.succeed("inspect", "--json", self.path(name)).stdout)["weights_sha256"] for name in ("m.so", "n.so")]
        self.assertEqual(*hashes)

    def change_gptq(self, change):
        """Copies a checkpoint with changed tensors {name: (dtype, shape, bytes)} and config."""
        folder = self.path("changed")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(GPTQ, folder)
        path = os.path.join(folder, "model.safetensors")
        with open(path, "rb") as file:
            data = file.read()
        (length,) = struct.unpack_from("<Q", data)
        tensors = {name: (entry["dtype"], entry["shape"], data[8 + length + entry["data_offsets"][0] : 8 + length + entry["data_offsets"][1]])
                   for name, entry in json.loads(data[8 : 8 + length]).items() if name != "__metadata__"}
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        change(tensors, config["quantization_config"])
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        header, out = {}, b""
        for name, (dtype, shape, raw) in tensors.items():
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(out), len(out) + len(raw)]}
            out += raw
        text = json.dumps(header).encode()
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + out)
        return folder

    def refuse(self, code, says, change):
        self.fail_with(code, "compile", self.change_gptq(change), "-o", self.path("x.so"), says=says)
        self.assertFalse(os.path.exists(self.path("x.so")))

    def test_wrong_checkpoints(self):
        def drop(part):
            return lambda tensors, _: tensors.pop(f"{MODULE}.{part}")

        def replace(part, make):
            def change(tensors, _):
                tensors[f"{MODULE}.{part}"] = make(*tensors[f"{MODULE}.{part}"])
            return change
        self.refuse(3, f"tensor '{MODULE}.qweight' has no 'scales' beside it", drop("scales"))
        self.refuse(3, f"tensor '{MODULE}.qweight' has no 'qzeros' beside it", drop("qzeros"))
        self.refuse(3, "for groups of 16 of", lambda _, config: config.update(group_size=16))
        self.refuse(3, "for groups of 48 of", lambda _, config: config.update(group_size=48))
        self.refuse(3, "has shape [2, 64], expected [1, 64] for groups of 32 of 32", replace("qweight", lambda dtype, shape, raw: (dtype, [4, 64], raw[: len(raw) // 2])))
        self.refuse(3, "has dtype F32; expected I32", replace("qweight", lambda dtype, shape, raw: ("F32", shape, raw)))
        self.refuse(3, "has a group whose scale or minimum is not finite", replace("scales", lambda dtype, shape, raw: (dtype, shape, b"\0\x7e" + raw[2:])))
        self.refuse(4, "groups by activation ('desc_act') are not supported",
                    replace("g_idx", lambda dtype, shape, raw: (dtype, shape, raw[4 * 32 :] + raw[: 4 * 32])))
        self.refuse(4, "weights of 3 bits are not supported", lambda _, config: config.update(bits=3))
        self.refuse(4, "quantized by 'bitsandbytes' are not supported", lambda _, config: config.update(quant_method="bitsandbytes"))

    def test_a_scale_that_is_not_finite(self):
        with open(Q8, "rb") as file:
            data = bytearray(file.read())
        # The last tensor has 97 rows with two blocks each, and is padded to 32 bytes.
        struct.pack_into("<H", data, len(data) - 97 * 2 * 34 - 28, 0x7C00)
        with open(self.path("m.gguf"), "wb") as file:
            file.write(data)
        self.fail_with(3, "compile", self.path("m.gguf"), "-O0", "-o", self.path("x.so"), says="has a group whose scale or minimum is not finite")


if __name__ == "__main__":
    unittest.main()
