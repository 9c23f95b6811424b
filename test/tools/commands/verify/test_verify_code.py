# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""verify MODEL.so: machine code has the same bits as its phases, and planted faults are found. With --goldens: all golden
models."""
import json
import os
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from base import ALL_TARGETS, GOLDENS, SOURCE, TOOL, ToolTest, goldens

EXAMPLES = os.path.join(SOURCE, "examples")
BERT, LLAMA, NLLB = (os.path.join(EXAMPLES, name) for name in ("tiny-bert", "tiny-llama", "tiny-nllb"))
SHORT = ("-s", "1,33")
CHECK = os.path.join(os.path.dirname(TOOL), "transom-check")


# Golden model folders, and flags for their features.
FOLDERS = {"": (), "encoder-decoders": (), "gliner": (), "heads": (), "hidden-states": ("--layers", "0,1,-1"), "pipelines": (), "tasks": ()}


def find_goldens():
    """The golden models below test/goldens, with their flags."""
    for folder, flags in FOLDERS.items():
        for name in sorted(os.listdir(os.path.join(GOLDENS, folder))):
            path = os.path.join(GOLDENS, folder, name)
            if any(os.path.exists(os.path.join(path, file)) for file in ("model.safetensors", "modules.json", "graph.json")):
                yield path, flags


def read_floats(folder, tensor):
    """Returns the values in an f32 tensor."""
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    begin, end = json.loads(data[8 : 8 + length])[tensor]["data_offsets"]
    return struct.unpack(f"<{(end - begin) // 4}f", data[8 + length + begin : 8 + length + end])


class CodeTest(ToolTest):
    def verify(self, artifact, model, *flags, code=0, **options):
        """Returns the report; phases have small errors where bits are equal."""
        result = self.tool("verify", artifact, "--model", model, "--json", *flags, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["equal"], code == 0)
        self.assertEqual(bool(report["differences"]), code != 0)
        for entry in report["entries"]:
            self.assertGreater(entry["numbers"], 0)
        return report

    def check_model(self, model, *flags, lengths=SHORT):
        return self.verify(self.compiled(model, *flags), model, *lengths)


class Models(CodeTest):
    def test_encoder(self):
        report = self.check_model(BERT, lengths=())
        self.assertEqual([(entry["entry"], entry["isa"]) for entry in report["entries"]], [("encode", "avx2")])
        self.assertEqual(report["lengths"], [*range(1, 15), 31, 32, 33, 255, 256, 257])
        # The model takes 64 tokens: lengths are truncated. Then there are two batches with 3 sequences and batches with 2 to
        # 14.
        self.assertEqual(report["entries"][0]["calls"], 18 + 2 + 13)
        phases = {phase["phase"]: phase for phase in report["phases"]}
        self.assertEqual(phases["layer.3.gemm"]["module_path"], "encoder.layer.{0-1}.intermediate.{dense,intermediate_act_fn}")
        for phase in phases.values():
            self.assertLess(phase["relative"], 1e-5, phase)
        self.assertGreater(phases["layer.1.attention"]["absolute"], 0)

    def test_decoder(self):
        report = self.check_model(LLAMA)
        self.assertEqual([entry["entry"] for entry in report["entries"]], ["step"])
        self.assertIn("layer.1.rope", {phase["phase"] for phase in report["phases"]})

    def test_encoder_decoder(self):
        report = self.check_model(NLLB)
        self.assertEqual([entry["entry"] for entry in report["entries"]], ["encode", "source", "step"])

    def test_goldens(self):
        # A window, soft caps, graphs without a tokenizer, slopes, heads.
        for name in ("mistral-window", "gemma2", "alibi-encoder", "bloom-alibi", "bert-classify", "encoder-decoders/t5"):
            with self.subTest(model=name):
                self.check_model(os.path.join(GOLDENS, name), lengths=("-s", "1,257"))

    def test_pipelines(self):
        # Several kinds of pooling, late interaction tokens, logits for masked tokens, and texts without their prompts.
        for name, entry in (("side-by-side", "embed"), ("late", "token_embeddings"), ("splade", "sparse"), ("prompts-not-pooled", "embed")):
            with self.subTest(model=name):
                report = self.check_model(os.path.join(GOLDENS, "pipelines", name), lengths=("-s", "1,31"))
                self.assertIn(entry, {each["entry"] for each in report["entries"]})

    def test_entries_of_hidden_states_and_entities(self):
        for name, flags, entry in (("hidden-states/qwen3", ("--layers", "0,1,-1"), "hidden_states"), ("gliner/bert-span", (), "score_entities")):
            for dtype in ("f32", "bf16"):
                with self.subTest(model=name, dtype=dtype):
                    model = os.path.join(GOLDENS, name)
                    report = self.check_model(model, "--dtype", dtype, *flags, lengths=("-s", "1,31"))
                    self.assertIn(entry, {each["entry"] for each in report["entries"]})

    def test_instruction_sets(self):
        # In bf16 bits differ between some instruction sets.
        report = self.check_model(BERT, "--dtype", "bf16", *ALL_TARGETS)
        self.assertEqual({each["isa"] for each in report["entries"]}, set(goldens.runnable_isas()) - {"avxvnni", "avx512vnni"})
        for kind in ("int8", "int4"):
            report = self.check_model(BERT, "--quantize", kind, *ALL_TARGETS)
            self.assertEqual({each["isa"] for each in report["entries"]},
                             set(goldens.runnable_isas()) & {"avx2", "avxvnni", "avx512", "avx512vnni", "amx"})

    def test_types(self):
        for model in (BERT, LLAMA, NLLB):
            with self.subTest(model=model):
                self.assertEqual(self.check_model(model, "--dtype", "bf16")["dtype"], "bf16")
        for kind in ("bf16", "int8"):
            with self.subTest(cache=kind):
                self.check_model(LLAMA, "--kv-dtype", kind)
        for kind, group in (("int8", "32"), ("int8", "128"), ("int4", "32"), ("int4", "64")):
            with self.subTest(kind=kind, group=group):
                self.check_model(LLAMA, "--quantize", kind, "--group-size", group)
        for flags in (("--quantize", "int4", "--quantize-head", "none", "--quantize-embeddings", "int4"), ("--quantize", "int8", "--quantize-head", "int4"),
                      ("--quantize", "int8", "--activations", "f32"), ("--quantize", "int4", "--quantize-head", "int8", "--activations", "f32")):
            with self.subTest(flags=flags):
                self.check_model(LLAMA, *flags)

    def test_split_kv(self):
        for schedule in ("split-kv", "two-pass", "streaming:12"):
            with self.subTest(schedule=schedule):
                artifact = self.compiled(LLAMA, "--attention-schedule", schedule)
                self.verify(artifact, LLAMA, "-s", "1,257", "-t", "3")

    def test_onednn(self):
        for model in (BERT, LLAMA):
            with self.subTest(model=model):
                report = self.check_model(model, "--backend", "onednn")
                self.assertIn("no defined order of sums", report["why_not_bits"])
                self.assertTrue(any("onednn_matmul" in phase["phase"] for phase in report["phases"]))

    def test_text(self):
        text = self.succeed("verify", self.compiled(BERT), "--model", BERT, *SHORT).stdout
        self.assertRegex(text, r"(?m)^entry 'encode' on avx2: 17 calls, \d+ dispatches, \d+ numbers: equal bits$")
        self.assertRegex(text, r"(?m)^errors of phases against float64 .* the largest 9 of 9")
        self.assertRegex(text, r"(?m)^  \d\.\d\de-\d\d  absolute \d\.\d\de-\d\d  'encode' on avx2, phase 'layer.1.attention', layer \d, buffer 16")

    def test_artifact_that_lacks_an_instruction_set(self):
        self.fail_with(4, "verify", self.compiled(BERT), "--model", BERT, env={"TRANSOM_FORCE_ISA": "avx512"}, says="avx512")


class Faults(CodeTest):
    def edit(self, old, new, count=1, flags=()):
        """An artifact from the kern stage for tiny-bert with one string replaced."""
        stages = os.path.join(self.shared, "-".join(["stages", *flags]))
        if not os.path.exists(stages):
            self.succeed("compile", BERT, "-q", "-o", os.path.join(self.shared, "whole.so"), "--stages", stages, *flags)
        with open(os.path.join(stages, "3-kern.mlir")) as file:
            text = file.read()
        self.assertIn(old, text)
        place = self.path("edited.mlir")
        with open(place, "w") as file:
            file.write(text.replace(old, new, count))
        self.succeed("compile", BERT, "-q", "-o", self.path("edited.so"), "--resume-from", place, *flags)
        return self.path("edited.so")

    def find(self, artifact, phase, operation="kern.gemm"):
        """Returns the first difference, which must be in a phase."""
        report = self.verify(artifact, BERT, *SHORT, code=1)
        difference = report["differences"][0]
        self.assertEqual((difference["phase"], difference["operation"]), (phase, operation), difference)
        return difference

    def test_other_epilogue(self):
        found = self.find(self.edit("epilogue <gelu>", "epilogue <relu>"), "layer.3.gemm")
        self.assertEqual((found["layer"], found["entry"], found["isa"]), (0, "encode", "avx2"))
        self.assertIn("intermediate", found["module_path"])
        self.assertRegex(found["expected"], r"^0x[0-9a-f]{8} \(")
        self.assertRegex(found["index"], r"^\[\d+, \d+\]$")
        self.assertGreater(found["count"], 10)

    def test_other_operand(self):
        self.find(self.edit("bias %arg11 residual %8", "bias %arg11 residual %7"), "layer.4.gemm")

    def test_other_epsilon_in_the_last_bits(self):
        self.find(self.edit("epilogue <layer_norm 1.0e-12>", "epilogue <layer_norm 1.0e-7>"), "layer.2.gemm")

    def test_other_scale(self):
        found = self.find(self.edit("heads 2 kv_heads 2 scale 2.500000e-01", "heads 2 kv_heads 2 scale 2.500001e-01"), "layer.1.attention",
                          "kern.attention")  # fmt: skip
        self.assertGreater(found["count"], 1)

    def test_weight_of_another_tensor(self):
        found = self.find(self.edit('#weight.expr<file("encoder.layer.1.output.dense.bias")>', '#weight.expr<file("encoder.layer.0.output.dense.bias")>'),
                          "layer.4.gemm")  # fmt: skip
        self.assertEqual(found["layer"], 1)

    def test_edited_artifact_is_named(self):
        artifact = self.edit("epilogue <gelu>", "epilogue <relu>")
        result = self.tool("verify", artifact, "--model", BERT, *SHORT)
        self.assertEqual(result.returncode, 1)
        self.assertIn("note: the artifact was compiled from an edited stage, kern sha256:", result.stdout)
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertRegex(result.stderr, r"dispatches leave other bits than their phases; first: entry 'encode' on avx2, 1 sequence of 1 token: "
                                        r"phase 'layer.3.gemm', layer 0: 'kern.gemm' of .* in place of .* differ\)$")  # fmt: skip

    def test_buffer_at_another_place(self):
        # In a gap that its alignment leaves.
        artifact = self.edit('offset = "128*batch+128*keys+34560*parts+896*rows"', 'offset = "128*batch+128*keys+34560*parts+904*rows"')
        self.fail_with(3, "verify", artifact, "--model", BERT, *SHORT, says="entry 'encode' has buffer 0 at '128*batch+128*keys+34560*parts+904*rows', "
                                                                            "not '128*batch+128*keys+34560*parts+896*rows'")  # fmt: skip

    def damaged(self, tensor):
        """A copy of the artifact with one changed bit in a packed weight."""
        path = self.path("damaged.so")
        with open(self.compiled(BERT), "rb") as file:
            data = bytearray(file.read())
        numbers = read_floats(BERT, tensor)
        # In a panel the first elements of 32 rows are adjacent; in a row its elements are consecutive.
        panel = struct.pack("<32f", *(numbers[::32][:32] if len(numbers) > 64 else numbers[:32]))
        at = bytes(data).find(panel)
        self.assertGreaterEqual(at, 0)
        data[at + 4 * 5] ^= 1
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_other_epilogue_of_onednn(self):
        found = self.find(self.edit("<gelu>", "<relu>", flags=("--backend", "onednn")), "layer.7.onednn_matmul", "kern.onednn")
        self.assertEqual(found["index"], "the largest error")

    def test_one_bit_of_a_packed_weight(self):
        found = self.find(self.damaged("encoder.layer.1.attention.output.dense.weight"), "layer.2.gemm")
        self.assertEqual(found["layer"], 1)
        self.assertRegex(found["index"], r", 5\]$")

    def test_one_bit_of_a_norm(self):
        self.find(self.damaged("encoder.layer.0.output.LayerNorm.weight"), "layer.4.gemm")


class Flags(CodeTest):
    def test_model_is_needed(self):
        self.fail_with(2, "verify", self.compiled(BERT), says="'--model'")

    def test_another_model(self):
        self.fail_with(2, "verify", self.compiled(BERT), "--model", LLAMA, *SHORT, says="is not the model")
        changed = shutil.copytree(BERT, self.path("bert"))
        with open(os.path.join(changed, "config.json"), "a") as file:
            file.write("\n")
        self.fail_with(2, "verify", self.compiled(BERT), "--model", changed, *SHORT, says="'config.json' has another sha256")
        self.fail_with(6, "verify", self.compiled(BERT), "--model", self.path("none"), says="none")

    def test_options_of_the_compile_are_repeated(self):
        artifact = self.compiled(BERT, "--disable-pass", "kern-fuse-norm", "--attention")
        report = self.verify(artifact, BERT, *SHORT)
        self.assertEqual({entry["entry"] for entry in report["entries"]}, {"encode", "attention"})

    def test_seed_chooses_inputs(self):
        first, second, other = (self.verify(self.compiled(BERT), BERT, *SHORT, "--seed", seed)["phases"] for seed in ("1", "1", "2"))
        self.assertEqual(first, second)
        self.assertNotEqual(first, other)


class Goldens(CodeTest):
    """All golden models, with all types and instruction sets, and all cache types: with --goldens."""

    def has_cache(self, model, *flags):
        """Returns whether a model has a cache, whose type may be selected."""
        return "decoder" in json.loads(self.tool("inspect", self.compiled(model, *flags), "--json").stdout)

    def test_passes(self):
        for path, own in find_goldens():
            with self.subTest(model=path):
                stages = self.path("stages")
                shutil.rmtree(stages, ignore_errors=True)
                certificate = json.loads(self.succeed("verify", path, "--stages", stages, "--json", *own).stdout)
                self.assertEqual(certificate["verdict"], "equal")
                subprocess.run([CHECK, stages], check=True, stdout=subprocess.DEVNULL)

    def test_all(self):
        for path, own in find_goldens():
            flags = [ALL_TARGETS, ("--dtype", "bf16", *ALL_TARGETS), ("--quantize", "int8", *ALL_TARGETS), ("--quantize", "int4", *ALL_TARGETS)]
            if self.has_cache(path, *own, *ALL_TARGETS):
                flags += [("--kv-dtype", "bf16"), ("--kv-dtype", "int8"), ("--dtype", "bf16", "--kv-dtype", "int8")]
            for chosen in flags:
                with self.subTest(model=os.path.relpath(path, GOLDENS), flags=chosen):
                    self.check_model(path, *own, *chosen, lengths=("-s", "1,33,257"))


if __name__ == "__main__":
    if "--goldens" in sys.argv:
        sys.argv.remove("--goldens")
        unittest.main(defaultTest="Goldens")
    unittest.main(defaultTest=["Models", "Faults", "Flags"])
