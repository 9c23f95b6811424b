#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks that names in pages exist: links, paths, files, built programs, commands and flags. Each shell block is either run by the tests
# (the mark <!-- test --> above it) or gives the reason why it is not (<!-- not run: REASON -->).
import glob
import os
import re

from tree import Findings, list_files, parse_root, read_text

# Generated pages, and pages that list old names next to new ones.
EXEMPT = re.compile(r"^docs/reference/")
OLD_NAMES = re.compile(r"\A# Migration|^## Retired words$", re.MULTILINE)

SHELL = {"sh", "bash", "console", "shell"}
MARK = re.compile(r"<!-- (?:test|not run: \S.*) -->$")

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
SPAN = re.compile(r"`([^`]+)`")
PATH = re.compile(r"(?<![\w./*-])((?:cmake|compiler|dialects|docs|examples|passes|runtime|test|tools)/[\w./*-]*\w)(?![\w/*{])")
FILE = re.compile(r"(?<![\w./*{}-])([\w*-]*\w\.(?:cpp|td|h|py|cmake|inc))(?![\w./-])")
PROGRAM = re.compile(r"\bbuild/[\w-]+/(?:test/)?bin/([\w-]+)")
COMMAND = re.compile(r"(?:^|bin/|\$ )transom ([a-z][a-z-]*)(?![\w-])")
SEPARATOR = re.compile(r"[─→│|;&]+")
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)(?![\w-])")
NINJA = re.compile(r"^ninja(?: -C \S+)?((?: [a-z][\w-]+)+)$")
PRESET = re.compile(r"\bcmake --preset ([\w-]+)")

# External programs, whose flags are not checked.
OTHERS = re.compile(r"^(?:cmake|ctest|ninja|clang\S*|git|pip|python3 -m|perf|gdb|valgrind)\b")
# mlir-opt flags, and projects named like a file.
MLIR_FLAGS = {
    "load-dialect-plugin", "load-pass-plugin", "pass-pipeline", "mlir-print-debuginfo", "mlir-print-ir-after", "mlir-print-ir-after-all",
    "mlir-print-ir-after-change", "mlir-timing", "run-reproducer",
}
NOT_OURS = {"llama.cpp"}


class Tree:
    """Definitions in the sources, found by text search."""

    def __init__(self, root):
        self.root = root
        self.names = list_files(root)
        self.files = {os.path.basename(name) for name in self.names}
        self.commands, self.command_flags, self.flags, self.targets = set(), {"help", "version"}, set(), []
        for name in self.names:
            text = self.text_of(name)
            if name.startswith(("tools/commands/", "runtime/generate/")):
                self.commands.update(re.findall(r'addCommand\(\s*app,\s*commands,\s*"([a-z-]+)"', text))
                self.command_flags.update(re.findall(r'"(?:-\w,)?--([a-z][\w-]*)"', text))
            if name == "compiler/pipeline/StageTable.cpp":
                self.flags.update("transom-" + stage for stage in re.findall(r'\{Stage::\w+, "([\w-]+)"', text))
            if name.endswith(".td"):
                self.flags.update(re.findall(r'Pass<\s*"([\w-]+)"', text))
            self.flags.update(FLAG.findall(text))
            if name.endswith("CMakeLists.txt"):
                found = re.findall(r"(?:add_executable|add_library|add_custom_target|transom_library|transom_unit_test)\(\s*([^\s)]+)", text)
                self.targets += [re.sub(r"\$\{\w+\}", "*", target) for target in found]
        self.flags |= self.command_flags | MLIR_FLAGS
        presets = re.search(r'"configurePresets".*?\]', read_text(root, "CMakePresets.json") or "", re.DOTALL)
        self.presets = set(re.findall(r'"name": "([\w-]+)"', presets.group())) if presets else set()

    def text_of(self, name):
        """Returns the text of a source or script; empty for pages and data."""
        is_source = name.endswith((".cpp", ".h", ".td", ".py", ".txt", ".cmake", ".sh")) or "." not in os.path.basename(name)
        return (read_text(self.root, name) or "") if is_source else ""

    def has_path(self, path):
        """Returns whether the tree has the path, possibly with another ending; '*' and names like MODEL match any text."""
        path = os.path.join(self.root, re.sub(r"(?<=/)[A-Z]+(?=/|$)", "*", path))
        return bool(glob.glob(path) or glob.glob(path + ".*"))

    def has_file(self, name):
        pattern = re.compile(re.escape(name).replace(r"\*", ".*"))
        return any(pattern.fullmatch(file) for file in self.files)

    def has_target(self, name):
        return any(re.fullmatch(target.replace("*", ".*"), name) for target in self.targets)


def code_of(lines):
    """Yields (number, text) for code in a page: spans, blocks without a language, shell blocks; comments are omitted."""
    language = None
    for number, line in enumerate(lines, 1):
        fence = re.match(r"\s*```(.*)", line)
        if fence:
            language = fence.group(1).strip() if language is None else None
        elif language is None:
            for span in SPAN.findall(line):
                yield number, span
        elif language in SHELL | {""}:
            yield number, re.sub(r"(^|\s)#.*", "", line)


def check_blocks(name, lines, findings):
    """Checks that shell blocks are run, or give a reason."""
    inside = False
    for number, line in enumerate(lines, 1):
        fence = re.match(r"\s*```(.*)", line)
        if fence and not inside and fence.group(1).strip() in SHELL and not (number > 1 and MARK.match(lines[number - 2].strip())):
            findings.error(name, number, "a block of shell commands without '<!-- test -->' or '<!-- not run: REASON -->' above it")
        if fence:
            inside = not inside


def check_links(root, name, lines, findings):
    """Checks that relative links lead to files or folders in the tree."""
    for number, line in enumerate(lines, 1):
        for target in LINK.findall(line):
            if not os.path.exists(os.path.join(root, os.path.dirname(name), target)):
                findings.error(name, number, f"links to '{target}', which does not exist")


def check_names(tree, name, number, code, findings):
    """Checks that paths, files, programs and presets exist."""
    for path in PATH.findall(code):
        if not tree.has_path(path):
            findings.error(name, number, f"names '{path}', which does not exist")
    for file in FILE.findall(code):
        if file not in NOT_OURS and not tree.has_file(file):
            findings.error(name, number, f"names '{file}', but no file of the tree is called so")
    ninja = NINJA.match(code.strip())
    for target in PROGRAM.findall(code) + (ninja.group(1).split() if ninja else []):
        if not tree.has_target(target):
            findings.error(name, number, f"names the target '{target}', which no CMakeLists.txt builds")
    for preset in PRESET.findall(code):
        if preset not in tree.presets:
            findings.error(name, number, f"'{preset}' is not a preset; presets: {', '.join(sorted(tree.presets))}")


def check_commands(tree, name, number, command, findings):
    """Checks that transom commands and flags exist: flags of transom in its sources, flags of a script in the script, others anywhere."""
    if OTHERS.match(command):
        return
    flags, where = tree.flags, "the tree"
    script = PATH.match(command)
    if script and script.group(1) in tree.names:
        flags, where = set(FLAG.findall(tree.text_of(script.group(1)))), f"'{script.group(1)}'"
    verb = COMMAND.search(command)
    if verb and tree.commands:
        flags, where = tree.command_flags, "transom"
        if verb.group(1) not in tree.commands:
            findings.error(name, number, f"'transom {verb.group(1)}' is not a command; commands: {', '.join(sorted(tree.commands))}")
    for flag in FLAG.findall(command):
        if flag not in flags:
            findings.error(name, number, f"names the flag '--{flag}', which {where} does not have")


def main():
    root = parse_root(__doc__)
    findings = Findings()
    tree = Tree(root)
    for name in tree.names:
        if not name.endswith(".md") or EXEMPT.search(name):
            continue
        text = read_text(root, name) or ""
        lines = text.splitlines()
        old = OLD_NAMES.search(text)
        check_blocks(name, lines, findings)
        check_links(root, name, lines, findings)
        for number, code in code_of(text[:old.start()].splitlines() if old else lines):
            check_names(tree, name, number, code, findings)
            for command in SEPARATOR.split(code):
                check_commands(tree, name, number, command.strip(), findings)
    findings.finish()


main()
