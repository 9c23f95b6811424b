# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check-remarks.py SOURCE: each reason of passes/RemarkTable.def is used by a source in passes/, and a lit test under test/passes
# produces it: a line of CHECK or REMARK has its name, and the line or a RUN line of its file the pass's flag. What a pass refuses in
# another way is an error, and a test expects its text.
import os
import re
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "tools/dev"))
import remark_table  # noqa: E402

CHECK = re.compile(r"\b[A-Z][A-Z0-9-]*:.*name = \"([a-z0-9-]+)\"")


# Errors that no module of this tree's dialects meets: kern.phase allows operations on buffers alone, and each has a lowering.
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
    """The pairs of category and name that tests produce."""
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
    """The errors of passes whose first words no test has, and reasons that are text."""
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
