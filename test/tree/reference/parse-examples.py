# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# parse-examples.py SOURCE TRANSOM_OPT: parses the examples in the descriptions for dialect ops, types and attributes, and for
# passes. An op example is a function fragment; values that it uses but does not define get the types that the parser reports. A
# pass example has one such fragment before the line '// becomes' and one after it.
import json
import os
import re
import subprocess
import sys

LLVM = "/usr/lib/llvm-19"
FENCE = re.compile(r"```mlir\n(.*?)```", re.DOTALL)
PARAGRAPH = re.compile(r"Example:\s*(`.*?)(?:\n\s*\n|\Z)", re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
VALUE = re.compile(r"%\w+(?:#\d+)?")
BLOCK = re.compile(r"\^bb\d+\(([^)]*)\)")
WANTS = re.compile(r"use of value '(%[\w#]+)' expects different type than prior uses: '(.*?)' vs '(.*?)'\n")
VERIFIER = re.compile(r"error: '[\w.]+' op ")
TOP_LEVEL = re.compile(r"^\s*(?:func\.func|module|!\w+ =|\w+\.(?:weight|cache) @)", re.MULTILINE)


def read_records(source, path):
    """Returns all records in a .td file and its includes."""
    dump = subprocess.run([LLVM + "/bin/llvm-tblgen", "--dump-json", "-I", source, "-I", LLVM + "/include", path],
                          capture_output=True, text=True, check=True, cwd=source)
    return json.loads(dump.stdout)


def examples(description):
    """Returns the examples in a description: fenced blocks, or code within the paragraph that starts with 'Example:'."""
    fenced = FENCE.findall(description)
    paragraph = PARAGRAPH.search(description)
    return fenced if fenced or not paragraph else INLINE.findall(" ".join(paragraph.group(1).split()))


def dialect_examples(source):
    """Returns (name, example) for all dialect ops, types and attributes."""
    for dialect in sorted(os.listdir(os.path.join(source, "dialects"))):
        paths = [os.path.join(source, "dialects", dialect, f"{dialect.capitalize()}{kind}.td") for kind in ("Ops", "Dialect")]
        path = next((path for path in paths if os.path.exists(path)), None)
        if not path:
            continue
        records = read_records(source, path)
        for kind, sign, field in (("Op", "", "opDialect"), ("TypeDef", "!", "dialect"), ("AttrDef", "#", "dialect")):
            for name in records["!instanceof"].get(kind, []):
                record = records[name]
                owner = records[record[field]["def"]]["name"]
                if dialect.startswith(owner):
                    for example in examples(record["description"] or ""):
                        yield f"{sign}{owner}.{record['opName' if kind == 'Op' else 'mnemonic']}", example


def pass_examples(source):
    """Returns (name, example) for all passes: the fragment before the pass, and the fragment after it."""
    for folder in sorted(os.listdir(os.path.join(source, "passes"))):
        path = os.path.join(source, "passes", folder, "Passes.td")
        if not os.path.exists(path):
            continue
        records = read_records(source, path)
        for name in records["!instanceof"].get("PassBase", []):
            for example in examples(records[name]["description"]):
                for part in example.split("// becomes\n"):
                    yield records[name]["argument"], part


def make_module(example, types):
    """Wraps the example in a module. Top-level definitions stay there; a type or an attribute is attached to an operation; the
    rest becomes a function body."""
    if TOP_LEVEL.search(example):
        return example
    if example.startswith(("!", "tensor<")):
        return f'"test.type"() : () -> {example}'
    if example.startswith("#"):
        return f'"test.attribute"() {{value = {example}}} : () -> ()'
    lines = [f'  {name} = "test.value"() : () -> ({kind})' for name, kind in types.items()]
    return "func.func @example() {\n" + "\n".join(lines) + "\n" + example + '\n  "test.end"() : () -> ()\n}\n'


def undefined_values(example):
    """Names that the example uses and does not define, in order."""
    defined = set(re.findall(r"(%\w+)(?::\d+)?(?=[^=\n]*=[^=])", "\n".join(line.split("=")[0] + "=x" for line in example.splitlines() if re.match(r"\s*%[^(]*=", line))))
    for arguments in BLOCK.findall(example):
        defined |= set(re.findall(r"%\w+", arguments))
    return [name for name in dict.fromkeys(VALUE.findall(example)) if name.split("#")[0] not in defined]


def parse(tool, example):
    """Returns the parser's error for the example, or None."""
    types = {name: "none" for name in undefined_values(example)}
    for _ in range(4 * len(types) + 4):
        flags = ["--allow-unregistered-dialect", "-o", os.devnull]
        done = subprocess.run([tool, *flags, "-"], input=make_module(example, types), capture_output=True, text=True)
        # A function fragment may break rules for complete modules, such as existing symbols: the verifier's errors.
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
    for name, example in [*dialect_examples(source), *pass_examples(source)]:
        problem = parse(tool, example)
        parsed += problem is None
        if problem is not None:
            failed += 1
            print(f"{name}: {problem}\n")
    print(f"{parsed} examples parsed, {failed} failed")
    sys.exit(1 if failed or not parsed else 0)


main()
