#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks that each folder includes only headers from its allowed layers. The table below is the architecture's table; the row with the
# longest matching path prefix applies. 'mlir', 'llvm' and 'lld' stand for these projects' headers, 'c' restricts a row to the C standard
# headers in C_HEADERS.
import os
import re

from tree import Findings, list_files, parse_root, read_text

# Available to all parts: readers for files, sizes, errors, the manifest. No MLIR.
SUPPORT = ["runtime/base", "runtime/json", "runtime/safetensors", "runtime/weights", "runtime/manifest"]
ABI = ["runtime/abi"]
LAYOUT = ["runtime/abi/Layout", "runtime/abi/RowSummary"]
DIALECTS = ["dialects"]
MLIR = ["mlir", "llvm"]
PUBLIC = ["transom"]
RUNTIME = ["runtime"] + PUBLIC
HEADERS = ["runtime/include", *PUBLIC]

LAYERS = {
    "runtime/abi": ABI + ["c"],
    "runtime/include": PUBLIC + ["c"],
    "runtime/base": ["runtime/base"],
    "runtime/json": ["runtime/json", "runtime/base", "nlohmann"],
    "runtime/weights": ["runtime/weights", "runtime/base", *ABI],
    "runtime/safetensors": ["runtime/safetensors", "runtime/weights", "runtime/json", "runtime/base"],
    "runtime/manifest": ["runtime/manifest", "runtime/weights", "runtime/json", "runtime/base", *ABI],
    "runtime/tokenizer": ["runtime/tokenizer", *SUPPORT],
    # The runtime from the bottom to the top; a folder may include earlier ones.
    "runtime/artifact": ["runtime/artifact", *ABI, *SUPPORT],
    "runtime/execute": ["runtime/execute", "runtime/artifact", "runtime/onednn/OneDnn", *HEADERS, *ABI, *SUPPORT],
    "runtime/kvcache": ["runtime/kvcache", *HEADERS, *ABI, *SUPPORT],
    "runtime/decode": ["runtime/decode", "runtime/kvcache", "runtime/execute", *HEADERS, *ABI, *SUPPORT],
    "runtime/generate": ["runtime/generate", "runtime/tokenizer", *HEADERS, *ABI, *SUPPORT],
    "runtime/session": [
        "runtime/session", "runtime/generate", "runtime/decode", "runtime/kvcache", "runtime/execute", "runtime/tokenizer", *HEADERS,
        *ABI, *SUPPORT,
    ],
    "runtime/text": ["runtime/text", "runtime/session", "runtime/execute", "runtime/tokenizer", *HEADERS, *SUPPORT],
    "runtime/api": ["runtime/api", "runtime/text", "runtime/session", "runtime/generate", "runtime/execute", *HEADERS, *SUPPORT],
    "runtime": RUNTIME + SUPPORT + ABI,
    # Shims: separate libraries, which the runtime opens.
    "runtime/onednn": ["runtime/onednn", *ABI, "oneapi"],
    "runtime/onednn/OneDnn": ["runtime/onednn/OneDnn", "runtime/execute/Formula", *HEADERS, *ABI, *SUPPORT],
    "dialects/common": ["dialects/common", "runtime/base", *MLIR],
    "dialects": DIALECTS + SUPPORT + LAYOUT + MLIR,
    "passes": ["passes/*", *DIALECTS, *SUPPORT, *MLIR],
    "passes/graph": ["passes/graph", "passes/*", *DIALECTS, *SUPPORT, *MLIR],
    "passes/kernel": ["passes/kernel", "passes/*", *DIALECTS, *SUPPORT, *MLIR],
    "passes/kernel/MemoryPlanner": ["passes/kernel/MemoryPlanner", *SUPPORT, *LAYOUT],
    "passes/lower": ["passes/lower", "passes/*", *DIALECTS, *SUPPORT, *ABI, *MLIR],
    "compiler/import": ["compiler/import", *DIALECTS, *SUPPORT, *MLIR],
    # Writes the tables that the runtime reads, with the runtime's own normalizer for added tokens, without MLIR.
    "compiler/import/tokenizer": ["compiler/import/tokenizer", "runtime/tokenizer", *SUPPORT],
    # Reads the options in the runtime's table of generation options.
    "compiler/import/huggingface/GenerationOptionWriter": ["compiler/import", "runtime/generate/GenerationOptions", *SUPPORT],
    "compiler/import/huggingface/GenerationSettings": ["compiler/import", "runtime/generate/GenerationOptions", *SUPPORT],
    # Looks up tokens in the tables of an imported tokenizer.
    "compiler/import/huggingface/TextConfig": ["compiler/import", "runtime/tokenizer/Tokenizer", *SUPPORT],
    "compiler/import/huggingface/PipelinePairs": ["compiler/import", "runtime/tokenizer/Tokenizer", *SUPPORT],
    "compiler/pipeline": ["compiler/pipeline", "passes", *DIALECTS, *SUPPORT, *MLIR],
    # Lowering ends at the llvm dialect; codegen starts with its translation to LLVM IR.
    "compiler/codegen": ["compiler/codegen", "runtime/base", "llvm", "mlir/IR", "mlir/Dialect/LLVMIR", "mlir/Target/LLVMIR"],
    "compiler/artifact": ["compiler/artifact", "compiler/codegen", "runtime/artifact/Digest", *DIALECTS, *SUPPORT, *ABI, *MLIR, "lld"],
    "compiler/evaluator": ["compiler/evaluator", *DIALECTS, *SUPPORT, *LAYOUT, *MLIR],
    "compiler/verify": ["compiler/verify", "compiler/evaluator", *DIALECTS, *SUPPORT, *MLIR],
    # Machine code: the frame that phases run on, and a compile of the model.
    "compiler/verify/ArtifactStepper": ["runtime/abi", *SUPPORT],
    "compiler/verify/CodeVerification": [],
    "compiler/verify/CacheBytes": ["compiler/verify", "compiler/evaluator", *DIALECTS, *SUPPORT, *ABI, *MLIR],
    "compiler/verify/MachineSnapshot": ["compiler/verify", "compiler/evaluator", *DIALECTS, *SUPPORT, *ABI, *MLIR],
    "compiler/verify/VerifyArtifact": [
        "compiler/verify", "compiler/evaluator", "compiler/driver", "compiler/import", "compiler/artifact/PlanArtifact",
        *DIALECTS, *SUPPORT, *ABI, *MLIR,
    ],
    # Checks a compile; the rest of the folder links no passes.
    "compiler/verify/CutLayers": ["compiler/verify", "passes/graph/LayerRuns", *DIALECTS, *SUPPORT, *MLIR],
    "compiler/verify/VerifyModel": [
        "compiler/verify", "compiler/driver", "compiler/import", "compiler/pipeline", "passes/*", *DIALECTS, *SUPPORT, *MLIR,
    ],
    "compiler/verify/VerifyingObserver": [
        "compiler/verify", "compiler/driver", "compiler/pipeline", "passes/*", *DIALECTS, *SUPPORT, *MLIR,
    ],
    "compiler/verify/SameStructure": ["compiler/verify/SameStructure", "passes/*", *DIALECTS, *SUPPORT, *MLIR],
    "compiler/verify/CompareLayers": [
        "compiler/verify", "compiler/evaluator", "compiler/driver", "compiler/import", *DIALECTS, *SUPPORT, *MLIR,
    ],
    "compiler/verify/LayerErrors": ["compiler/verify/LayerErrors", *SUPPORT],
    # Results of a check, which the tool reads and prints without LLVM.
    "compiler/verify/Certificate": ["compiler/verify/Certificate", *SUPPORT],
    "compiler/verify/CertificateJson": ["compiler/verify/Certificate", *SUPPORT],
    "compiler/inspect": [
        "compiler/inspect", "compiler/driver", "compiler/artifact/PlanArtifact", "compiler/import", *DIALECTS, *SUPPORT, *MLIR,
    ],
    # Model statistics that the tool reads without LLVM.
    "compiler/inspect/Inspection": ["compiler/inspect/ModelGraph", "compiler/driver/Compile", *SUPPORT],
    "compiler/inspect/ModelGraph": [],
    "compiler/inspect/ModelFigures": ["compiler/inspect/ModelFigures", *SUPPORT],
    "compiler/explain": [
        "compiler/explain", "compiler/driver", "compiler/inspect", "compiler/import", "compiler/artifact", "compiler/pipeline",
        "passes/*", *DIALECTS, *SUPPORT, *ABI, *MLIR,
    ],
    # The explanation format, which the tool reads and writes without LLVM.
    "compiler/explain/Explanation": ["compiler/explain/Explanation", "compiler/driver/Compile", *SUPPORT],
    "compiler/explain/ExplanationFields": ["compiler/explain/Explanation"],
    "compiler/explain/ExplanationJson": [
        "compiler/explain/Explanation", "compiler/explain/ExplanationFields", "compiler/explain/ExplanationJson", *SUPPORT,
    ],
    # Encodes the texts on which it runs a model.
    "compiler/driver/Calibrate": [
        "compiler/driver", "compiler/evaluator", "compiler/import", "runtime/tokenizer/Tokenizer", *DIALECTS, *SUPPORT, *MLIR,
    ],
    "compiler/driver": [
        "compiler", "passes/*", *DIALECTS, *SUPPORT, *MLIR,
    ],
    "tools": [
        "tools", *RUNTIME, *SUPPORT, "compiler/driver", "compiler/explain/Explanation", "compiler/explain/ExplanationJson",
        "compiler/inspect/Inspection", "compiler/inspect/ModelFigures", "compiler/inspect/ModelGraph",
        "compiler/verify/ArtifactStepper", "compiler/verify/CodeVerification", "compiler/verify/Certificate",
        "compiler/verify/VerifyModel", "compiler/verify/LayerErrors", "CLI", "nlohmann",
    ],
    "tools/transom-opt": ["tools/transom-opt", *SUPPORT, "compiler/pipeline", *MLIR],
    "tools/transom-reduce": ["tools/transom-reduce", *SUPPORT, "compiler/pipeline", *MLIR],
    "tools/transom-check": ["tools/transom-check", "compiler/verify/Certificate", "compiler/verify/CheckStages", *SUPPORT],
    "tools/transom-lsp-server": ["tools/transom-lsp-server", "compiler/pipeline", *MLIR],
    "examples": PUBLIC + ["examples"],
    "examples/pass-plugin": ["examples/pass-plugin", "passes/*", "compiler/pipeline", *DIALECTS, *SUPPORT, *MLIR],
    "cmake": MLIR,
    "test": ["*"],
}

# External headers that a row must name to use them; all other <...> headers are system headers.
OUTSIDE = {"mlir", "mlir-c", "llvm", "llvm-c", "lld", "clang", "nlohmann", "CLI", "gtest", "dnnl", "oneapi", "omp.h"}
C_HEADERS = {"stddef.h", "stdint.h", "stdbool.h"}
SOURCES = (".h", ".hpp", ".c", ".cpp", ".inc", ".td")
INCLUDE = re.compile(r'^\s*(?:#\s*include|include)\s*(?:<([^>]+)>|"([^"]+)")')


def layer_of(name):
    """Returns the table row for a path, or None."""
    rows = [row for row in LAYERS if name == row or name.startswith(row + "/") or name.startswith(row + ".")]
    return max(rows, key=len, default=None)


def is_allowed(header, allowed):
    """Returns whether a root-relative or external header is under an allowed prefix."""
    for prefix in allowed:
        if prefix == "*" or header == prefix or header.startswith((prefix + "/", prefix + ".")):
            return True
        # 'passes/*' stands for the files directly in that folder.
        if prefix.endswith("/*") and os.path.dirname(header) == prefix[:-2]:
            return True
    return False


def check_file(name, text, findings):
    """Reports each include in a file that its row does not allow."""
    row = layer_of(name)
    if row is None:
        findings.error(name, 1, "no layer names this folder; add a row to tools/dev/check-layers.py")
        return
    allowed = LAYERS[row]
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        system, quoted = match.groups()
        header = system or quoted
        if "InitAllDialects" in header or "InitAllPasses" in header:
            findings.error(name, number, f"'{header}' registers everything and takes 40 s to compile; include what is used")
        elif header.split("/")[0] in OUTSIDE:
            if not is_allowed(header, allowed):
                findings.error(name, number, f"'{row}' may not include '{header}'")
        elif system:
            if "c" in allowed and not system.startswith("transom/") and system not in C_HEADERS:
                findings.error(name, number, f"'{row}' may include C headers only, got '{header}'")
        elif "/" not in header or header.startswith("."):
            findings.error(name, number, f"'{header}' is not relative to the root")
        elif not is_allowed(header, allowed):
            findings.error(name, number, f"'{row}' may not include '{header}'")


def main():
    root = parse_root(__doc__)
    findings = Findings()
    for name in list_files(root):
        if name.endswith(SOURCES):
            text = read_text(root, name)
            if text is not None:
                check_file(name, text, findings)
    findings.finish()


main()
