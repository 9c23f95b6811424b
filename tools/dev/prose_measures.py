# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Measures prose against the budgets of check-prose, and finds long functions without paragraph comments.
import hashlib
import os
import re
from collections import defaultdict, namedtuple

from cpp_functions import functions, get_body, has_paragraph_comment
from prose_text import WORD, extract, get_words
from tree import read_text

Budget = namedtuple("Budget", "words limit unit pattern")
BUDGETS = (Budget("of", 25, "per mille", re.compile(r"\bof\b", re.IGNORECASE)),
           Budget("what", 1.5, "per mille", re.compile(r"\bwhat\b", re.IGNORECASE)),
           Budget("those of", 1, "per 100 lines", re.compile(r"\b(?:those|that) of\b", re.IGNORECASE)))
UNCOMMENTED = 25    # percent, in a top-level folder
SMALL = 200         # words; smaller files are measured together with their folder
LONG_BODY = 25      # lines
SENTENCE_END = re.compile(r"(?<=[.!?;:]) ")


class Measure:
    """Counts for one file, or for several files together."""

    def __init__(self, words=0, of=0, what=0, those_of=0, lines=0):
        self.words, self.of, self.what, self.those_of, self.lines = words, of, what, those_of, lines

    def __add__(self, other):
        return Measure(*(a + b for a, b in zip(self.counts(), other.counts())))

    def counts(self):
        return self.words, self.of, self.what, self.those_of, self.lines

    def rates(self, least_words=1):
        """Returns the rates in the units that the budgets have; at least `least_words` words count."""
        words = max(self.words, least_words)
        return 1000 * self.of / words, 1000 * self.what / words, 100 * self.those_of / max(self.lines, 1)

    def exceeded(self, least_words=1):
        """Returns the positions in BUDGETS whose budget is exceeded."""
        return {i for i, rate in enumerate(self.rates(least_words)) if rate > BUDGETS[i].limit}


class File:
    """Prose and long functions in one file."""

    def __init__(self, name, text):
        self.name = name
        self.blocks = extract(name, text) or []
        words = [get_words(join(block)) for block in self.blocks]
        flat = [word for block in words for word in block]
        those_of = sum(len(BUDGETS[2].pattern.findall(join(block))) for block in self.blocks)
        self.measure = Measure(len(flat), flat.count("of"), flat.count("what"), those_of, text.count("\n") + 1 if flat else 0)

        # Block order, line breaks and identifiers do not change the hash.
        prose = "\n".join(sorted(" ".join(block) for block in words if block))
        self.hash = hashlib.sha256(prose.encode()).hexdigest()[:12]
        lines = text.split("\n") if name.endswith((".cpp", ".c", ".h")) else []
        bodies = [(line, get_body(lines, line, count)) for line, _, count in functions(lines)]
        long = [(line, body) for line, body in bodies if len(body) - 1 >= LONG_BODY]
        self.long_functions = len(long)
        self.uncommented = [line for line, body in long if not has_paragraph_comment(body)]

    def sentences(self):
        """(line, sentence) for each sentence."""
        for block in self.blocks:
            text, position = join(block), 0
            starts = []
            for line, part in block:
                starts.append((position, line))
                position += len(part) + 1
            position = 0
            for sentence in SENTENCE_END.split(text):
                yield max(start for start in starts if start[0] <= position)[1], sentence
                position += len(sentence) + 1

    def locate(self, pattern):
        """(count, line, first sentence) for each line where matching sentences start, most matches first."""
        found = {}
        for line, sentence in self.sentences():
            count = len(pattern.findall(sentence))
            if count:
                before, first = found.get(line, (0, sentence))
                found[line] = before + count, first
        return sorted(((count, line, first) for line, (count, first) in found.items()), key=lambda entry: (-entry[0], entry[1]))


def join(block):
    return " ".join(part for _, part in block)


def read_files(root, names):
    """The measured files among `names`; files without prose are included if they have long functions."""
    files = []
    for name in names:
        text = read_text(root, name) if is_source(name) else None
        if text is not None:
            files.append(File(name, text))
    return [file for file in files if file.measure.words or file.long_functions]


def is_source(name):
    """Whether a file may have prose; large data files are not read."""
    return not name.endswith((".json", ".safetensors", ".bin", ".model", ".golden", ".jsonl", ".png", ".gguf", ".map", ".spm"))


def add(measures):
    return sum(measures, Measure())


def group_files(files):
    """Returns lists of files that are measured together: single large files, and the small files in each folder."""
    folders = defaultdict(list)
    for file in files:
        small = file.measure.words < SMALL
        folders[(os.path.dirname(file.name), "" if small else file.name)].append(file)
    return list(folders.values())


def find_failures(files):
    """Yields (file, its group's measure, exceeded budgets) if file and group exceed the same budget.
    Small groups count as SMALL words."""
    for group in group_files(files):
        total = add(file.measure for file in group)
        for file in group:
            exceeded = file.measure.exceeded() & total.exceeded(SMALL)
            if exceeded:
                yield file, total, exceeded


def describe(rate):
    return f"{rate:.1f}".removesuffix(".0")


def find_errors(file, total, exceeded):
    """Yields (line, message) for each exceeded budget, with the lines where to look."""
    for index in sorted(exceeded):
        budget, rate, together = BUDGETS[index], file.measure.rates()[index], ""
        if file.measure.words < SMALL:
            together = f" ({describe(total.rates(SMALL)[index])} with the small files in its folder)"
        worst = file.locate(budget.pattern)
        lines = ", ".join(f"{line} ({count})" if count > 1 else f"{line}" for count, line, _ in worst[:6])
        sentence = worst[0][2] if len(worst[0][2]) < 100 else worst[0][2][:97] + "..."
        yield worst[0][1], (f"'{budget.words}' is {describe(rate)} {budget.unit} in {file.measure.words} words{together}, "
                            f"the budget is {describe(budget.limit)}; most in lines {lines}: \"{sentence}\"")


def share_uncommented(files):
    """{top-level folder: (long functions without paragraph comments, all long functions)}."""
    shares = defaultdict(lambda: (0, 0))
    for file in files:
        if file.long_functions and "/" in file.name:
            without, total = shares[file.name.split("/")[0]]
            shares[file.name.split("/")[0]] = without + len(file.uncommented), total + file.long_functions
    return dict(shares)
