# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Rewrites C++ sources so that one build contains many mutants, which an environment variable selects (mutants.h). Text is only inserted,
# without line breaks, so line numbers stay the same.
import bisect
import re

# Statements in guards that reject or omit something.
REFUSAL = re.compile(
    r"\s*\{?\s*(?:return\s+(?:\w+\.)?(?:fail|failure|notifyMatchFailure|refuse\w*|false|nullptr|std::nullopt|\{\}|\")"
    r"|return\s*;|continue\s*;)")
IF = re.compile(r"\bif \(")
UNGUARDED = re.compile(r"\breturn (?=(?:fail|failure)\()")
COMPARISON = re.compile(r" (<=|>=|==|!=|<|>)(?=[ \n])")
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
NAMES = {"<": "Lt", "<=": "Le", ">": "Gt", ">=": "Ge", "==": "Eq", "!=": "Ne"}
ONE = re.compile(r"(?<= [+-] )1(?![\w.'])")
# A declaration in place of a condition; and conditions that must be constant or are never evaluated.
DECLARATION = re.compile(r"\s*(?:const )?[\w:]+(?:<[^=]*>)?[ *&]+\w+\s*=[^=]", re.DOTALL)
CONSTANT = re.compile(r"\bconstexpr\b|\bstatic_assert\b|\btemplate\b|\boperator\b|^\s*#|^\s*case\b")
ASSERT = re.compile(r"\b(?:assert|LLVM_DEBUG)\(")


class Mutant:
    """One change to a source, at a text offset."""

    def __init__(self, path, line, kind, change, text):
        self.path, self.line, self.kind, self.change, self.text = path, line, kind, change, text
        self.number = 0

    def key(self):
        return f"{self.path} | {self.change} | {self.text}"

    def __str__(self):
        return f"{self.number} {self.path}:{self.line}: {self.kind}: {self.change}: {self.text}"


def hide_text(source):
    """Returns the source with comments, strings and characters blanked, with the same length."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)

    def blank(match):
        text = match.group(0)
        if text.startswith("'") and source[max(0, match.start() - 1)].isalnum():
            return text  # a digit separator
        mark = '"' if text[0] in '"R' else " "
        return mark + re.sub(r"[^\n]", " ", text[1:])
    return pattern.sub(blank, source)


def find_close(text, start):
    """Returns the offset of the parenthesis that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i
    return len(text)


def find_condition(text, start, end):
    """Returns the start of an `if` condition, after an init statement; None for a declaration."""
    depth = 0
    for i in range(start, end):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if text[i] == ";" and depth == 0:
            return i + 1
    return None if DECLARATION.match(text[start:end]) else start


class Rewriter:
    """All mutants of one source."""

    def __init__(self, path, source):
        self.path, self.source = path, source
        self.text = hide_text(source)
        self.starts = [0] + [i + 1 for i, c in enumerate(source) if c == "\n"]
        self.skipped = [(m.start(), find_close(self.text, m.end() - 1)) for m in ASSERT.finditer(self.text)]
        self.mutants = []  # (mutant, [(offset, text with {N})])
        self.guards()
        self.unguarded()
        self.comparisons()
        self.ones()
        self.mutants.sort(key=lambda m: m[1][0][0])

    def line_at(self, offset):
        return bisect.bisect_right(self.starts, offset)

    def may_change(self, offset):
        line = self.text[self.starts[self.line_at(offset) - 1]:].split("\n", 1)[0]
        return not CONSTANT.search(line) and not any(a <= offset <= b for a, b in self.skipped)

    def add(self, offset, kind, change, insertions):
        if not self.may_change(offset):
            return
        line = self.line_at(offset)
        text = " ".join(self.source.split("\n")[line - 1].split())
        self.mutants.append((Mutant(self.path, line, kind, change, text), insertions))

    def guards(self):
        self.guarded = set()
        for match in IF.finditer(self.text):
            end = find_close(self.text, match.end() - 1)
            refusal = REFUSAL.match(self.text, end + 1)
            if not refusal:
                continue
            start = find_condition(self.text, match.end(), end)
            if start is None:
                continue
            self.guarded.add(self.text.find("return", end))
            self.add(match.start(), "refusal", "never",
                     [(start, "transomRefuses({N}, static_cast<bool>("), (end, "))")])

    def unguarded(self):
        for match in UNGUARDED.finditer(self.text):
            if match.start() not in self.guarded:
                self.add(match.start(), "refusal", "success",
                         [(match.end(), "transomFails({N}) ? mlir::success() : ")])

    def comparisons(self):
        for match in COMPARISON.finditer(self.text):
            op = match.group(1)
            self.add(match.start(), "comparison", f"{op} to {OTHER[op]}",
                     [(match.end(), f" transomMutant{NAMES[op]}({{N}}) {op}")])

    def ones(self):
        for match in ONE.finditer(self.text):
            sign = self.text[match.start() - 2]
            self.add(match.start(), "one", f"{sign} 1 to {sign} 0",
                     [(match.start(), "transomOne({N}, "), (match.end(), ")")])

    def rewrite(self, dropped):
        """Returns the source with all mutants except the numbers in `dropped`."""
        insertions = [(offset, i, text.replace("{N}", str(mutant.number)))
                      for mutant, places in self.mutants if mutant.number not in dropped
                      for i, (offset, text) in enumerate(places)]
        result, done = [], 0
        # At equal offsets closing text comes before opening text.
        for offset, _, text in sorted(insertions, key=lambda x: (x[0], -x[1])):
            result += [self.source[done:offset], text]
            done = offset
        return "".join(result + [self.source[done:]])


def number(rewriters):
    """Numbers the mutants of several sources, starting at 1."""
    mutants = [mutant for rewriter in rewriters for mutant, _ in rewriter.mutants]
    equal = {}
    for i, mutant in enumerate(mutants, 1):
        mutant.number = i
        equal.setdefault(mutant.key(), []).append(mutant)
    for same in equal.values():
        for i, mutant in enumerate(same[1:], 2):
            mutant.change += f" #{i}"
    return mutants
