# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of the command line tests: the tool, compiled goldens, tensors in files. Standard library only."""
import importlib.util
import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest

SOURCE = os.environ["TRANSOM_SOURCE_DIR"]
TOOL = os.path.join(os.environ["TRANSOM_BINARY_DIR"], "bin", "transom")
GOLDENS = os.path.join(SOURCE, "test", "goldens")

# Most tests are not about the code: it is made quickly, for one instruction set.
QUICK = {"TRANSOM_OPT_LEVEL": "0", "TRANSOM_TARGET": "x86-64-v3"}
# Flags for code for all instruction sets, as created without QUICK.
ALL_TARGETS = ("--target", "x86-64-v3", "--target", "x86-64-v4")

_spec = importlib.util.spec_from_file_location("goldens", os.path.join(SOURCE, "test", "e2e", "check-goldens.py"))
goldens = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(goldens)


def write_tensors(path, tensors):
    """Writes {name: (dtype, shape, values)} as safetensors."""
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        piece = struct.pack(f"<{len(values)}{goldens.CODES[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def set_weight(folder, tensor, index, value):
    """Sets an element in an f32 tensor in a model folder."""
    path = os.path.join(folder, "model.safetensors")
    with open(path, "rb") as file:
        data = bytearray(file.read())
    (length,) = struct.unpack_from("<Q", data)
    begin = json.loads(data[8 : 8 + length])[tensor]["data_offsets"][0]
    struct.pack_into("<f", data, 8 + length + begin + 4 * index, value)
    with open(path, "wb") as file:
        file.write(data)


class ToolTest(unittest.TestCase):
    """A test with a separate folder; artifacts are compiled once per class."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.shared)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def tool(self, *arguments, env=None, input=None, **options):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TRANSOM_")}
        environment.update({**QUICK, **(env or {})})
        return subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=400, env=environment, input=input, **options)

    def succeed(self, *arguments, **options):
        result = self.tool(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def fail_with(self, code, *arguments, says="", **options):
        """Checks that the tool exits with `code` and one line on stderr that contains `says`."""
        result = self.tool(*arguments, **options)
        self.assertEqual(result.returncode, code, f"{arguments}: {result.stderr}")
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("transom: error: "), lines[0])
        self.assertFalse(lines[0].endswith("."), lines[0])
        self.assertIn(says, lines[0])
        return lines[0]

    @classmethod
    def compiled(cls, folder, *flags):
        """Returns the artifact path for a golden model (or any folder), compiled once."""
        if not os.path.isabs(folder):
            folder = os.path.join(GOLDENS, folder)
        name = "-".join([os.path.basename(folder), *flags]).replace("/", "_")
        path = os.path.join(cls.shared, name + ".so")
        if not os.path.exists(path):
            subprocess.run([TOOL, "compile", folder, "-o", path, "-q", *flags], check=True, timeout=400, env={**os.environ, **QUICK})
        return path
