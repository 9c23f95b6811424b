#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""summarize-tests.py SINCE BUILD...: what the tests of build folders recorded (test/unchanged) since a time in seconds: how
many were unchanged, what was skipped and why, and which tests took more CPU time than a test may. Exit code 0."""
import json
import os
import re
import subprocess
import sys

LIMIT = 40  # seconds of one core


def test_names(build):
    """Names of the build's tests, as ctest lists them."""
    done = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True)
    return re.findall(r"^\s*Test\s+#\d+: (\S+)", done.stdout, re.MULTILINE)


def read_records(build, since):
    """(name, record) of the tests that have run in this build folder since then."""
    for name in test_names(build):
        path = os.path.join(build, "test", "results", name + ".json")
        if os.path.exists(path) and os.path.getmtime(path) >= since:
            with open(path, encoding="utf-8") as file:
                yield name, json.load(file)


def main():
    unchanged, skipped, slow = 0, {}, []
    for build in sys.argv[2:]:
        for name, record in read_records(build, float(sys.argv[1])):
            unchanged += record["state"] == "unchanged"
            reasons = record["skipped"] or (["the whole test"] if record["code"] == 77 else [])
            for reason in reasons:
                skipped.setdefault(reason, []).append(name)
            if record["cpu_seconds"] > LIMIT and name not in ("asan", "tsan"):
                slow.append((record["cpu_seconds"], os.path.basename(build), name))
    print(f"{unchanged} tests unchanged since they passed, not run again (--all runs them)")
    print(f"{sum(map(len, skipped.values()))} skipped" + (":" if skipped else ""))
    for reason, names in sorted(skipped.items()):
        print(f"  {reason}: {', '.join(names[:6])}" + (f" and {len(names) - 6} more" if len(names) > 6 else ""))
    for seconds, build, name in sorted(slow, reverse=True):
        print(f"slow: {name} of {build} took {seconds:.0f} s of CPU time; the limit is {LIMIT} s")


main()
