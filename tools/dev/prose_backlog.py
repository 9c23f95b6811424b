# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The backlog of check-prose: prose that exceeds the budgets, and top-level folders with too many uncommented long functions.
import math
import os
import re

from prose_measures import UNCOMMENTED, share_uncommented

BACKLOG = "tools/dev/prose-backlog.txt"
UPDATE = "run 'tools/dev/check-prose --update-backlog' and commit the file"
HEADER = """\
# Exceptions from the budgets of check-prose, for prose that was written before the budgets. A line with a hash exempts a file
# with exactly this prose, under any name. A line 'functions FOLDER PERCENT' limits the long functions without paragraph comments.
# Lines are only ever removed and percentages only fall: 'tools/dev/check-prose --update-backlog' does both, after a merge, too.
"""


def round_up(share):
    without, total = share
    return math.ceil(100 * without / total)


class Backlog:
    """Hashes of exempt prose with their line numbers, and percentages by top-level folder."""

    def __init__(self, root):
        self.path = os.path.join(root, BACKLOG)
        self.hashes, self.functions, self.invalid = {}, {}, []
        if not os.path.exists(self.path):
            return

        # Lines that a merge left are reported, and removed by an update.
        with open(self.path, encoding="utf-8") as stream:
            for number, line in enumerate(stream.read().splitlines(), 1):
                entry = re.fullmatch(r"functions (\S+) (\d+)", line)
                if entry:
                    self.functions[entry.group(1)] = min(int(entry.group(2)), self.functions.get(entry.group(1), 100))
                elif re.fullmatch(r"[0-9a-f]{12}", line):
                    self.hashes[line] = number
                elif line and not line.startswith("#"):
                    self.invalid.append((number, line))

    def write(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        lines = [f"functions {folder} {percent}" for folder, percent in sorted(self.functions.items())]
        with open(self.path, "w", encoding="utf-8") as stream:
            stream.write(HEADER + "".join(line + "\n" for line in lines + sorted(self.hashes)))

    def check(self, files, findings):
        """Reports entries that match no file, and folders whose share has risen; returns the files without an exemption."""
        present = {file.hash for file in files}
        stale = [(number, entry) for entry, number in self.hashes.items() if entry not in present]
        if stale:
            number, entry = min(stale)
            findings.error(BACKLOG, number, f"hashes that match no file: {len(stale)}, first '{entry}'; {UPDATE}")
        for number, line in self.invalid:
            findings.error(BACKLOG, number, f"'{line}' is not an entry; {UPDATE}")

        # A share may be as high as the budget or the backlog allows.
        for folder, share in sorted(share_uncommented(files).items()):
            limit = self.functions.get(folder, UNCOMMENTED)
            if round_up(share) > limit:
                name, line = next((file.name, file.uncommented[0]) for file in files if file.uncommented and file.name.startswith(folder + "/"))
                findings.error(name, line, f"{share[0]} of {share[1]} functions in '{folder}' with bodies of 25 lines or more ({round_up(share)} %) have no"
                               f" comment that starts a paragraph, the limit is {limit} %; 'check-prose --changed' lists yours")
        return [file for file in files if file.hash not in self.hashes]

    def update(self, files):
        """Removes entries that nothing needs and lowers percentages; returns how many hashes it removed."""
        before, present, shares = len(self.hashes), {file.hash for file in files}, share_uncommented(files)
        self.hashes = {entry: number for entry, number in self.hashes.items() if entry in present}
        lowered = {folder: min(percent, round_up(shares[folder])) for folder, percent in self.functions.items() if folder in shares}
        self.functions = {folder: percent for folder, percent in lowered.items() if percent > UNCOMMENTED}
        self.write()
        return before - len(self.hashes)

    def start(self, files):
        """Fills an empty backlog. Small files do not depend on their folder here, so they can move later."""
        self.hashes = {file.hash: 0 for file in files if file.measure.exceeded()}
        self.functions = {folder: round_up(share) for folder, share in share_uncommented(files).items() if round_up(share) > UNCOMMENTED}
        self.write()
