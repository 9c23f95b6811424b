# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# follow-page.py SOURCE BUILD: follows docs/extending.md. Each file of its tables contains the text beside it; each patch
# applies, and the patched sources compile.
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROW = re.compile(r"^\| \[[^]]+\]\(\.\./([^)]+)\) \| `([^`]+)` \|", re.MULTILINE)
PATCH = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"^\+\+\+ b/(\S+)$", re.MULTILINE)


# Most files that a change may touch, by the section of the page: the costs that the project promises.
MAX_FILES = {"An instruction set": 3, "A storage format": 3}


def check_costs(page):
    """Sections whose table lists more files than promised."""
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for section, most in MAX_FILES.items():
        count = len(ROW.findall(sections.get(section, "")))
        if not 1 <= count <= most:
            yield f"'{section}' lists {count} files, expected 1 to {most}"


def check_tables(source, page):
    """What the tables say is in a file, but is not."""
    rows = ROW.findall(page)
    if len(rows) < 10:
        yield f"only {len(rows)} rows of tables are found"
    for name, text in rows:
        path = os.path.join(source, name)
        if not os.path.isfile(path):
            yield f"'{name}' does not exist"
        elif text not in open(path, encoding="utf-8").read():
            yield f"'{name}' does not contain '{text}'"


def compile_flags(build, path):
    """The compiler and its flags for a source, without output and precompiled header."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        command = next(entry["command"] for entry in json.load(file) if entry["file"] == path)
    words = shlex.split(command)
    start = next(i for i, word in enumerate(words) if "clang" in word)
    flags = words[start:start + 1]
    for word, following in zip(words[start + 1:], words[start + 2:] + [""]):
        if word.startswith(("-D", "-I", "-std=", "-fno-rtti", "-fno-exceptions")):
            flags.append(word)
        elif word == "-isystem":
            flags += [word, following]
    return flags


def check_patch(source, build, patch):
    """Applies a patch to copies of its files and compiles them; other headers come from the tree."""
    with tempfile.TemporaryDirectory() as folder:
        names = TARGET.findall(patch)
        for name in names:
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(source, name), "rb") as old, open(os.path.join(folder, name), "wb") as new:
                new.write(old.read())
        applied = subprocess.run(["git", "apply", "-C1", "-"], cwd=folder, input=patch, capture_output=True, text=True)
        if applied.returncode:
            yield f"the patch of {', '.join(names)} does not apply: {applied.stderr.strip()}"
            return
        for name in names:
            if not name.endswith(".cpp"):
                continue
            flags = compile_flags(build, os.path.join(source, name))
            command = [*flags[:1], "-I", folder, *flags[1:], "-Werror=switch", "-fsyntax-only", os.path.join(folder, name)]
            compiled = subprocess.run(command, cwd=build, capture_output=True, text=True)
            if compiled.returncode:
                yield f"the patched '{name}' does not compile: {compiled.stderr.strip()}"


def main():
    source, build = sys.argv[1:3]
    with open(os.path.join(source, "docs", "extending.md"), encoding="utf-8") as file:
        page = file.read()
    patches = PATCH.findall(page)
    problems = list(check_tables(source, page)) + list(check_costs(page)) + [p for patch in patches for p in check_patch(source, build, patch)]
    if not patches:
        problems.append("the page has no patch")
    for problem in problems:
        print(f"docs/extending.md: {problem}")
    print(f"{len(patches)} patches, {len(ROW.findall(page))} rows")
    sys.exit(1 if problems else 0)


main()
