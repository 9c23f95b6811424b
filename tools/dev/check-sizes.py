#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks sizes and include cycles of product code: no source has more than 500 lines, at most 0.5 % of the functions have more
# than 60, at most 30 modules are at one level of a folder, and headers include each other without cycles. --longest N prints the longest functions.
import argparse
import os
import re
import sys

sys.dont_write_bytecode = True
from cpp_functions import functions
from tree import Findings, find_cycles, list_files, read_text

PRODUCT = ("runtime/", "dialects/", "passes/", "compiler/", "tools/")
FILE_LINES, FUNCTION_LINES, LONG_SHARE = 500, 60, 0.005
# A header, a source and a .td file with the same name are one module.
FOLDER_MODULES = 30
# Generated tables, and the pages of dialects and passes.
LARGE = re.compile(r"(UnicodeTables|UnicodeCategories|RegexTables|CompatibilityTables)\.cpp$|\.td$")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def check_functions(sources, findings):
    """Checks the share of long functions; returns all functions, longest first."""
    found = [(count, name, line, text) for name, lines in sources for line, text, count in functions(lines)]
    long = sorted((entry for entry in found if entry[0] > FUNCTION_LINES), reverse=True)
    if len(long) > LONG_SHARE * len(found):
        for count, name, line, _ in long:
            findings.warn(name, line, f"a function of {count} lines")
        findings.error("tools/dev/check-sizes.py", 1, f"{len(long)} of {len(found)} functions have more than {FUNCTION_LINES} lines; at most {100 * LONG_SHARE} % may")
    return sorted(found, reverse=True)


def check_cycles(headers, findings):
    """Reports each header that includes itself through others."""
    for cycle in find_cycles(headers):
        findings.error(cycle[0], 1, "includes itself: " + " -> ".join(cycle))


def check_folders(modules, findings):
    """Reports folders with too many modules; `modules` is {folder: {name}}."""
    for folder, names in sorted(modules.items()):
        if len(names) > FOLDER_MODULES:
            findings.error(folder, 1, f"{len(names)} modules at one level; at most {FOLDER_MODULES}: move some into a folder of their own")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--root", default=here, help="the tree to check")
    parser.add_argument("--longest", type=int, metavar="N", help="print the longest functions")
    options = parser.parse_args()
    findings, sources, headers, modules = Findings(), [], {}, {}
    for name in list_files(options.root):
        if not name.startswith(PRODUCT) or not name.endswith((".h", ".cpp", ".c", ".td")):
            continue
        folder, file = os.path.split(name)
        modules.setdefault(folder, set()).add(file.split(".")[0])
        text = read_text(options.root, name) or ""
        lines = text.splitlines()
        if len(lines) > FILE_LINES and not LARGE.search(name):
            findings.error(name, len(lines), f"{len(lines)} lines; product code has at most {FILE_LINES} per file")
        if not name.endswith(".td") and not LARGE.search(name):
            sources.append((name, lines))
        if name.endswith(".h"):
            # Public headers are included as transom/...
            headers[name.removeprefix("runtime/include/")] = INCLUDE.findall(text)
    found = check_functions(sources, findings)
    check_cycles(headers, findings)
    check_folders(modules, findings)
    for count, name, line, text in found[:options.longest or 0]:
        print(f"{count:4} {name}:{line}: {text}")
    findings.finish()


main()
