# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares the layer body in a README with the one in a printed module: the same lines except for locations and indentation,
# and at most one screen.
import difflib
import re
import sys

MAX_LINES, MAX_COLUMNS = 50, 100
LOCATION = re.compile(r" loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


def body(lines):
    """The lines in the body of @layer, up to its return."""
    start = next(i for i, line in enumerate(lines) if "func.func private @layer(" in line)
    while not lines[start].endswith("{"):  # the arguments may take several lines
        start += 1
    start += 1
    end = next(i for i in range(start, len(lines)) if lines[i].strip() == "return")
    return lines[start:end]


def main():
    readme, module = ([line.rstrip("\n") for line in open(name, encoding="utf-8")] for name in sys.argv[1:3])
    shown = body(readme)
    printed = body([LOCATION.sub("", line) for line in module])
    for line in shown:
        if len(line) > MAX_COLUMNS:
            sys.exit(f"more than {MAX_COLUMNS} columns: {line}")
    if len(shown) > MAX_LINES:
        sys.exit(f"{len(shown)} lines, at most {MAX_LINES} fit a screen")
    difference = list(difflib.unified_diff([line.strip() for line in shown], [line.strip() for line in printed],
                                           "README", "printed", lineterm=""))
    if difference:
        sys.exit("\n".join(difference))


main()
