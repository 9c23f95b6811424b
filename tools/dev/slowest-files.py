#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# slowest-files.py BUILD N: prints the N files with the longest last compile time, from ninja's log.
import os
import sys


def main():
    folder, count = sys.argv[1], int(sys.argv[2])
    times = {}
    with open(os.path.join(folder, ".ninja_log"), encoding="utf-8") as stream:
        for line in stream:
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 5 and fields[3].endswith((".o", ".pch")):
                times[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    for name, seconds in sorted(times.items(), key=lambda item: -item[1])[:count]:
        print(f"  {seconds:6.1f} s  {name}")


main()
