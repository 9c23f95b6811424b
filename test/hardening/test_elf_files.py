#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ELF files that are built, installed and compiled: where the loader looks for libraries, and how code is protected."""
import os
import subprocess
import tempfile
import unittest

from elf_files import (DT_NEEDED, DT_TEXTREL, EM_X86_64, ET_DYN, ElfFile, PF_W, PF_X, PT_GNU_RELRO, PT_GNU_STACK, PT_INTERP, PT_LOAD,
                       X86_SHSTK, find_bad_runpaths, find_elf_files)

SOURCE = os.environ["TRANSOM_SOURCE_DIR"]
BINARY = os.environ["TRANSOM_BINARY_DIR"]
# The components for `cmake --install`.
COMPONENTS = ("runtime", "tools", "compiler-dev")
# An externally called function in each product file.
ENTRIES = {"libtransom.so": "transom_version", "libtransom-compiler.so": "transom_compiler"}


def built(name):
    return os.path.join(BINARY, "bin" if "." not in name else "lib", name)


def products():
    """Returns the product's programs and libraries."""
    return [elf for folder in ("bin", "lib") for elf in find_elf_files(os.path.join(BINARY, folder))]


class ElfFiles(unittest.TestCase):
    def check_layout(self, elf):
        """No memory is both writable and executable, and relocated data is read-only."""
        kinds = [kind for kind, *_ in elf.segments]
        for kind, flags, *_ in elf.segments:
            self.assertFalse(kind == PT_LOAD and flags & PF_W and flags & PF_X, "a segment is writable and executable")
            self.assertFalse(kind == PT_GNU_STACK and flags & PF_X, "the stack is executable")
        self.assertIn(PT_GNU_STACK, kinds)
        self.assertIn(PT_GNU_RELRO, kinds)
        self.assertEqual(elf.type, ET_DYN, "not position-independent")
        self.assertFalse(elf.get_values(DT_TEXTREL), "code is relocated")

    def test_the_loader_never_searches_the_current_folder(self):
        self.assertGreater(len(find_elf_files(BINARY)), 5)
        self.assertEqual(find_bad_runpaths(BINARY), [])

    def test_neither_in_an_installed_tree(self):
        with tempfile.TemporaryDirectory() as prefix:
            for component in COMPONENTS:
                subprocess.run(["cmake", "--install", BINARY, "--component", component, "--prefix", prefix], check=True,
                               stdout=subprocess.DEVNULL)
            self.assertGreater(len(find_elf_files(prefix)), 3)
            self.assertEqual(find_bad_runpaths(prefix), [])
            for elf in find_elf_files(prefix):
                with self.subTest(path=elf.path):
                    self.check_layout(elf)
            version = subprocess.run([os.path.join(prefix, "bin", "transom-opt"), "--version"], capture_output=True)
            self.assertEqual(version.returncode, 0, version.stderr)

    def test_products_are_hardened(self):
        for elf in products():
            with self.subTest(path=elf.path):
                self.check_layout(elf)
                self.assertTrue(elf.binds_now(), "symbols are bound lazily")
                self.assertIn("__stack_chk_fail", elf.symbols)
                if elf.machine == EM_X86_64:
                    self.assertTrue(elf.get_features() & X86_SHSTK, "no mark of shadow stacks")
        for name in ("transom", *ENTRIES):
            symbols = ElfFile(built(name)).symbols
            self.assertTrue([symbol for symbol in symbols if symbol.endswith("_chk")], f"{name} checks no call of the C library")
            self.assertTrue([symbol for symbol in symbols if "glibcxx_assert_fail" in symbol], f"{name} has no assertions")

    def test_entries_begin_with_a_mark_for_indirect_calls(self):
        for name, function in ENTRIES.items():
            elf = ElfFile(built(name))
            if elf.machine == EM_X86_64:
                begin = elf.get_offset(elf.symbols[function])
                self.assertEqual(elf.data[begin:begin + 4], b"\xf3\x0f\x1e\xfa", f"'{function}' does not begin with endbr64")

    def test_artifacts_need_and_run_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            for model, target in (("tiny-bert", "x86-64-v3"), ("tiny-bert", "aarch64"), ("tiny-llama", "x86-64-v3")):
                with self.subTest(model=model, target=target):
                    path = os.path.join(folder, "model.so")
                    subprocess.run([os.path.join(BINARY, "bin", "transom"), "compile", os.path.join(SOURCE, "examples", model),
                                    "-o", path, "-O0", "--target", target, "-q"], check=True)
                    elf = ElfFile(path)
                    self.check_layout(elf)
                    self.assertEqual((elf.get_values(DT_NEEDED), elf.get_runpath()), ([], []))
                    self.assertNotIn(PT_INTERP, [kind for kind, *_ in elf.segments])
                    self.assertEqual(set(elf.symbols), {"", "transom_artifact"})


class BadRunpaths(unittest.TestCase):
    """Files with paths that are wrong are found."""

    def test_empty_and_relative_parts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "library.so")
            for parts, bad in (("/usr/lib:", [""]), (":/usr/lib", [""]), ("/a::/b", [""]), ("lib", ["lib"]), ("./lib", ["./lib"]),
                               ("$ORIGIN/../lib:/usr/lib", []), ("", [])):
                with self.subTest(parts=parts):
                    subprocess.run([os.environ["CXX"], "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", path,
                                    *([f"-Wl,-rpath,{parts}"] if parts else [])], check=True)
                    self.assertEqual(find_bad_runpaths(folder), [f"{path}: '{part}'" for part in bad])


if __name__ == "__main__":
    unittest.main()
