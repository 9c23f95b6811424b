# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Reads passes/RemarkTable.def and its included files.
import collections
import os
import re

TABLE = "passes/RemarkTable.def"
Entry = collections.namedtuple("Entry", "file id kind category name text help")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


def read_file(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as stream:
        return stream.read()


def parse_entry(name, body):
    """Returns the fields in 'ID, Kind, "category", "name", "text", "help"'; strings may be concatenated from several literals."""
    head = re.match(r"\s*(\w+),\s*(\w+),", body)
    fields, field = [], ""
    rest = body[head.end():]
    for part in re.finditer(STRING.pattern + r"|(,)", rest):
        if part.group(2):
            fields.append(field)
            field = ""
        else:
            field += part.group(1).replace('\\"', '"')
    return Entry(name, head.group(1), head.group(2), *fields, field)


def find_entries(name, text):
    for start in re.finditer(r"^REMARK\(", text, re.MULTILINE):
        at = start.end()
        while text[at] != ")":
            string = STRING.match(text, at)
            at = string.end() if string else at + 1
        yield parse_entry(name, text[start.end():at])


def read_table(root):
    """Returns all entries in table order."""
    entries = []
    for included in re.findall(r'#include "(passes/[^"]+)"', read_file(root, TABLE)):
        entries += find_entries(included, COMMENT.sub("", read_file(root, included)))
    return entries
