#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks TableGen definitions. Every op and pass has a description with an example. Every numbered constraint on an op, a type or an
# attribute has a test that expects the message with its number ('kern.norm' op (3), '!kern.buffer' (2), '#kern.format' (1)). Every pass has
# statistics and a single name: class FuseAttentionPass, flag attn-fuse-attention, FuseAttention.cpp with that DEBUG_TYPE, and the test
# fuse-attention.mlir.
import json
import os
import re
import subprocess

from tree import Findings, list_files, parse_root, read_text

LLVM = "/usr/lib/llvm-19"


def read_records(root, name):
    """Returns all records in a .td file and its includes by name, or the tool's message."""
    command = [LLVM + "/bin/llvm-tblgen", "--dump-json", "-I", root, "-I", LLVM + "/include", os.path.join(root, name)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip().splitlines()[0]
    return json.loads(run.stdout), ""


def own_records(records, kind, name):
    """Returns the records of a kind that the file itself defines, each with its line."""
    for record in sorted(records["!instanceof"].get(kind, [])):
        place = records[record]["!locs"][-1].rsplit(":", 1)
        if place[0] == os.path.basename(name):
            yield records[record], int(place[1])


def has_example(text):
    return "```" in text or "Example:" in text


def check_op(name, line, op, findings):
    """Checks that an op has a summary, and a description with an example."""
    op_name = op["opName"]
    if not op["summary"].strip():
        findings.error(name, line, f"op '{op_name}' has no summary")
    if not op["description"].strip():
        findings.error(name, line, f"op '{op_name}' has no description")
    elif not has_example(op["description"]):
        findings.error(name, line, f"the description of op '{op_name}' has no example")


def constraints(description):
    """Returns the lines in the list after 'Constraints:'."""
    _, found, rest = description.partition("Constraints:")
    lines = []
    for line in rest.splitlines()[1:] if found else []:
        if not line.strip():
            break
        lines.append(line.strip())
    return lines


def check_constraints(name, line, subject, description, expected, findings):
    """Checks that constraints are numbered from 1, and that a test expects the message for each."""
    lines = constraints(description)
    if "Constraints:" in description and not lines:
        findings.error(name, line, f"{subject} has an empty list of constraints")
    count = 0
    for text in lines:
        number = re.match(r"(\d+)\. ", text)
        if number and int(number.group(1)) != count + 1:
            findings.error(name, line, f"constraint {number.group(1)} of {subject} follows constraint {count}")
        if not number and (count == 0 or text.startswith("-")):
            findings.error(name, line, f"the constraints of {subject} are not numbered '1. ', '2. ', ...")
            return
        count += bool(number)
    for i in range(1, count + 1):
        if f"{subject} ({i}) " not in expected:
            findings.error(name, line, f"no test expects constraint {i} of {subject}: '{subject} ({i}) ...'")


def expected_errors(root, names):
    """Returns all errors that dialect tests expect, as one text."""
    texts = (read_text(root, name) or "" for name in names if name.startswith("test/dialects/") and name.endswith(".mlir"))
    return "\n".join(re.findall(r"expected-error[^{\n]*\{\{(.*)\}\}", "\n".join(texts)))


def check_definitions(name, records, expected, findings):
    """Checks the ops, types and attributes in a dialect file."""
    for op, line in own_records(records, "Op", name):
        check_op(name, line, op, findings)
        dialect = records[op["opDialect"]["def"]]["name"]
        check_constraints(name, line, f"'{dialect}.{op['opName']}' op", op["description"], expected, findings)
    for kind, sign in (("TypeDef", "!"), ("AttrDef", "#")):
        for record, line in own_records(records, kind, name):
            dialect = records[record["dialect"]["def"]]["name"]
            subject = f"'{sign}{dialect}.{record['mnemonic']}'"
            check_constraints(name, line, subject, record["description"] or "", expected, findings)


def kebab(name):
    """Converts FuseAttention to fuse-attention."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def check_pass(root, names, name, line, record, findings):
    """Checks that a pass has a description, statistics, and a single name everywhere."""
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
    expected = expected_errors(root, names)
    for name in names:
        if not name.endswith(".td"):
            continue
        records, message = read_records(root, name)
        if records is None:
            findings.error(name, 1, message)
            continue
        check_definitions(name, records, expected, findings)
        for record, line in own_records(records, "PassBase", name):
            check_pass(root, set(names), name, line, record, findings)
    findings.finish()


main()
