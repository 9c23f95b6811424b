#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# source-commands.py BUILD: writes BUILD/sources/compile_commands.json with a command for each source, even if the build compiles several
# sources as one translation unit.
import json
import os
import re
import sys

INCLUDE = re.compile(r'^#include "(.*)"$', re.MULTILINE)


def get_sources(path):
    """Returns the sources that a file in a build folder includes; other files are returned as they are."""
    if f"{os.sep}Unity{os.sep}" not in path:
        return [path]
    with open(path, encoding="utf-8") as stream:
        return INCLUDE.findall(stream.read())


def main():
    build = sys.argv[1]
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as stream:
        entries = json.load(stream)
    made = [
        {**entry, "file": source, "command": entry["command"].replace(entry["file"], source)}
        for entry in entries for source in get_sources(entry["file"])
    ]
    os.makedirs(os.path.join(build, "sources"), exist_ok=True)
    with open(os.path.join(build, "sources", "compile_commands.json"), "w", encoding="utf-8") as stream:
        json.dump(made, stream, indent=1)


main()
