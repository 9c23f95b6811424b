# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# parse-examples.py SOURCE TRANSOM_OPT: parses the example in the description of each op of the dialects. An example is a piece of
# a function; values that it uses but does not define get the types that the parser asks for.
import json
import os
import re
import subprocess
import sys

LLVM = "/usr/lib/llvm-19"
FENCE = re.compile(r"```mlir\n(.*?)```", re.DOTALL)
INLINE = re.compile(r"Example:\s*`([^`]+)`")
VALUE = re.compile(r"%[A-Za-z_][\w]*(?:#\d+)?")
WANTS = re.compile(r"use of value '(%[\w#]+)' expects different type than prior uses: '(.*?)' vs '(.*?)'\n")
VERIFIER = re.compile(r"error: '[\w.]+' op ")
TOP_LEVEL = re.compile(r"^\s*(?:func\.func|module|!\w+ =|\w+\.(?:weight|cache) @)", re.MULTILINE)


def op_descriptions(source):
    """(op, description) of all ops of the dialects."""
    for dialect in sorted(os.listdir(os.path.join(source, "dialects"))):
        path = os.path.join(source, "dialects", dialect, f"{dialect.capitalize()}Ops.td")
        if not os.path.exists(path):
            continue
        dump = subprocess.run([LLVM + "/bin/llvm-tblgen", "--dump-json", "-I", source, "-I", LLVM + "/include", path],
                              capture_output=True, text=True, check=True, cwd=source)
        records = json.loads(dump.stdout)
        for name in records["!instanceof"]["Op"]:
            if records[name]["opDialect"]["def"].lower().startswith(dialect):
                yield f"{dialect}.{records[name]['opName']}", records[name]["description"]


def make_module(example, types):
    """The example as a module. Definitions at the top stay there; the rest becomes the body of a function."""
    if TOP_LEVEL.search(example):
        return example
    lines = [f'  {name} = "test.value"() : () -> ({kind})' for name, kind in types.items()]
    return "func.func @example() {\n" + "\n".join(lines) + "\n" + example + '\n  "test.end"() : () -> ()\n}\n'


def undefined_values(example):
    """Names that the example uses and does not define, in order."""
    defined = set(re.findall(r"(%\w+)(?::\d+)?(?=[^=\n]*=[^=])", "\n".join(line.split("=")[0] + "=x" for line in example.splitlines() if re.match(r"\s*%[^(]*=", line))))
    defined |= set(re.findall(r"(%\w+)\s*:", example.split("{")[-1])) if "^bb" in example else set()
    return [name for name in dict.fromkeys(VALUE.findall(example)) if name.split("#")[0] not in defined]


def parse(tool, example):
    """What the parser says against the example, or None."""
    types = {name: "none" for name in undefined_values(example)}
    for _ in range(4 * len(types) + 4):
        flags = ["--allow-unregistered-dialect", "-o", os.devnull]
        done = subprocess.run([tool, *flags, "-"], input=make_module(example, types), capture_output=True, text=True)
        # A piece of a function may break rules that hold for the whole, such as symbols that exist: the verifier's errors.
        if done.returncode == 0 or VERIFIER.search(done.stderr):
            return None
        wanted = WANTS.search(done.stderr + "\n")
        if not wanted or wanted.group(1) not in types or types[wanted.group(1)] == wanted.group(2):
            return done.stderr.strip()
        types[wanted.group(1)] = wanted.group(2)
    return done.stderr.strip()


def main():
    source, tool = sys.argv[1:3]
    failed, parsed = 0, 0
    for op, description in op_descriptions(source):
        for example in FENCE.findall(description) + INLINE.findall(description):
            problem = parse(tool, example)
            parsed += problem is None
            if problem is not None:
                failed += 1
                print(f"{op}: {problem}\n")
    print(f"{parsed} examples parsed, {failed} failed")
    sys.exit(1 if failed or not parsed else 0)


main()
