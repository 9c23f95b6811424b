#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks that each source's test is at the same path below test/. For a/b/FuseThing.cpp it is test/a/b/FuseThingTest.cpp, fuse-thing.mlir,
# fuse-thing.test or test_fuse_thing.py, optionally with a suffix for the case (fuse-thing-masks.mlir). A folder's name may be omitted:
# dialects/attn/AttnOps.cpp has test/dialects/attn/ops.mlir. Sources without separate logic are listed in UNTESTED with the reason, parts of
# a larger unit in shared_tests.py with its test. --missing prints sources without a test.
import argparse
import os
import re
import sys

sys.dont_write_bytecode = True
from shared_tests import SHARED
from tree import Findings, list_files

PRODUCT = ("runtime/", "dialects/", "passes/", "compiler/", "tools/")
SOURCES = (".cpp", ".c")

# Sources that need no test under their name: a test would only repeat them, or other tests cover them.
UNTESTED = {
    "runtime/api/SharedLibrary.cpp": "nothing but the symbols that the library exports; test/runtime/include/exports compares them",
    "runtime/tokenizer/CompatibilityTables.cpp": "generated tables",
    "runtime/tokenizer/GraphemeTables.cpp": "generated tables",
    "runtime/tokenizer/UnicodeTables.cpp": "generated tables",
    "compiler/import/tokenizer/regex/RegexTables.cpp": "generated tables",
    "compiler/import/tokenizer/regex/UnicodeCategories.cpp": "generated tables",
    "compiler/api/CompileCertified.cpp": "test/tools/commands/verify/test_verify_model.py compiles with a certificate",
    "compiler/driver/PassPlugins.cpp": "needs a plug-in; test/install builds one and loads it",
    "compiler/pipeline/ToolOutput.cpp": "test/tools/transom-opt/output.test and test/tools/transom-reduce run it",
    "compiler/verify/VerifyArtifact.cpp": "compiles a model for an artifact; test/tools/commands/verify/test_verify_code.py runs it",
    "tools/transom/Main.cpp": "lists the commands; test/tools/commands/test_arguments.py runs it",
    "tools/transom-opt/Main.cpp": "registers dialects and passes; every lit test runs it",
    "compiler/import/huggingface/HuggingFaceHeads.cpp": "test/compiler/import/huggingface/HuggingFaceTest.cpp imports heads of all kinds",
    "compiler/verify/Certificate.cpp": "words; test/tools/commands/verify/test_verify_model.py prints them",
    "compiler/verify/CertificateJson.cpp": "test/tools/commands/verify/test_verify_model.py writes and reads certificates",
    "compiler/verify/CheckStages.cpp": "test/tools/commands/verify/test_verify_model.py runs transom-check on right and wrong stages",
    "compiler/verify/CompareLayers.cpp": "test/tools/commands/verify/test_verify_model.py compares layers with those of transformers",
    "compiler/verify/CutLayers.cpp": "test/tools/commands/verify/test_verify_model.py reads which layers stay",
    "compiler/verify/LayerErrors.cpp": "words; test/tools/commands/verify/test_verify_model.py prints them",
    "compiler/verify/VerifyCalls.cpp": "test/tools/commands/verify/test_verify_model.py checks all examples with its calls",
    "compiler/verify/VerifyModel.cpp": "test/tools/commands/verify/test_verify_model.py and test/install run it",
    "compiler/verify/VerifyingObserver.cpp": "test/tools/commands/verify/test_verify_model.py reads verdicts, progress and structures",
    "tools/commands/verify/PassProgress.cpp": "test/tools/commands/verify/test_verify_model.py reads the progress",
    "tools/commands/verify/BitsMatrix.cpp": "test/tools/commands/verify/test_verify.py reads the matrix",
    "tools/transom-check/Main.cpp": "flags; test/tools/commands/verify/test_verify_model.py runs it",
    "tools/transom-lsp-server/Main.cpp": "registers dialects; test/tools/transom-lsp-server runs it",
    "tools/transom-reduce/Main.cpp": "flags; test/tools/transom-reduce runs it",
    "tools/transom-reduce/Reducer.cpp": "test/tools/transom-reduce/reduce.mlir runs it",
}


def kebab(stem):
    """Converts FuseThing to fuse-thing, KvFile to kv-file."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", stem).lower()


def stems(source):
    """Returns the possible first parts of test names: the source's name, with and without the folder's name."""
    folder, name = os.path.split(source)
    stem = name.rsplit(".", 1)[0]
    prefix = os.path.basename(folder)
    found = [stem]
    if stem.lower().startswith(prefix) and len(stem) > len(prefix):
        found.append(stem[len(prefix):])
    return found


def is_test_of(test, source):
    """Returns whether a file in the mirrored folder is a test for the source, by its name."""
    for stem in stems(source):
        if re.fullmatch(rf"{stem}\w*Test\.(cpp|c)", test) and (test.startswith(stem + "Test") or test[len(stem)].isupper()):
            return True
        if re.fullmatch(rf"{kebab(stem)}(-[\w-]+)?\.(mlir|test)", test):
            return True
        if re.fullmatch(rf"test_{kebab(stem).replace('-', '_')}(_\w+)?\.py", test):
            return True
    return False


def shared_sources(test, names):
    """Returns the sources that shared_tests.py lists for a test, as paths in the tree."""
    folder = os.path.dirname(test).removeprefix("test/")
    return [os.path.normpath(os.path.join(folder, name)) for name in names]


def untested(names):
    """Returns product sources without a test under their name."""
    tests = {}
    for name in names:
        if name.startswith("test/"):
            folder, file = os.path.split(name.removeprefix("test/"))
            tests.setdefault(folder, []).append(file)
    for source in names:
        if source.startswith(PRODUCT) and source.endswith(SOURCES):
            if not any(is_test_of(test, source) for test in tests.get(os.path.dirname(source), ())):
                yield source


def missing(names):
    """Returns product sources whose test is not at the expected path."""
    shared = {source for test, (_, parts) in SHARED.items() if test in names for source in shared_sources(test, parts)}
    return [source for source in untested(names) if source not in UNTESTED and source not in shared]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--root", default=here, help="the tree to check")
    parser.add_argument("--missing", action="store_true", help="print the sources without a test of their name")
    options = parser.parse_args()
    names = list_files(options.root)
    if options.missing:
        print("\n".join(missing(names)))
        return
    findings = Findings()
    for source in missing(names):
        findings.error(source, 1, f"no test of this name in 'test/{os.path.dirname(source)}', and no reason in tools/dev/check-tests.py")
    for source in UNTESTED:
        if os.path.isdir(os.path.join(options.root, os.path.dirname(source))) and source not in names:
            findings.error("tools/dev/check-tests.py", 1, f"names '{source}', which does not exist")
    without = set(untested(names))
    for test, (_, parts) in SHARED.items():
        if test not in names and any(source in names for source in shared_sources(test, parts)):
            findings.warn("tools/dev/shared_tests.py", 1, f"names '{test}', which does not exist")
        for source in shared_sources(test, parts):
            if test in names and source not in names:
                findings.warn("tools/dev/shared_tests.py", 1, f"names '{source}', which does not exist")
            if source in names and source not in without:
                findings.error("tools/dev/shared_tests.py", 1, f"names '{source}', which has a test of its own")
    findings.finish()


main()
