# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds functions in C and C++ sources without a compiler: clang-format puts the closing brace in the column where the function
# begins.
import re

# Lines at the margin, or directly in a class, that start something other than a function.
NO_FUNCTION = re.compile(r"^(namespace|struct|class|enum|union|extern|typedef|public|private|protected|#|//|/\*|\}|template|using|friend)")
CLASS = re.compile(r"^(?:template <.*> )?(?:class|struct) .*\{$")


def functions(lines):
    """Yields (first line, its text, line count) for each function at the margin or directly in a class that is at the margin."""
    margin, start = "", None
    for number, line in enumerate(lines, 1):
        # Classes move the margin; anything else at the margin may start a function.
        if start is None and CLASS.match(line):
            margin = "  "
        elif margin and line.startswith("};"):
            margin, start = "", None
        elif start is None and line.startswith(margin) and line[len(margin):][:1].isalpha() and not NO_FUNCTION.match(line[len(margin):]):
            start = number
        if start is None:
            continue

        # A closing brace at the margin ends the function, a semicolon ends a declaration.
        head = "".join(lines[start - 1:number])
        if line.startswith(margin + "}") or line.endswith(("{}", "{};")) or (number == start and line.endswith("}")):
            if "(" in head.split("{")[0]:
                yield start, lines[start - 1].strip(), number - start + 1
            start = None
        elif line.endswith(";") and ("{" not in head or "= {" in head.split(")")[-1] or "(" not in head.split("{")[0]):
            start = None


def get_body(lines, start, count):
    """The lines between the braces, including the line that ends with the opening brace; [] for a function on one line."""
    function = lines[start - 1:start - 1 + count - 1]
    opening = next((i for i, line in enumerate(function) if line.endswith("{")), len(function))
    return function[opening:]


def has_paragraph_comment(body):
    """Whether a comment line follows a complete statement, a label, an opening brace or an empty line."""
    for previous, line in zip(body, body[1:]):
        before = re.sub(r"//.*", "", previous).strip()
        if line.lstrip().startswith(("//", "/*")) and (not previous.strip() or before.endswith((";", "{", "}", ":"))):
            return True
    return False
