# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# test_facts.py SOURCE: facts that a page repeats from a source, such as a version, a size or a sign, are the same in both.
import os
import re
import sys
import unittest
from glob import glob

# Locations for each fact: a file, and an expression whose group is the value. All matches must be equal.
FACTS = {
    "the ABI version": [
        ("runtime/abi/Abi.h", r"#define TRANSOM_ABI_VERSION (\d+)"),
        ("docs/migration.md", r"ABI\D+version (\d+)"),
        ("CHANGELOG.md", r"ABI version is (\d+)"),
    ],
    "the sign of a group's offset": [
        ("runtime/base/OperandFormat.h", r"element \* scale ([+−-]) \w+"),
        ("dialects/kern/KernDialect.td", r"element \* scale ([+−-]) \w+"),
        ("dialects/weights/README.md", r"element \* scale ([+−-]) \w+"),
        ("docs/glossary.md", r"element \* scale ([+−-]) \w+"),
    ],
    "the KV block size": [
        ("runtime/abi/Layout.h", r"#define TRANSOM_KV_BLOCK_SIZE (\d+)"),
        ("docs/glossary.md", r"(?m)^\| KV block \|.*?(\d+) positions"),
        ("passes/kernel/Passes.td", r"(\d+)[\s-]+positions?\b"),
        ("passes/kernel/PlanRemarks.def", r"(\d+)[\s-]+positions?\b"),
    ],
    "the panel width": [
        ("runtime/abi/Layout.h", r"#define TRANSOM_PANEL_WIDTH (\d+)"),
        ("docs/glossary.md", r"(?m)^\| panel \| (\d+) columns"),
        ("passes/kernel/Passes.td", r"(\d+)[\s-]+columns?\b"),
    ],
    "the max K block for f32": [
        ("dialects/kern/Kern.h", r"kMaxKBlock = (\d+)"),
        ("docs/glossary.md", r"(?m)^\| K block \|.*?(\d{4})"),
    ],
    "the max group size": [
        ("runtime/base/OperandFormat.h", r'quantizedGroupNames\[\] = "(?:\d+, )*(\d+)"'),
        ("docs/quantization.md", r"`--group-size N`\D+32\D+(\d+)"),
        ("CHANGELOG.md", r"group sizes\D+32\D+(\d+)"),
    ],
}


class Facts(unittest.TestCase):
    root = "."

    def read(self, name):
        with open(os.path.join(self.root, name), encoding="utf-8") as file:
            return file.read()

    def test_values(self):
        for fact, places in FACTS.items():
            found = {}
            for name, expression in places:
                matches = re.findall(expression, self.read(name))
                self.assertTrue(matches, f"{fact}: '{name}' has no match of '{expression}'")
                for match in matches:
                    found.setdefault(match, set()).add(name)
            with self.subTest(fact):
                self.assertEqual(len(found), 1, f"{fact} differs: {found}")

    def test_instruction_sets(self):
        sets = re.findall(r'^ +\{"([a-z0-9]+)", "', self.read("runtime/base/InstructionSet.cpp"), re.MULTILINE)
        self.assertGreater(len(sets), 5)
        row = re.search(r"^\| instruction set \|([^;]*);", self.read("docs/glossary.md"), re.MULTILINE).group(1)
        self.assertEqual(re.findall(r"`(\w+)`", row), sets)

    def test_shortest_command(self):
        """The README starts with the shortest command."""
        lines = {}
        folder = os.path.join(self.root, "tools/commands")
        for path in glob(os.path.join(folder, "**/*.cpp"), recursive=True):
            text = self.read(path)
            if re.search(r"^void tools::add\w+\(CLI::App &app, CommandList", text, re.MULTILINE):
                lines[os.path.relpath(path, folder)] = text.count("\n")
        self.assertGreater(len(lines), 10)
        named = re.search(r"`([\w/]+\.cpp)`[^.\n]*shortest command", self.read("tools/commands/README.md"))
        self.assertIsNotNone(named, "'tools/commands/README.md' does not name the shortest command")
        self.assertEqual(named.group(1), min(lines, key=lines.get))

    def test_attributes(self):
        """Each attribute that a pass description names is declared in a dialect."""
        declared = set()
        for path in glob(os.path.join(self.root, "dialects/*/*.td")):
            declared.update(re.findall(r"\$(\w+)", self.read(path)))
        for path in glob(os.path.join(self.root, "passes/*/Passes.td")):
            for name in re.findall(r"\battributes?\s+`(\w+)`", self.read(path)):
                self.assertIn(name, declared, f"'{path}' names an attribute that no .td declares")


if __name__ == "__main__":
    Facts.root = sys.argv.pop(1) if len(sys.argv) > 1 else Facts.root
    unittest.main()
