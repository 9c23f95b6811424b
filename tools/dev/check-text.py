#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks requirements for all text files in the tree: the licence banner in sources, READMEs in folders, no paths or hosts of individual
# machines.
import os
import re

from tree import Findings, list_files, parse_root, read_text

BANNER = "Part of the transom project, under the Apache License v2.0 with LLVM Exceptions."
SPDX = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
SOURCES = (".h", ".c", ".cpp", ".td")
README_LINES = 150
TALK_LINES = 500

# Architecture folders, each documented by its own README.
DOCUMENTED = [
    "runtime", "runtime/base", "runtime/json", "runtime/manifest", "runtime/artifact", "runtime/execute",
    "runtime/kvcache", "runtime/decode", "runtime/generate", "runtime/session", "runtime/text", "runtime/tokenizer", "runtime/api", "runtime/onednn",
    "runtime/abi", "dialects/common", "dialects/weights", "dialects/attn", "dialects/kern", "passes", "passes/graph", "passes/kernel",
    "passes/lower", "compiler/import", "compiler/import/huggingface", "compiler/import/graphjson", "compiler/import/tokenizer",
    "compiler/pipeline", "compiler/codegen", "compiler/artifact", "compiler/evaluator", "compiler/inspect", "compiler/explain",
    "compiler/verify", "compiler/driver", "compiler/api", "compiler/options", "compiler/stages", "compiler/calibrate", "compiler/statistics",
    "compiler/safetensors", "compiler/import/gguf", "compiler/import/huggingface/blocks", "compiler/import/huggingface/checkpoints",
    "compiler/import/huggingface/families", "compiler/import/huggingface/gliner", "compiler/import/huggingface/sentence_transformers",
    "compiler/import/tokenizer/classes", "compiler/import/tokenizer/regex", "tools", "tools/commands", "tools/commands/attention",
    "tools/commands/explain", "tools/commands/generate", "tools/commands/inspect", "tools/commands/text", "tools/commands/verify",
    "tools/dev", "test", "examples",
]

# Data, and texts by others.
EXEMPT = re.compile(r"^(LICENSE$|test/goldens/|docs/reference/)|\.(safetensors|golden|bin|jsonl)$")

# A path that exists on one machine only, and hosts other than publishers of cited text.
PRIVATE_PATH = re.compile(r"(?<![\w.$}/-])/(?:home|root|work|tmp|mnt|opt|srv|Users)/\w[^\s'\"`]*")
CLIMB = re.compile(r"(?<![\w/])(?:\.\./)+[A-Za-z]\w*")
URL = re.compile(r"(?:https?|ftp|file)://([^/\s'\"`)>\]]*)")
KNOWN_HOSTS = {
    "arxiv.org", "github.com", "huggingface.co", "json-schema.org", "llvm.org", "mlir.llvm.org", "spdx.org",
    "www.apache.org", "www.unicode.org", "www.w3.org", "unicode.org", "example.com",
}


def check_banner(name, lines, findings):
    """Checks that a source starts with two licence lines and the idea of the file."""
    head = lines[:5]
    if len(head) < 2 or BANNER not in head[0] or SPDX not in head[1]:
        findings.error(name, 1, "does not start with the licence banner")
    elif len(lines) < 4 or not lines[3].strip(" /*#"):
        findings.error(name, 4, "the banner does not tell the idea of the file")


def check_words(name, lines, findings):
    """Checks that there are no machine paths, no paths outside of the repository, and no unknown hosts."""
    for number, line in enumerate(lines, 1):
        path = PRIVATE_PATH.search(line)
        if path:
            findings.error(name, number, f"names a path of one machine: '{path.group()}'")
        for climb in CLIMB.findall(line):
            if climb.count("../") > name.count("/"):
                findings.error(name, number, f"names a path outside of the repository: '{climb}'")
        for host in URL.findall(line):
            if host not in KNOWN_HOSTS:
                findings.error(name, number, f"names the host '{host}', which is not among those that texts here cite")


def check_size(name, lines, findings):
    """Checks that READMEs are short; long sources should be discussed."""
    if os.path.basename(name) == "README.md" and len(lines) > README_LINES:
        findings.error(name, len(lines), f"a README has at most {README_LINES} lines, got {len(lines)}")
    if name.endswith(SOURCES + (".py",)) and len(lines) > TALK_LINES:
        findings.warn(name, len(lines), f"{len(lines)} lines; would a reader know where to look?")


def main():
    root = parse_root(__doc__)
    findings = Findings()
    names = list_files(root)
    for name in names:
        if EXEMPT.search(name):
            continue
        text = read_text(root, name)
        if text is None:
            continue
        lines = text.splitlines()
        if name.endswith(SOURCES):
            check_banner(name, lines, findings)
        check_words(name, lines, findings)
        check_size(name, lines, findings)
    folders = {os.path.dirname(name) for name in names if name.endswith(SOURCES + (".py",))}
    for folder in DOCUMENTED:
        if folder in folders and folder + "/README.md" not in names:
            findings.error(folder, 1, "the folder has no README.md")
    findings.finish()


main()
