#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""summarize-tests.py SINCE BUILD...: summarizes the records of tests in build folders (test/unchanged) since a time in seconds: the
number of unchanged tests, skipped tests with reasons, and tests with too much CPU time: more than the limit for tests that are not long,
or more than a tenth of the test's time limit. Exit code 0."""
import json
import os
import subprocess
import sys

LIMIT = 40  # seconds of one core
MARGIN = 10  # a time limit is at least this many times the CPU time


def list_tests(build):
    """Returns {name: max seconds of CPU time} for the build's tests, as ctest lists them."""
    done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True)
    found = {}
    for test in json.loads(done.stdout)["tests"] if done.returncode == 0 else ():
        properties = {property["name"]: property["value"] for property in test["properties"]}
        seconds = properties.get("TIMEOUT", MARGIN * LIMIT) / MARGIN
        found[test["name"]] = seconds if "long" in properties.get("LABELS", ()) else min(seconds, LIMIT)
    return found


def read_records(build, since):
    """Returns (name, record, max seconds) for the tests that have run in this build folder since then."""
    for name, most in list_tests(build).items():
        path = os.path.join(build, "test", "results", name + ".json")
        if os.path.exists(path) and os.path.getmtime(path) >= since:
            with open(path, encoding="utf-8") as file:
                yield name, json.load(file), most


def main():
    unchanged, skipped, slow = 0, {}, []
    for build in sys.argv[2:]:
        for name, record, most in read_records(build, float(sys.argv[1])):
            unchanged += record["state"] == "unchanged"
            reasons = record["skipped"] or (["the whole test"] if record["code"] == 77 else [])
            for reason in reasons:
                skipped.setdefault(reason, []).append(name)
            if record["cpu_seconds"] > most:
                slow.append((record["cpu_seconds"], os.path.basename(build), name, most))
    print(f"{unchanged} tests unchanged since they passed, not run again (--all runs them)")
    print(f"{sum(map(len, skipped.values()))} skipped" + (":" if skipped else ""))
    for reason, names in sorted(skipped.items()):
        print(f"  {reason}: {', '.join(names[:6])}" + (f" and {len(names) - 6} more" if len(names) > 6 else ""))
    for seconds, build, name, most in sorted(slow, reverse=True):
        print(f"slow: {name} of {build} took {seconds:.0f} s of CPU time; the limit is {most:.0f} s")


main()
