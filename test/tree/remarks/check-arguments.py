# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check-arguments.py SOURCE TRANSOM_OPT: runs the commands in the lit tests for graph and kernel passes. Each remark in their
# output is a table entry and has exactly the arguments that its message names; each entry is in some output.
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(sys.argv[1], "tools/dev"))
import remark_table  # noqa: E402

FIELD = r'\w+ = "(?:[^"\\]|\\.)*"'
REMARK = re.compile(r"\{(?:args = \{((?:" + FIELD + r"(?:, )?)*)\}, )?(category = (?:(?:\w+ = )?" + r'"(?:[^"\\]|\\.)*"(?:, )?)+)\}')
PLACEHOLDER = re.compile(r"\{(\w+)\}")


def commands(path, tool, scratch):
    """Returns a test's RUN lines up to their first pipe, each once, with lit's substitutions."""
    with open(path, encoding="utf-8") as stream:
        lines = re.findall(r"RUN: (.*)", stream.read())
    substitutions = {"%python": sys.executable, "%s": path, "%S": os.path.dirname(path), "%t": os.path.join(scratch, "t")}
    seen = []
    for line in lines:
        command = line.split("|")[0].strip()
        for key in ("%python", "%S", "%s", "%t"):
            command = re.sub(key + r"\b", lambda _, value=substitutions[key]: value, command)
        command = re.sub(r"\btransom-opt\b", lambda _: tool, command, count=1)
        if command not in seen and not command.startswith("not "):
            seen.append(command)
    return seen


def remarks_of(root, tool):
    """Returns file, category, name and argument keys for all remarks that the tests produce."""
    with tempfile.TemporaryDirectory() as scratch:
        for base, folders, names in os.walk(os.path.join(root, "test/passes")):
            folders.sort()
            for name in sorted(names):
                if not name.endswith((".mlir", ".test")):
                    continue
                for command in commands(os.path.join(base, name), tool, scratch):
                    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
                    for args, fields in REMARK.findall(run.stdout):
                        values = dict(re.findall(r'(\w+) = "((?:[^"\\]|\\.)*)"', fields))
                        keys = set(re.findall(r'(\w+) = "(?:[^"\\]|\\.)*"', args))
                        yield name, values["category"], values["name"], keys


def main():
    root, tool = sys.argv[1:]
    table = {(entry.category, entry.name): entry for entry in remark_table.read_table(root)}
    problems, produced = set(), set()
    for test, category, name, keys in remarks_of(root, tool):
        entry = table.get((category, name))
        produced.add((category, name))
        if not entry:
            problems.add(f"{test}: '{name}' of '{category}' is not in the table")
        elif keys != set(PLACEHOLDER.findall(entry.text)):
            problems.add(f"{test}: '{name}' of '{category}' has the arguments {sorted(keys)}, and its message names "
                         f"{sorted(set(PLACEHOLDER.findall(entry.text)))}")
    for category, name in table:
        if (category, name) not in produced:
            problems.add(f"no test under test/passes produces '{name}' of '{category}'")
    print("\n".join(sorted(problems)))
    sys.exit(1 if problems else 0)


main()
