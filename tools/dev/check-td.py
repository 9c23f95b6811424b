#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks the TableGen definitions: every op and pass is described with an
# example, every pass counts what it does, and one name goes through a pass:
# class FuseAttentionPass, flag attn-fuse-attention, FuseAttention.cpp with
# that DEBUG_TYPE, and the test fuse-attention.mlir.
import json
import os
import re
import subprocess

from tree import Findings, list_files, parse_root, read_text

LLVM = "/usr/lib/llvm-19"


def read_records(root, name):
    """All records of a .td file and those it pulls in, by name, or the tool's message."""
    command = [LLVM + "/bin/llvm-tblgen", "--dump-json", "-I", root, "-I", LLVM + "/include", os.path.join(root, name)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip().splitlines()[0]
    return json.loads(run.stdout), ""


def own_records(records, kind, name):
    """The records of a kind that the file itself defines, each with its line."""
    for record in sorted(records["!instanceof"].get(kind, [])):
        place = records[record]["!locs"][-1].rsplit(":", 1)
        if place[0] == os.path.basename(name):
            yield records[record], int(place[1])


def has_example(text):
    return "```" in text or "Example:" in text


def check_op(name, line, op, findings):
    """An op has a summary, and a description with an example."""
    op_name = op["opName"]
    if not op["summary"].strip():
        findings.error(name, line, f"op '{op_name}' has no summary")
    if not op["description"].strip():
        findings.error(name, line, f"op '{op_name}' has no description")
    elif not has_example(op["description"]):
        findings.error(name, line, f"the description of op '{op_name}' has no example")


def kebab(name):
    """FuseAttention -> fuse-attention."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def check_pass(root, names, name, line, record, findings):
    """A pass is described, counts, and has one name everywhere."""
    flag = record["argument"]
    for field in ("summary", "description"):
        if not record[field].strip():
            findings.error(name, line, f"pass '{flag}' has no {field}")
    if record["description"].strip() and not has_example(record["description"]):
        findings.error(name, line, f"the description of pass '{flag}' has no example")
    if not record["statistics"]:
        findings.error(name, line, f"pass '{flag}' has no statistic")
    stem = re.sub(r"Pass$", "", record["!name"])
    if flag not in (kebab(stem), "attn-" + kebab(stem), "kern-" + kebab(stem)):
        findings.error(name, line, f"pass class '{stem}' and flag '{flag}' are not one name")
    source = os.path.join(os.path.dirname(name), stem + ".cpp")
    if source not in names:
        findings.error(name, line, f"pass '{flag}' has no source '{source}'")
    elif f'#define DEBUG_TYPE "{flag}"' not in (read_text(root, source) or ""):
        findings.error(source, 1, f"DEBUG_TYPE is not the flag '{flag}'")
    test = kebab(stem) + ".mlir"
    if not any(path.startswith("test/") and os.path.basename(path) == test for path in names):
        findings.error(name, line, f"pass '{flag}' has no test '{test}'")


def main():
    root = parse_root(__doc__)
    findings = Findings()
    names = list_files(root)
    for name in names:
        if not name.endswith(".td"):
            continue
        records, message = read_records(root, name)
        if records is None:
            findings.error(name, 1, message)
            continue
        for op, line in own_records(records, "Op", name):
            check_op(name, line, op, findings)
        for record, line in own_records(records, "PassBase", name):
            check_pass(root, set(names), name, line, record, findings)
    findings.finish()


main()
