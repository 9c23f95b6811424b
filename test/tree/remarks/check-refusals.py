# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check-refusals.py SOURCE [--list]: no pass refuses silently. A site is an early exit in a function in passes/graph,
# passes/kernel or passes/lower that returns nothing: 'return failure()', 'return false', 'return nullptr', 'return {}',
# 'return std::nullopt', an empty value, or 'return' and 'continue' alone. A site is reported if
#
#   - a remark or an error precedes it in the same block, or it forwards a failure that was reported,
#   - its line has a comment with the reason why there is nothing to decide,
#   - refusals.txt lists its function, with the count of these sites and with the remarks that its callers report; or, after a
#     dash, with the reason why there is nothing to decide.
#
# A limit is a constant 'maxX' or 'kMaxX' in these passes; refusals.txt lists it in the same way. The lowering refuses little
# and chooses much: there any constant that starts with 'k' or 'max' is a limit, and each query for instruction set features,
# 'isa.dotBf16' or 'getIsa().tileVectors', is also a site.
import os
import re
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "tools/dev"))
import remark_table  # noqa: E402

FOLDERS = ("passes/graph", "passes/kernel", "passes/lower")
LOWER = "passes/lower/"
TABLE = "test/tree/remarks/refusals.txt"
COMMENT_OR_STRING = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'')
NAME = re.compile(r"(?:^|[\s*&>])((?:\w+::)*~?\w+)\s*\(")
STATEMENT = re.compile(r"\b(if|for|while|switch|else|namespace|struct|class|enum)\b")
SITE = re.compile(r"return(?: (?:failure\(\)|false|nullptr|std::nullopt|\{\}|[A-Z]\w+\(\)))?;|return [^;]*: (?:nullptr|std::nullopt|[A-Z]\w*\(\));|"
                  r"\bcontinue;")
TOLD = re.compile(r"report\w*\(|emit(?:Op)?Error\(")
GIVES_REASON = re.compile(r"RemarkReason|Refusal|RowBlame")
LIMIT = re.compile(r"constexpr [\w:]+ (k?[mM]ax\w+)\b")
LIMIT_OF_LOWERING = re.compile(r"constexpr [\w:]+ (k[A-Z]\w+|max[A-Z]\w+)\b")
# A name in the set is not a choice.
CHOICE_OF_LOWERING = re.compile(r"\b(?:isa|getIsa\(\))\.(?!name\b)\w+")


def blank(text):
    """Blanks comments and strings in the text, preserving the position of every other character."""
    return COMMENT_OR_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def get_name(head):
    """Returns the name of the function whose body starts after this text; None for other braces."""
    name = NAME.search(head)
    signature = head.split("(")[0]
    if not name or "[" in signature or "=" in signature or STATEMENT.search(head) or re.search(r"=\s*$|return\s", head):
        return None
    if not re.search(r"\)\s*((const|override|final|noexcept)\s*)*(:.*)?$", head, re.DOTALL):
        return None
    # A function that returns a reason has no name here.
    return "" if GIVES_REASON.search(signature) else name.group(1).split("::")[-1]


def find_functions(text):
    """Returns name, begin and end for each outermost function body. Functions that return a refusal reason have no name."""
    stack = []
    for brace in re.finditer(r"[{}]", text):
        if brace.group() == "{":
            start = max(text.rfind(c, 0, brace.start()) for c in ";{}") + 1
            inside = any(name is not None for name, _ in stack)
            stack.append((None if inside else get_name(text[start:brace.start()]), brace.start()))
            continue
        name, begin = stack.pop()
        if name:
            yield name, begin, brace.end()


def get_block(text, begin, at):
    """Returns the text before a position in its innermost block, without inner blocks."""
    depth, block = 0, []
    for char in reversed(text[begin:at]):
        if char == "{" and depth == 0:
            break
        depth += (char == "}") - (char == "{")
        if depth == 0:
            block.append(char)
    return "".join(reversed(block))


def is_told(text, begin, site, lines):
    """Returns whether a site reports, forwards a reported failure, or has a comment."""
    statement = text[max(text.rfind(c, 0, site.start()) for c in ";{}") + 1:site.end()]
    line = lines[text.count("\n", 0, site.end())]
    return bool("failed(" in statement or "RemarkReason" in statement or TOLD.search(get_block(text, begin, site.start()))
                or "//" in line)


def read_sources(root):
    for top in FOLDERS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith((".cpp", ".h")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as stream:
                        yield os.path.relpath(path, root), stream.read()


def find_sites(path, text, begin, end):
    """Returns the decision positions in a function."""
    yield from SITE.finditer(text, begin, end)
    if path.startswith(LOWER):
        yield from CHOICE_OF_LOWERING.finditer(text, begin, end)


def find_silent(root):
    """Returns the lines with silent sites by file and function, the lines with limits by file and constant, and the site count."""
    silent, sites = {}, 0
    for path, source in read_sources(root):
        text, lines = blank(source), source.split("\n")
        for name, begin, end in find_functions(text):
            for site in sorted(find_sites(path, text, begin, end), key=lambda match: match.start()):
                sites += 1
                if not is_told(text, begin, site, lines):
                    silent.setdefault((path, name), []).append(text.count("\n", 0, site.start()) + 1)
        for limit in (LIMIT_OF_LOWERING if path.startswith(LOWER) else LIMIT).finditer(text):
            silent[path, limit.group(1)] = [text.count("\n", 0, limit.start()) + 1]
    return silent, sites


def read_list(root):
    """Count and reason by file and name: 'name count: reasons' under the file's line."""
    entries, path = {}, None
    with open(os.path.join(root, TABLE), encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            entry = re.match(r"  (\w+)(?: (\d+))?: (.+)$", line)
            if entry:
                entries[path, entry.group(1)] = (int(entry.group(2) or 1), entry.group(3), number)
            elif line.strip() and not line.startswith("#"):
                path = line.strip()
    return entries


def check(root):
    silent, _ = find_silent(root)
    listed = read_list(root)
    known = {entry.id for entry in remark_table.read_table(root)}
    for (path, name), lines in silent.items():
        if (path, name) not in listed:
            yield (f"{path}:{lines[0]}: '{name}' refuses in silence; report a RemarkReason, or say in a comment on the line or in "
                   f"{TABLE} why there is nothing to decide")
            continue
        count, _, number = listed[path, name]
        if count != len(lines):
            yield (f"{TABLE}:{number}: '{name}' of {path} has {len(lines)} silent exits (lines {', '.join(map(str, lines))}), "
                   f"not {count}; does a remark tell about each?")
    for (path, name), (_, reason, number) in listed.items():
        if (path, name) not in silent:
            yield f"{TABLE}:{number}: '{name}' of {path} has no silent exit any more"
        if not reason.startswith("- "):
            for remark in reason.split():
                if remark not in known:
                    yield f"{TABLE}:{number}: '{remark}' is not in {remark_table.TABLE}"


def main():
    root = sys.argv[1]
    silent, sites = find_silent(root)
    if "--list" in sys.argv:
        for (path, name), lines in silent.items():
            print(f"{path} {name} {len(lines)}: {lines}")
    problems = list(check(root))
    print("\n".join(problems))
    print(f"{sites} early exits, {sum(map(len, silent.values()))} of them in {len(silent)} functions and limits of {TABLE}")
    sys.exit(1 if problems else 0)


main()
