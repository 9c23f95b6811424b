# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""inspect: artifact contents, without running it; broken artifacts."""
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from base import ALL_TARGETS, GOLDENS, ToolTest, write_tensors


def segments(data):
    """Returns (type, flags, offset, size) for each program header."""
    offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, flags, begin, _, _, length = struct.unpack_from("<IIQQQQ", data, offset + i * size)
        yield kind, flags, begin, length


def lane_digests(data):
    """Returns the digests for a range's eight lanes: equal counts of 64-byte blocks, the last lanes may have fewer."""
    lane = 64 * -(-len(data) // (8 * 64))
    return b"".join(hashlib.sha256(data[i * lane : (i + 1) * lane]).digest() for i in range(8))


def digest_of(data, place):
    """Returns the digest for an artifact whose digest is at an offset: over all loaded segments except the weights, the digest
    itself, and the header's section fields."""
    loaded = bytearray(data)
    loaded[40:48], loaded[60:64] = bytes(8), bytes(4)
    ranges = [(begin, begin + length) for kind, _, begin, length in segments(data) if kind == 1][:-1]
    hash = hashlib.sha256()
    for begin, end in ranges:
        if begin == 0:
            hash.update(loaded[:64])
            begin = 64
        if begin <= place < end:
            hash.update(lane_digests(loaded[begin:place]))
            begin = place + 32
        hash.update(lane_digests(loaded[begin:end]))
    return hash.digest()


def digest_place(data):
    """Where an artifact's digest is: in the note after the manifest's."""
    begin = next(begin for kind, _, begin, _ in segments(data) if kind == 4)
    return begin + 20 + struct.unpack_from("<I", data, begin + 4)[0] + 20


class Inspect(ToolTest):
    def json_of(self, path):
        return json.loads(self.succeed("inspect", path, "--json").stdout)

    def artifact(self, name="m.so"):
        shutil.copy(self.compiled("bert"), self.path(name))
        return self.path(name)

    def read(self, path):
        with open(path, "rb") as file:
            return bytearray(file.read())

    def write(self, data, name="bad.so"):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def test_json_of_an_artifact(self):
        found = self.json_of(self.compiled("bert", *ALL_TARGETS))
        self.assertEqual(found["family"], "bert")
        self.assertEqual(found["isas"], ["avx2", "avx512"])
        self.assertEqual([entry["name"] for entry in found["entries"]], ["encode"])
        entry = found["entries"][0]
        self.assertEqual(entry["inputs"][0], {"name": "input_ids", "dtype": "i64", "shape": ["batch", "seq"], "optional": False})
        self.assertTrue(entry["inputs"][1]["optional"])
        self.assertEqual(entry["outputs"][0]["shape"][:2], ["batch", "seq"])
        self.assertGreater(entry["barriers"], entry["dispatches"])  # layers share their body's dispatches
        self.assertIn(f"{entry['barriers']} barriers a call", self.succeed("inspect", self.compiled("bert")).stdout)
        for example in entry["examples"]:
            self.assertGreater(example["arena_bytes"], 0)
            self.assertGreater(example["flops"], 0)

    def test_attention_schedules(self):
        bert = os.path.join(GOLDENS, "bert")
        results = set()
        for schedule in ("auto", "streaming:5", "two-pass:12", "split-kv"):
            self.succeed("compile", bert, "-q", "-o", self.path("m.so"), "--attention-schedule", schedule)
            found = self.json_of(self.path("m.so"))
            self.assertEqual(set(found["entries"][0]["attention_schedules"].values()), {schedule})
            self.assertEqual(found["options"].get("attention-schedule", "auto"), schedule)
            self.assertIn(f"schedule     {schedule} of encoder.layer.", self.succeed("inspect", self.path("m.so")).stdout)
            self.succeed("run", self.path("m.so"), "encode", "--in", os.path.join(bert, "encode.0.in.safetensors"), "--out", self.path("out"))
            results.add(bytes(self.read(self.path("out"))))
        self.assertEqual(len(results), 1)  # no schedule changes a bit
        self.fail_with(2, "compile", bert, "-o", self.path("m.so"), "--attention-schedule", "two-pass:99", says="two-pass:99")

    def test_sizes_of_any_name(self):
        """graph.json symbols have the names from the file; formulas use no others."""
        for node in ({"op": "attention", "inputs": ["x", "x", "x"], "attrs": {"heads": 2}},
                     {"block": "layer", "repeat": 2, "inputs": ["x"]}):
            with open(self.path("graph.json"), "w", encoding="utf-8") as file:
                json.dump({
                    "transom": 1, "name": "named", "dims": {"n": {}, "length": {"max": 40}},
                    "inputs": [{"name": "x", "dtype": "f32", "shape": ["n", "length", 8]}],
                    "blocks": {"layer": {"inputs": ["y"], "outputs": ["mixed"], "nodes": [
                        {"name": "mixed", "op": "attention", "inputs": ["y", "y", "y"], "attrs": {"heads": 2}}]}},
                    "nodes": [{"name": "out", **node}], "outputs": ["out"]}, file)
            self.succeed("compile", self.path("graph.json"), "-q", "-o", self.path("named.so"))
            entry = self.json_of(self.path("named.so"))["entries"][0]
            self.assertIn("length", entry["flops"])
            self.assertNotIn("seq", entry["flops"])
            write_tensors(self.path("in"), {"x": ("F32", [2, 3, 8], [0.5] * 48)})
            self.succeed("run", self.path("named.so"), "run", "--in", self.path("in"), "--out", self.path("out"))

    def test_hashes(self):
        path = self.compiled("bert")
        found = self.json_of(path)
        with open(os.path.join(GOLDENS, "bert", "model.safetensors"), "rb") as file:
            self.assertEqual(found["inputs_sha256"]["model.safetensors"], hashlib.sha256(file.read()).hexdigest())
        data = self.read(path)
        begin, length = [(b, n) for kind, _, b, n in segments(data) if kind == 1][-1]
        self.assertEqual(length, found["weights_bytes"])
        self.assertEqual(found["weights_sha256"], hashlib.sha256(data[begin : begin + length]).hexdigest())

    def test_verify(self):
        path = self.compiled("bert")
        self.assertNotIn("weights_verified", self.json_of(path))
        self.assertIn(", verified", self.succeed("inspect", "--verify", path).stdout)
        self.assertIs(json.loads(self.succeed("inspect", "--verify", "--json", path).stdout)["weights_verified"], True)
        data = bytearray(self.read(path))
        begin, length = [(b, n) for kind, _, b, n in segments(data) if kind == 1][-1]
        for at in (begin, begin + length // 2, begin + length - 1):
            data[at] ^= 1
            damaged = self.path("damaged.so")
            with open(damaged, "wb") as file:
                file.write(data)
            data[at] ^= 1
            self.succeed("inspect", damaged)
            self.fail_with(3, "inspect", "--verify", damaged, says="sha256")
        self.fail_with(2, "inspect", "--verify", os.path.join(GOLDENS, "bert"))

    def test_text_of_an_artifact(self):
        text = self.succeed("inspect", self.compiled("bert", *ALL_TARGETS)).stdout
        for part in ("entry encode", "input_ids", "avx2 avx512", "arena bytes", "sha256"):
            self.assertIn(part, text)

    def test_figures_of_an_artifact_are_those_of_its_model(self):
        for name in ("bert", "llama-gqa", "encoder-decoders/t5"):
            with self.subTest(name):
                model, artifact = self.json_of(os.path.join(GOLDENS, name)), self.json_of(self.compiled(name))
                for key in ("parameter_report", "formulas"):
                    self.assertEqual(artifact[key], model[key])
                self.assertEqual(sum(artifact["parameter_report"]["components"].values()), artifact["parameters"])
        text = self.succeed("inspect", self.compiled("bert")).stdout
        self.assertIn("parameters by component", text)
        self.assertIn("formulas for 2 layers of width 64", text)

    def test_model_folder(self):
        folder = os.path.join(GOLDENS, "bert-mlm")
        self.assertIn("entry encode", self.succeed("inspect", folder).stdout)
        found = self.json_of(folder)
        self.assertEqual(found["family"], "bert")
        self.assertIn("model.safetensors", found["files"])

    def test_nothing_is_executed(self):
        data = self.read(self.artifact())
        for kind, flags, begin, length in segments(data):
            if kind == 1 and flags & 1:
                data[begin : begin + length] = b"\xcc" * length
        place = digest_place(data)
        data[place : place + 32] = digest_of(data, place)
        self.json_of(self.write(data))

    def test_truncated(self):
        data = self.read(self.artifact())
        loaded = max(begin + length for kind, _, begin, length in segments(data) if kind == 1)
        self.json_of(self.write(data[:loaded]))
        for size in (0, 3, 63, 64, 500, 5000, loaded // 2, loaded - 1):
            for command in (["inspect"], ["bench"]):
                self.fail_with(3, command[0], self.write(data[:size]), says="bad.so")

    def test_manifest_that_was_changed(self):
        data = self.read(self.artifact())
        place = data.index(b'"family":"bert"')
        data[place + 10 : place + 14] = b"BERT"
        self.fail_with(3, "inspect", self.write(data), says="digest")

    def test_damage_is_found_before_the_file_is_loaded(self):
        data = self.read(self.artifact())
        loaded = [(begin, length) for kind, _, begin, length in segments(data) if kind == 1][:-1]
        for begin, length in loaded:
            for step in range(8):
                place = begin + 64 + (length - 65) * step // 7
                broken = bytearray(data)
                broken[place] ^= 0x10
                for command in (["inspect"], ["tokenize", "--text", "a"]):
                    self.fail_with(3, command[0], self.write(broken), *command[1:], says="bad.so")

    def test_another_abi(self):
        data = self.read(self.artifact())
        for kind, _, begin, length in segments(data):
            if kind == 4:
                note = bytes(data[begin : begin + length])
                size = struct.unpack_from("<I", note, 4)[0]
                text = re.sub(rb'"abi":\d,', b'"abi":9,', note[20 : 20 + size])
                self.assertIn(b'"abi":9,', text)
                data[begin + 20 : begin + 20 + size] = text
        digest = digest_place(data)
        data[digest : digest + 32] = digest_of(data, digest)
        for command in ("inspect", "bench"):
            self.fail_with(3, command, self.write(data), says="9")

    def test_what_is_no_artifact(self):
        self.fail_with(3, "inspect", self.write(b"hello"), says="bad.so")
        self.fail_with(3, "inspect", shutil.which("true"), says="true")
        self.fail_with(6, "bench", self.folder, says="m")

    def test_stripped_artifacts_work(self):
        inputs = os.path.join(GOLDENS, "bert", "encode.0.in.safetensors")
        for tool in ("strip", "llvm-strip-19"):
            if not shutil.which(tool):
                continue
            path = self.artifact()
            subprocess.run([tool, path], check=True)
            self.json_of(path)
            self.succeed("run", path, "encode", "--in", inputs, "--out", self.path("out"))


if __name__ == "__main__":
    unittest.main()
