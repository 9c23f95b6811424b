# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The op `kern.reverse`, which a patch in docs/extending.md adds: the test that the patch adds runs its code; its evaluator is
# only compiled.
import os
import subprocess


def check(build, objects, folder):
    """Returns the op's errors; `objects` are the patch's changed objects by source."""
    program = os.path.join(folder, "lower-moves")
    linked = build.link("test/bin/lower-moves", [made for name, made in objects.items() if "/evaluator/" not in name], program)
    if linked.returncode:
        yield f"the test of kern.reverse does not link: {linked.stderr.strip()}"
        return
    done = subprocess.run([program, "--gtest_filter=Moves.Reverse"], cwd=folder, capture_output=True, text=True)
    if done.returncode or "[  PASSED  ] 1 test" not in done.stdout:
        yield f"the test of kern.reverse ends with {done.returncode}: {(done.stdout + done.stderr).strip()}"
