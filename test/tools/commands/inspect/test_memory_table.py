# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory table in inspect, against a session's mapped memory and against the compile plan."""
import ctypes
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from base import GOLDENS, QUICK, SOURCE, ToolTest

STEP_TOKENS = 1024
PAGE = 4096


def alone(path):
    """Returns a model's config without its weights."""
    with open(path, encoding="utf-8") as file:
        return file.read()


class SessionMemory:
    """transom_model_memory() for an artifact."""

    def __init__(self, path):
        self.library = ctypes.CDLL(os.path.join(os.environ["TRANSOM_BINARY_DIR"], "lib", "libtransom.so"))
        self.model = ctypes.c_void_p()
        status = self.library.transom_model_load(path.encode(), None, ctypes.byref(self.model))
        assert status == 0, status

    def bytes(self, names, **values):
        """With options in the header's struct, whose members are `names`."""
        fields = [(name, getattr(ctypes, kind)) for name, kind in names]
        options = type("Options", (ctypes.Structure,), {"_fields_": fields})()
        self.library.transom_session_options_init(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        for name, value in values.items():
            setattr(options, name, value)
        found = ctypes.c_uint64()
        status = self.library.transom_model_memory(self.model, ctypes.byref(options), ctypes.byref(found))
        assert status == 0, status
        return found.value


def read_options():
    """Reads the members of transom_session_options from its header."""
    with open(os.path.join(SOURCE, "runtime", "include", "transom", "session.h"), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    body = re.search(r"typedef struct transom_session_options \{(.*?)\} transom_session_options;", text, re.S).group(1)
    kinds = {"uint32_t": "c_uint32", "int32_t": "c_int32", "uint64_t": "c_uint64", "size_t": "c_size_t"}
    members = []
    for line in body.split(";"):
        words = line.split()
        if words:
            members.append((words[-1].lstrip("*"), kinds.get(words[0], "c_void_p")))
    return members


class MemoryTable(ToolTest):
    def rows(self, path, *flags):
        found = json.loads(self.succeed("inspect", path, "--json", *flags).stdout)
        for row in found["memory"]["rows"]:
            self.assertEqual(row["all_bytes"], found["memory"]["weights_bytes"] + row["arena_bytes"] + row["cache_bytes"])
        return found["memory"]["rows"]

    def check_session(self, path, row, **options):
        """A session maps the arena and the caches in whole pages, and besides them tables that are small."""
        planned = sum(-(-row[key] // PAGE) * PAGE for key in ("arena_bytes", "cache_bytes"))
        mapped = SessionMemory(path).bytes(read_options(), threads=2, max_batch=row["batch"], hold_results=0, **options)
        self.assertGreaterEqual(mapped, planned)
        tokens = row["batch"] * row["length"]
        self.assertLess(mapped - planned, 16 * PAGE + 1024 * tokens + planned // 10, (row, mapped, planned))

    def test_an_encoder_needs_what_a_session_maps(self):
        path = self.compiled("bert")
        for row in self.rows(path, "-b", "1,4,32", "-s", "16,40"):
            self.assertEqual(row["cache_bytes"], 0)
            self.check_session(path, row, max_tokens=row["batch"] * row["length"])

    def test_a_decoder_needs_what_a_session_maps(self):
        path = self.compiled("llama-gqa")
        rows = self.rows(path, "-b", "1,8,32", "-s", "32,64")
        for row in rows:
            batch, length = row["batch"], row["length"]
            step = batch * min(length, STEP_TOKENS // batch)
            self.check_session(path, row, max_sequences=batch, max_kv_tokens=batch * length, max_tokens=step)
        # A block with 256 positions for each sequence.
        self.assertEqual(rows[2]["cache_bytes"], 8 * rows[0]["cache_bytes"])

    def test_arena_and_operations_are_those_of_the_formulas(self):
        path = self.compiled("bert")
        found = json.loads(self.succeed("inspect", path, "--json").stdout)
        rows = {(row["batch"], row["length"]): row for row in found["memory"]["rows"]}
        (entry,) = found["entries"]
        compared = 0
        for example in entry["examples"]:
            row = rows.get((example["batch"], example["seq"]))
            if row:
                self.assertEqual((row["arena_bytes"], row["flops"]["encode"]), (example["arena_bytes"], example["flops"]))
                compared += 1
        self.assertGreater(compared, 0)

    def test_a_model_has_the_table_of_its_artifact(self):
        int4 = ("--quantize", "int4", "--group-size", "32", "--quantize-head", "int8", "--quantize-embeddings", "none", "--activations", "f32")
        for name, flags in (("bert", ()), ("bert", ("--quantize", "int8")), ("llama-gqa", ("--kv-dtype", "bf16")), ("llama-gqa", int4),
                            ("encoder-decoders/t5", ())):  # fmt: skip
            with self.subTest(name=name, flags=flags):
                sizes = ("-b", "1,3", "-s", "7,40")
                folder = os.path.join(GOLDENS, name)
                self.assertEqual(self.rows(folder, *sizes, *flags), self.rows(self.compiled(name, *flags), *sizes))

    def test_a_config_without_weights(self):
        os.mkdir(self.path("alone"))
        with open(os.path.join(self.path("alone"), "config.json"), "w", encoding="utf-8") as file:
            file.write(alone(os.path.join(GOLDENS, "bert", "config.json")))
        self.assertEqual(self.rows(self.path("alone"), "-b", "2"), self.rows(self.compiled("bert"), "-b", "2"))
        halves = json.loads(self.succeed("inspect", self.path("alone"), "--json", "-b", "2", "--dtype", "bf16").stdout)
        whole = json.loads(self.succeed("inspect", self.path("alone"), "--json", "-b", "2").stdout)
        self.assertLess(halves["memory"]["weights_bytes"], 0.7 * whole["memory"]["weights_bytes"])
        # A type flag requests the table.
        bytes = json.loads(self.succeed("inspect", self.path("alone"), "--json", "--quantize", "int8").stdout)
        self.assertLess(bytes["memory"]["weights_bytes"], halves["memory"]["weights_bytes"])
        self.assertIn("memory", json.loads(self.succeed("inspect", self.path("alone"), "--json", env={"TRANSOM_QUANTIZE": "int8"}).stdout))

    def test_text(self):
        text = self.succeed("inspect", self.compiled("llama-gqa"), "-b", "8", "-s", "64").stdout
        line = next(line for line in text.splitlines() if "next token" in line)
        self.assertEqual(line.split()[:6], ["batch", "length", "weights", "arena", "caches", "all"])

    def test_flags_that_are_refused(self):
        folder, artifact = os.path.join(GOLDENS, "bert"), self.compiled("bert")
        self.fail_with(2, "inspect", artifact, "--quantize", "int8", says="'--quantize': '")
        self.succeed("inspect", artifact, env={"TRANSOM_QUANTIZE": "int8"})
        self.succeed("inspect", folder, "--diff", artifact, "--quantize", "int8")
        self.fail_with(2, "inspect", folder, "--group-size", "32", says="'--group-size' needs '--quantize'")
        self.fail_with(2, "inspect", folder, "--quantize", "int5", says="int5")

    def test_sizes_that_are_refused(self):
        self.fail_with(2, "inspect", self.compiled("bert"), "-s", "4096", says="takes at most")
        self.fail_with(2, "inspect", self.compiled("bert"), "-b", "0", says="--batch")
        self.fail_with(5, "inspect", self.compiled("encoder-decoders/t5"), "-b", "1073741824", "-s", "1073741824", says="overflow")


if __name__ == "__main__":
    unittest.main()
