# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Shared by the checks on the source tree: the file list, and findings printed as FILE:LINE: MESSAGE with a failing exit code.
import argparse
import os
import subprocess
import sys

# Folders without our sources, for a tree that git does not list.
SKIPPED = {".git", "build", ".cache", "__pycache__", ".whl"}


def list_files(root):
    """Returns the paths of the tree's files relative to root: git's list, or all files without git."""
    try:
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True
        ).stdout.decode()
        names = [name for name in listed.split("\0") if name]
        if names:
            return sorted(name for name in names if os.path.isfile(os.path.join(root, name)))
    except (OSError, subprocess.CalledProcessError):
        pass
    names = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED]
        names += [os.path.relpath(os.path.join(folder, name), root) for name in files]
    return sorted(names)


def read_text(root, name):
    """Returns the file's text, or None if it is not UTF-8."""
    try:
        with open(os.path.join(root, name), encoding="utf-8") as stream:
            return stream.read()
    except (UnicodeDecodeError, OSError):
        return None


def find_cycles(graph):
    """Yields the cycles in {node: successors}, each as a list that starts and ends with the same node."""
    done = set()

    def visit(node, path):
        if node in path:
            yield path[path.index(node):] + [node]
        elif node in graph and node not in done:
            for other in graph[node]:
                yield from visit(other, path + [node])
            done.add(node)

    for node in sorted(graph):
        yield from visit(node, [])


class Findings:
    """Collects the findings of a check."""

    def __init__(self):
        self.errors = []
        self.warnings = []

    def error(self, name, line, message):
        self.errors.append(f"{name}:{line}: {message}")

    def warn(self, name, line, message):
        self.warnings.append(f"{name}:{line}: warning: {message}")

    def finish(self):
        """Prints all findings and exits with 1 if there are errors."""
        for text in self.warnings + self.errors:
            print(text)
        sys.exit(1 if self.errors else 0)


def parse_root(description):
    """Parses the command line of a check: --root DIR, by default this repository."""
    parser = argparse.ArgumentParser(description=description)
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--root", default=here, help="the tree to check")
    return parser.parse_args().root
