# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""embed --output: line files and array files, and how interrupted ones are continued."""
import ast
import json
import os
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import QUICK, TOOL  # noqa: E402
from texts import TextsTest  # noqa: E402

TEXTS = ["the cat sat on a mat", "", "a big dog", "cat " * 9, "the dogs", "sat, sat."] * 50


def read_npy(path):
    """Returns the type, shape and values in a NumPy file."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    (length,) = struct.unpack_from("<H", data, 8)
    assert (10 + length) % 64 == 0 and data[9 + length : 10 + length] == b"\n"
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert header["fortran_order"] is False
    return header["descr"], header["shape"], data[10 + length :]


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    assert length % 8 == 0
    ((name, tensor),) = json.loads(data[8 : 8 + length]).items()
    begin, end = tensor["data_offsets"]
    assert (name, begin, end) == ("embeddings", 0, len(data) - 8 - length)
    return tensor["dtype"], tuple(tensor["shape"]), data[8 + length :]


class EmbedOutput(TextsTest):
    def setUp(self):
        super().setUp()
        self.model = self.models["bert"]
        self.input = self.path("texts")
        with open(self.input, "w") as file:
            file.write("\n".join(TEXTS) + "\n")

    def embed(self, path, *flags):
        result = self.succeed("embed", self.model, "--file", self.input, "-o", path, *flags)
        self.assertEqual(result.stdout, "")
        with open(path, "rb") as file:
            return file.read()

    def test_arrays_hold_what_lines_say(self):
        lines = self.lines("embed", self.model, "--file", self.input)
        numbers = [number for line in lines for number in line["embedding"]]
        data = struct.pack(f"<{len(numbers)}f", *numbers)
        shape = (len(TEXTS), len(lines[0]["embedding"]))
        self.embed(self.path("a.npy"))
        self.assertEqual(read_npy(self.path("a.npy")), ("<f4", shape, data))
        self.embed(self.path("a.safetensors"))
        self.assertEqual(read_safetensors(self.path("a.safetensors")), ("F32", shape, data))
        self.assertEqual([json.loads(line) for line in self.embed(self.path("a.jsonl")).splitlines()], lines)
        for precision, npy, tensor, code, width in (("int8", "|i1", "I8", "b", shape[1]), ("binary", "|i1", "I8", "b", shape[1] // 8), ("ubinary", "|u1", "U8", "B", shape[1] // 8)):
            lines = self.lines("embed", self.model, "--file", self.input, "--precision", precision)
            numbers = [number for line in lines for number in line["embedding"]]
            data = struct.pack(f"{len(numbers)}{code}", *numbers)
            self.embed(self.path("q.npy"), "--precision", precision)
            self.assertEqual(read_npy(self.path("q.npy")), (npy, (len(TEXTS), width), data))
            self.embed(self.path("q.safetensors"), "--precision", precision)
            self.assertEqual(read_safetensors(self.path("q.safetensors")), (tensor, (len(TEXTS), width), data))

    def test_interrupted_files_end_with_the_same_bytes(self):
        for name in ("a.jsonl", "a.npy", "a.safetensors"):
            path = self.path(name)
            whole = self.embed(path)
            # Truncated in the header, at its end, in a row, between rows, at the end.
            for size in (0, 1, 60, 192, 200, 1000, len(whole) // 2, len(whole) - 1, len(whole)):
                with open(path, "wb") as file:
                    file.write(whole[:size])
                self.assertEqual(self.embed(path, "--resume"), whole, f"{name} {size}")
            os.remove(path)
            self.assertEqual(self.embed(path, "--resume"), whole)
            self.assertEqual(self.embed(path), whole)

    def test_a_killed_run_goes_on(self):
        whole, path = self.embed(self.path("whole.npy")), self.path("a.npy")
        environment = {**{k: v for k, v in os.environ.items() if not k.startswith("TRANSOM_")}, **QUICK}
        process = subprocess.Popen([TOOL, "embed", self.model, "-", "-o", path], stdin=subprocess.PIPE, env=environment)
        process.stdin.write("".join(t + "\n" for t in TEXTS[:100]).encode())
        process.stdin.flush()
        partial = path + ".partial"
        while not os.path.exists(partial) or os.path.getsize(partial) < 1000:
            self.assertIsNone(process.poll())
        process.kill()
        process.communicate()
        self.assertFalse(os.path.exists(path))
        _, (count, _), data = read_npy(partial)
        self.assertGreaterEqual(len(data), count)
        self.assertEqual(self.embed(path, "--resume"), whole)

    def test_files_of_other_runs(self):
        path, array = self.path("a.jsonl"), self.path("a.npy")
        self.embed(path)
        self.embed(array)
        resume = ("embed", self.model, "--resume", "-o")
        self.fail_with(3, *resume, path, "-", input="the dog\n" * 300, says="a.jsonl:300: the text 'sat, sat.' is not that of the input, 'the dog'")
        self.fail_with(3, *resume, path, "-", input="the dog\n", says="there are 300 embeddings, more than texts")
        self.fail_with(3, *resume, array, "-", input="the dog\n", says="there are 300 embeddings, more than texts")
        self.fail_with(3, *resume, path, "--file", self.input, "--dim", "8", says="a.jsonl:300: an embedding of 64 numbers, not of 8")
        self.fail_with(3, *resume, array, "--file", self.input, "--dim", "8", says="a.npy: not an array of rows of 8 F32")
        with open(path, "a") as file:
            file.write("no JSON\n")
        self.fail_with(3, *resume, path, "--file", self.input, says="a.jsonl:301:1:")

    def test_usage(self):
        self.fail_with(2, "embed", self.model, "--file", self.input, "--resume", says="'--resume' needs the '--output'")
        self.fail_with(2, "embed", self.model, "--file", self.input, "--resume", "--precision", "int8", "-o", self.path("a.npy"), says="cannot continue int8")
        self.fail_with(6, "embed", self.model, "--file", self.input, "-o", self.path("none/a.npy"), says="cannot write")
        self.fail_with(6, "embed", self.model, "--file", self.input, "-o", self.folder, says="cannot write")

    def test_memory_does_not_grow_with_the_file(self):
        most = []
        for count in (3000, 30000):
            with open(self.input, "w") as file:
                file.writelines(TEXTS[i % len(TEXTS)] + "\n" for i in range(count))
            process = subprocess.Popen([TOOL, "embed", self.model, "--file", self.input, "-o", self.path("a.npy")])
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            self.assertEqual(status, 0)
            self.assertEqual(read_npy(self.path("a.npy"))[1][0], count)
            most.append(usage.ru_maxrss)
        self.assertLess(most[1], most[0] + 4096)


if __name__ == "__main__":
    unittest.main()
