# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check-emitted.py SOURCE TRANSOM README [--fix]: compares the `mlir` blocks in a README under a mark such as
#   <!-- transom compile examples/tiny-bert --emit attn-opt: @layer -->
# with the function with that name in the command's output. No line may be wider than 100 columns.
import os
import re
import subprocess
import sys

BLOCK = re.compile(r"(<!-- transom (compile [^\n:]*): (@\w+) -->\n```mlir\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)
COLUMNS = 100


def emit(transom, source, arguments, name):
    """Returns the function with that name, without its indentation in the module."""
    run = subprocess.run([transom, *arguments.split(), "-q"], cwd=source, capture_output=True, text=True, check=True)
    start = re.search(rf"^  func\.func (private )?{name}\(", run.stdout, re.MULTILINE)
    end = run.stdout.index("\n  }\n", start.start()) + len("\n  }\n")
    return "".join(line[2:] + "\n" for line in run.stdout[start.start():end].splitlines())


def main():
    source, transom, readme = sys.argv[1:4]
    path = os.path.join(source, readme)
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    wrong, count = [], 0

    def check(match):
        nonlocal count
        count += 1
        now = emit(transom, source, match.group(2), match.group(3))
        if now != match.group(4):
            wrong.append(match.group(3))
            print(f"{readme}: the block of {match.group(3)} is not what 'transom {match.group(2)}' prints:\n{now}")
        if any(len(line) > COLUMNS for line in now.splitlines()):
            wrong.append(match.group(3))
            print(f"{readme}: a line of {match.group(3)} has more than {COLUMNS} columns")
        return match.group(1) + now + match.group(5)

    fixed = BLOCK.sub(check, text)
    if "--fix" in sys.argv:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(fixed)
        wrong = []
    print(f"{count} blocks")
    sys.exit(1 if wrong or count == 0 else 0)


main()
