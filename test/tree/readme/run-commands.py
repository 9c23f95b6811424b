# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# run-commands.py SOURCE BUILD PAGE: runs the `sh` blocks in a page that follow the mark <!-- test -->, in order, in a folder
# that mirrors the repository and its release build, so that their output files are discarded.
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^<!-- test -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def make_mirror(folder, source, build):
    """Links to all files in the repository, and to the build as build/release."""
    for name in os.listdir(source):
        if name not in ("build", ".git"):
            os.symlink(os.path.join(source, name), os.path.join(folder, name))
    os.mkdir(os.path.join(folder, "build"))
    os.symlink(build, os.path.join(folder, "build", "release"))


def main():
    source, build, page = sys.argv[1:4]
    with open(os.path.join(source, page), encoding="utf-8") as stream:
        blocks = BLOCK.findall(stream.read())
    with tempfile.TemporaryDirectory() as folder:
        make_mirror(folder, source, build)
        for block in blocks:
            print(block, flush=True)
            code = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder).returncode
            if code != 0:
                sys.exit(f"{page}: a command exits with {code}")
    print(f"{len(blocks)} blocks")
    sys.exit(0 if blocks else 1)


main()
