# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check-remarks.py SOURCE: a source in passes/ uses each reason in passes/RemarkTable.def, and a lit test under test/passes
# produces it: a CHECK or REMARK line contains its name, and that line or a RUN line in its file contains the pass's flag. Other
# refusals by a pass are errors, and a test expects their message.
import os
import re
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "tools/dev"))
import remark_table  # noqa: E402

CHECK = re.compile(r"\b[A-Z][A-Z0-9-]*:.*name = \"([a-z0-9-]+)\"")


# Errors that no module with this tree's dialects triggers: kern.phase allows only operations on buffers, and each has a
# lowering.
UNREACHABLE = {"has no lowering to vectors"}


def files_below(root, folder, endings):
    for path, _, names in os.walk(os.path.join(root, folder)):
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.join(path, name)


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def find_tested(root):
    """Returns the pairs (category, name) that tests produce."""
    tested = set()
    for path in files_below(root, "test/passes", (".mlir", ".test")):
        text = read(path)
        flags = set(re.findall(r"--?([a-z0-9-]+)", " ".join(re.findall(r"RUN:(.*)", text))))
        for line in text.splitlines():
            found = CHECK.search(line)
            if not found:
                continue
            categories = re.findall(r"category = \"([a-z0-9-]+)\"", line) or flags
            for name in re.findall(r"name = \"([a-z0-9-]+)\"", line):
                tested.update((category, name) for category in categories)
    return tested


def find_untested_errors(root):
    """Returns pass errors whose first words no test has, and reasons given as plain strings."""
    tests = "".join(read(path) for path in files_below(root, "test", (".mlir", ".test", ".cpp", ".py")))
    for path in files_below(root, "passes", (".cpp", ".h")):
        text, name = read(path), os.path.relpath(path, root)
        if "notifyMatchFailure" in text:
            yield f"{name}: 'notifyMatchFailure' has no reason of the table; report a RemarkReason"
        for words in re.findall(r'emit(?:Op)?Error\("([^"]+)"', text):
            if words not in UNREACHABLE and words.strip(" '") not in tests:
                yield f"{name}: no test expects the error '{words}'"


def main():
    root = sys.argv[1]
    tested = find_tested(root)
    used = set()
    for path in files_below(root, "passes", (".cpp", ".h")):
        used.update(re.findall(r"RemarkId::(\w+)", read(path)))
    problems = list(find_untested_errors(root))
    for entry in remark_table.read_table(root):
        if entry.id not in used:
            problems.append(f"{entry.file}: no pass reports '{entry.id}'")
        if (entry.category, entry.name) not in tested:
            problems.append(f"{entry.file}: no test under test/passes produces '{entry.name}' of '{entry.category}'")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
