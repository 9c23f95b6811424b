# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The glossary test in check-prose: no file uses a word that docs/glossary.md retires, the glossary lists these words, and its
# links lead to files.
import os
import re

from retired_words import ALLOWED, CODE, FILES, HINTS, IDENTIFIERS, PROSE
from tree import list_files, read_text

GLOSSARY = "docs/glossary.md"
# Strings and comments of a line of code, also lines within a longer comment.
NOT_CODE = re.compile(r'"(?:[^"\\]|\\.)*"|//.*|/\*.*|^ \* .*')
SECTION = "\n## Retired words\n"
CODE_FILES = (".h", ".c", ".cpp", ".td", ".def")
TEXT_FILES = CODE_FILES + (".md", ".py", ".mlir", ".test", ".txt", ".cmake", ".sh", ".json")
# Foreign data and texts, generated pages, and the file that lists the words.
EXEMPT = re.compile(r"^(test/goldens/|docs/reference/|docs/migration\.md$|examples/.*\.(json|safetensors)$|test/e2e/configs\.json$"
                    r"|tools/dev/(retired_words\.py)$)|Unicode(Tables|Categories)\.cpp$")


def is_text(name):
    """Whether a file is checked: sources, pages and scripts."""
    return not EXEMPT.search(name) and (name.endswith(TEXT_FILES) or "." not in os.path.basename(name))


def get_hint(word):
    """Letters that every match contains; a search for them first is four times as fast."""
    return HINTS.get(word, word).lower()


def occurrences(root):
    """Yields (word, term, file, line number, text) for each retired word."""
    code = [(word, term, get_hint(word), re.compile(pattern)) for word, pattern, term in CODE]
    prose = [(word, term, get_hint(word), re.compile(pattern, re.IGNORECASE)) for word, pattern, term in PROSE]
    for name in list_files(root):
        if os.path.basename(name) in FILES:
            yield os.path.basename(name), FILES[os.path.basename(name)], name, 1, name
        text = read_text(root, name) if is_text(name) else None
        if text is None:
            continue
        # The glossary's last section names the words to retire them.
        if name == GLOSSARY:
            text = text.split(SECTION)[0]
        is_code = name.endswith(CODE_FILES + (".md", ".mlir", ".test"))
        lines, lower = text.splitlines(), text.lower()
        for word, term, hint, pattern in code + prose if is_code else prose:
            if hint not in lower or name.startswith(ALLOWED.get(word, ())):
                continue
            if word in IDENTIFIERS and not name.endswith(CODE_FILES):
                continue
            for number, line in enumerate(lines, 1):
                searched = NOT_CODE.sub("", line) if word in IDENTIFIERS else line
                found = hint in line.lower() and pattern.search(searched)
                if found:
                    yield word, term, name, number, found.group()


def check_links(root, findings):
    """Checks that each relative link leads to a file or folder."""
    text = read_text(root, GLOSSARY)
    for number, line in enumerate((text or "").splitlines(), 1):
        for target in re.findall(r"\]\(([^)#:]+)\)", line):
            if not os.path.exists(os.path.join(root, os.path.dirname(GLOSSARY), target)):
                findings.error(GLOSSARY, number, f"links to '{target}', which does not exist")


def get_table():
    """Returns the table of retired words."""
    lines = ["| retired | term |", "|---|---|"]
    lines += [f"| {word} | {term} |" for word, _, term in CODE + PROSE]
    return "\n".join(lines + [f"| `{name}` | {term} |" for name, term in FILES.items()])


def check_table(root, findings):
    """Checks that the glossary lists the rejected words."""
    text = read_text(root, GLOSSARY)
    if text is not None and text.split(SECTION)[-1].strip() != get_table():
        findings.error(GLOSSARY, text.count("\n"), "the list of retired words differs from 'check-prose --glossary'")


def check(root, findings):
    """Reports retired words, dead links in the glossary and a table that differs."""
    for _, term, name, number, found in occurrences(root):
        findings.error(name, number, f"'{found}' is retired; the glossary's term is: {term}")
    check_links(root, findings)
    check_table(root, findings)
