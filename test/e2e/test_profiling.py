# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The view of an artifact in profilers and debuggers: symbols, unwind tables, line tables. Needs nm and addr2line."""
import bisect
import importlib
import os
import re
import shutil
import struct
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
SOURCE, BINARY = os.environ["TRANSOM_SOURCE_DIR"], os.environ["TRANSOM_BINARY_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "test", "tools", "commands"))
ToolTest = importlib.import_module("base").ToolTest

BERT = os.path.join(SOURCE, "examples", "tiny-bert")
PHASE = "transom.p."
TOOL = os.path.join(BINARY, "bin", "transom")
# Code as it is shipped.
TARGET = {"TRANSOM_OPT_LEVEL": "2", "TRANSOM_TARGET": "x86-64-v3"}


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def read_section(path, name):
    """Returns the bytes in an artifact section, or None if it is missing."""
    data = read_bytes(path)
    (offset,), (size, count, names) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    for section in sections:
        at = sections[names][4] + section[0]
        if data[at : data.index(b"\0", at)].decode() == name:
            return data[section[4] : section[4] + section[5]]
    return None


def read_functions(path):
    """Returns the functions in an artifact: [(first address, size, name)], ascending."""
    output = subprocess.run(["nm", "-nS", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=3) for line in output.splitlines()]
    return [(int(row[0], 16), int(row[1], 16), row[3]) for row in rows if len(row) == 4 and row[2] == "t"]


def find_name(functions, address):
    """Returns the function at an address; a caller has its return address."""
    at = bisect.bisect_right([begin for begin, _, _ in functions], address) - 1
    begin, size, name = functions[at]
    return name if address <= begin + size else "?"


class Profiling(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = os.path.join(cls.shared, "tiny.so")
        subprocess.run([TOOL, "compile", BERT, "-q", "-o", cls.model], check=True, env={**os.environ, **TARGET})
        cls.functions = read_functions(cls.model)

    def test_phases_are_named_after_their_places_in_the_model(self):
        names = [name for _, _, name in self.functions]
        self.assertEqual(len(names), len(set(names)))
        phases = [name for name in names if name.startswith(PHASE)]
        # Layers share a body: the symbol has their range.
        self.assertTrue([name for name in phases if re.search(r"\.gemm\.encoder\.layer\.\{0-\d\}\.", name)], phases)
        self.assertTrue([name for name in phases if name.startswith("transom.p.avx2.encode.0.") and "embeddings" in name], phases)
        self.assertTrue([name for name in names if name.startswith("transom.k.avx2.f32.6x16.")])

    def test_stacks_lead_from_kernels_to_phases_and_the_runtime(self):
        program = os.path.join(BINARY, "test", "bin", "sample-stacks")
        output = subprocess.run([program, self.model, "400"], capture_output=True, text=True, check=True, timeout=300).stdout
        depths = {}
        for line in output.splitlines():
            frames = line.split()
            inner = [find_name(self.functions, int(address, 16)) for address in frames[: frames.index("-") if "-" in frames else None]]
            # Micro-kernels are called by one phase, and that by the runtime.
            self.assertRegex(" ".join(inner), r"^(transom\.k\.\S+ )?transom\.p\.\S+$", line)
            self.assertGreaterEqual(frames.count("-"), 3, line)
            depths[len(inner)] = depths.get(len(inner), 0) + 1
        self.assertEqual(sum(depths.values()), 400)
        self.assertGreater(depths.get(2, 0), 0, "no sample in a micro-kernel")


    def test_explanations_and_profiles_leave_the_artifact_as_it_is(self):
        before = read_bytes(self.model)
        self.succeed("explain", BERT, env=TARGET)
        self.succeed("bench", self.model, "-b", "1", "-s", "8", "-r", "1", "--profile", "--trace", self.path("trace.json"))
        again = self.path("again.so")
        self.succeed("compile", BERT, "-q", "-o", again, env=TARGET)
        self.assertEqual(read_bytes(again), before)
        self.assertEqual(read_bytes(self.model), before)


class DebugInfo(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = os.path.join(cls.shared, "tiny.so")
        subprocess.run([TOOL, "compile", BERT, "-q", "-o", cls.model, "--debug-info"], check=True, env={**os.environ, **TARGET})
        with open(cls.model + ".kern.mlir", encoding="utf-8") as file:
            cls.listing = file.read().splitlines()

    def test_the_code_is_the_same(self):
        plain = self.path("plain.so")
        self.succeed("compile", BERT, "-q", "-o", plain, env=TARGET)
        code = read_section(plain, ".text")
        self.assertGreater(len(code), 10000)
        self.assertEqual(read_section(self.model, ".text"), code)
        self.assertIsNone(read_section(plain, ".debug_line"))
        self.assertIsNotNone(read_section(self.model, ".debug_line"))

    def test_the_artifact_does_not_depend_on_its_folder(self):
        os.mkdir(self.path("folder"))
        again = self.path("folder/tiny.so")
        self.succeed("compile", BERT, "-q", "-o", again, "--debug-info", env=TARGET)
        self.assertEqual(read_bytes(again), read_bytes(self.model))
        self.assertEqual(read_bytes(again + ".kern.mlir"), read_bytes(self.model + ".kern.mlir"))

    def test_the_listing_reads_back(self):
        output = subprocess.run([os.path.join(BINARY, "bin", "transom-opt"), self.model + ".kern.mlir"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(output.count("kern.phase"), sum("kern.phase" in line for line in self.listing))

    def test_an_artifact_that_is_not_written_leaves_no_listing(self):
        os.mkdir(self.path("taken.so"))
        self.fail_with(6, "compile", BERT, "-q", "-o", self.path("taken.so"), "--debug-info", says="taken.so")
        self.assertEqual(os.listdir(self.folder), ["taken.so"])
        self.fail_with(2, "compile", BERT, "-q", "--emit", "asm", "--debug-info", says="'--emit so'")

    def test_lines_are_those_of_the_operations(self):
        names = set()
        for begin, size, name in read_functions(self.model):
            addresses = [hex(begin + at) for at in range(0, size, 8)]
            output = subprocess.run(["addr2line", "-e", self.model, *addresses], capture_output=True, text=True, check=True).stdout
            found = {line.split(" ")[0] for line in output.splitlines()}
            if not name.startswith(PHASE):
                self.assertFalse([line for line in found if "kern.mlir" in line], name)
                continue
            names |= found
            # The lines in a phase are its own and its operations' lines.
            self.assertTrue(all(line.startswith("tiny.so.kern.mlir:") for line in found), found)
            lines = sorted(int(line.rsplit(":", 1)[1]) for line in found if not line.endswith("?"))
            text = self.listing[lines[0] - 1]
            phase = re.search(r'kern\.phase "([^"]*)"', text)
            self.assertTrue(phase, text)
            self.assertTrue(name.startswith(f"{PHASE}avx2.{phase[1]}."), (name, text))
            self.assertGreater(len(lines), 1, name)
            for line in lines[1:]:
                self.assertRegex(self.listing[line - 1], r"^ +kern\.")
        attention = [line for line in self.listing if "kern.attention" in line]
        self.assertEqual(len(attention), 1)
        self.assertIn("  // encoder.layer.{0-1}.attention.self (config.json: /", attention[0])
        self.assertIn(f"tiny.so.kern.mlir:{self.listing.index(attention[0]) + 1}", names)

    def test_gdb_shows_where_a_thread_is(self):
        if not shutil.which("gdb"):
            self.skipTest("there is no 'gdb'; Debian's package gdb has it")
        commands = ["set debuginfod enabled off", "set breakpoint pending on", "set auto-load no", "set pagination off",
                    f"source {SOURCE}/tools/gdb/transom-gdb.py", "break transom_session_embed", "run", "delete", "rbreak ^transom\\.k\\.", "continue",
                    "backtrace 3", "transom-where", "delete", "rbreak ^transom\\.p\\..*attention\\.self$", "continue", "transom-where", "continue",
                    "transom-where", "delete", "finish", "transom-where", "kill"]
        arguments = [argument for command in commands for argument in ("-ex", command)]
        output = subprocess.run(["gdb", "-nx", "-batch", *arguments, "--args", TOOL, "embed", self.model, "--text", "a door", "-t", "1"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                                cwd=self.shared, start_new_session=True).stdout
        self.assertRegex(output, r"#0 .*transom\.k\.avx2\..*\n#1 .*transom\.p\.avx2\..*tiny\.so\.kern\.mlir:\d+\n#2 .*transom::ExecutorRun", output)
        self.assertRegex(output, r"entry +encode\ndispatch +\d+ of \d+, worker 1 of 1\nphase +\S+\n(layer .*\n)?location .*\nkernel +transom\.k\.", output)
        self.assertIn("this thread runs no phase of a model", output)
        for layer in (0, 1):
            self.assertRegex(output, rf"layer +{layer}\nlocation +encoder\.layer\.{layer}\.attention\.self\nline +tiny\.so\.kern\.mlir:\d+\nartifact +\S*/tiny\.so\n", output)


if __name__ == "__main__":
    unittest.main()
