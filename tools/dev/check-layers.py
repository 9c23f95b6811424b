#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks that each folder includes only headers from its allowed layers, and that the folders in compiler/ include each other without
# cycles. The table below is the architecture's table; the row with the longest matching path prefix applies. 'mlir', 'llvm' and 'lld'
# stand for these projects' headers, 'c' restricts a row to the C standard headers in C_HEADERS.
import os
import re

from tree import Findings, find_cycles, list_files, parse_root, read_text

# Available to all parts: readers for files, sizes, errors, the manifest. No MLIR.
SUPPORT = ["runtime/base", "runtime/json", "runtime/manifest"]
# Also for the compiler and the tool: weight expressions and weight files. No MLIR, except in the weight dialect.
FILES = [*SUPPORT, "dialects/weights", "compiler/safetensors"]
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
    "runtime/base/OperandFormat": ["runtime/base", "runtime/abi/Layout"],
    "runtime/json": ["runtime/json", "runtime/base", "nlohmann"],
    "runtime/manifest": ["runtime/manifest", "runtime/json", "runtime/base", *ABI],
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
    # Expressions and codecs do not use MLIR, so that the tool can link them; the dialect attribute holds an expression.
    "dialects/weights": ["dialects/weights", "runtime/base", *LAYOUT],
    "dialects/weights/WeightsDialect": ["dialects/weights", *MLIR],
    "dialects/weights/Weights": ["dialects/weights", "runtime/base", *MLIR],
    "dialects": DIALECTS + FILES + LAYOUT + MLIR,
    "passes": ["passes/*", *DIALECTS, *FILES, *MLIR],
    "passes/graph": ["passes/graph", "passes/*", *DIALECTS, *FILES, *MLIR],
    "passes/kernel": ["passes/kernel", "passes/*", *DIALECTS, *FILES, *MLIR],
    "passes/kernel/MemoryPlanner": ["passes/kernel/MemoryPlanner", *FILES, *LAYOUT],
    "passes/lower": ["passes/lower", "passes/*", *DIALECTS, *FILES, *ABI, *MLIR],
    "compiler/import": ["compiler/import", *DIALECTS, *FILES, *MLIR],
    # Writes the tables that the runtime reads, with the runtime's own normalizer for added tokens, without MLIR.
    "compiler/import/tokenizer": ["compiler/import/tokenizer", "runtime/tokenizer", *FILES],
    # Reads the runtime's generation option table.
    "compiler/import/huggingface/GenerationOptionWriter": ["compiler/import", "runtime/generate/GenerationOptions", *FILES],
    "compiler/import/huggingface/GenerationSettings": ["compiler/import", "runtime/generate/GenerationOptions", *FILES],
    # Looks up tokens in the tables of an imported tokenizer.
    "compiler/import/huggingface/TextConfig": ["compiler/import", "runtime/tokenizer/Tokenizer", *FILES],
    "compiler/import/huggingface/sentence_transformers/PipelinePairs": ["compiler/import", "runtime/tokenizer/Tokenizer", *FILES],
    "compiler/pipeline": ["compiler/pipeline", "passes", *DIALECTS, *FILES, *MLIR],
    # Lowering ends at the llvm dialect; codegen starts with its translation to LLVM IR.
    "compiler/codegen": ["compiler/codegen", "runtime/base", "llvm", "mlir/IR", "mlir/Dialect/LLVMIR", "mlir/Target/LLVMIR"],
    "compiler/artifact": ["compiler/artifact", "compiler/codegen", "runtime/artifact/Digest", *DIALECTS, *FILES, *ABI, *MLIR, "lld"],
    "compiler/evaluator": ["compiler/evaluator", *DIALECTS, *FILES, *LAYOUT, *MLIR],
    "compiler/verify": ["compiler/verify", "compiler/evaluator", *DIALECTS, *FILES, *MLIR],
    # Machine code: the frame that phases run on, and a compile of the model.
    "compiler/verify/ArtifactStepper": ["runtime/abi", *SUPPORT],
    "compiler/verify/CodeVerification": [],
    "compiler/verify/CacheBytes": ["compiler/verify", "compiler/evaluator", *DIALECTS, *FILES, *ABI, *MLIR],
    "compiler/verify/MachineSnapshot": ["compiler/verify", "compiler/evaluator", *DIALECTS, *FILES, *ABI, *MLIR],
    "compiler/verify/VerifyArtifact": [
        "compiler/verify", "compiler/evaluator", "compiler/driver", "compiler/options", "compiler/import", "compiler/artifact/PlanArtifact",
        *DIALECTS, *FILES, *ABI, *MLIR,
    ],
    # Checks a compile; the rest of the folder links no passes.
    "compiler/verify/CutLayers": ["compiler/verify", "passes/graph/LayerRuns", *DIALECTS, *FILES, *MLIR],
    "compiler/verify/VerifyModel": [
        "compiler/verify", "compiler/driver", "compiler/options", "compiler/stages", "compiler/import", "compiler/pipeline", "passes/*",
        *DIALECTS, *FILES, *MLIR,
    ],
    "compiler/verify/VerifyingObserver": [
        "compiler/verify", "compiler/driver", "compiler/stages", "compiler/pipeline", "passes/*", *DIALECTS, *FILES, *MLIR,
    ],
    "compiler/verify/SameStructure": ["compiler/verify/SameStructure", "passes/*", *DIALECTS, *FILES, *MLIR],
    "compiler/verify/CompareLayers": [
        "compiler/verify", "compiler/evaluator", "compiler/driver", "compiler/import", *DIALECTS, *FILES, *MLIR,
    ],
    "compiler/verify/LayerErrors": ["compiler/verify/LayerErrors", *SUPPORT],
    # Results of a check, which the tool reads and prints without LLVM.
    "compiler/verify/Certificate": ["compiler/verify/Certificate", *SUPPORT],
    "compiler/verify/CertificateJson": ["compiler/verify/Certificate", *SUPPORT],
    "compiler/inspect": [
        "compiler/inspect", "compiler/driver", "compiler/options", "compiler/statistics", "compiler/artifact/PlanArtifact",
        "compiler/import", *DIALECTS, *FILES, *MLIR,
    ],
    # Model statistics that the tool reads without LLVM.
    "compiler/inspect/Inspection": ["compiler/inspect/ModelGraph", "compiler/options/CompileOptions", *SUPPORT],
    "compiler/inspect/ModelGraph": [],
    "compiler/explain": [
        "compiler/explain", "compiler/driver", "compiler/stages", "compiler/statistics", "compiler/inspect", "compiler/import",
        "compiler/artifact", "compiler/pipeline",
        "passes/*", *DIALECTS, *FILES, *ABI, *MLIR,
    ],
    # The explanation format, which the tool reads and writes without LLVM.
    "compiler/explain/Explanation": ["compiler/explain/Explanation", "compiler/options/CompileOptions", *SUPPORT],
    "compiler/explain/ExplanationFields": ["compiler/explain/Explanation"],
    "compiler/explain/ExplanationJson": [
        "compiler/explain/Explanation", "compiler/explain/ExplanationFields", "compiler/explain/ExplanationJson", *SUPPORT,
    ],
    "compiler/options": ["compiler/options", "compiler/import", "compiler/codegen", "compiler/pipeline", *DIALECTS, *FILES, *MLIR],
    # The tool reads these without LLVM.
    "compiler/options/CompileOptions": [
        "compiler/import/ScoringOptions", "compiler/import/tokenizer/Shortlist", "compiler/pipeline/StageTable", *SUPPORT,
    ],
    "compiler/stages": ["compiler/stages", "compiler/options", "compiler/codegen", *DIALECTS, *FILES, *MLIR],
    # Encodes the strings that it runs a model on.
    "compiler/calibrate": [
        "compiler/calibrate", "compiler/evaluator", "compiler/import", "runtime/tokenizer/Tokenizer", *DIALECTS, *FILES, *MLIR,
    ],
    "compiler/statistics": ["compiler/statistics", "compiler/import", *DIALECTS, *FILES, *MLIR],
    # The tool compiles it, too.
    "compiler/statistics/ModelFigures": ["compiler/statistics/ModelFigures", *SUPPORT],
    "compiler/driver": [
        "compiler/driver", "compiler/options", "compiler/stages", "compiler/calibrate", "compiler/statistics", "compiler/artifact",
        "compiler/codegen", "compiler/import", "compiler/pipeline", "passes/*", *DIALECTS, *FILES, *MLIR,
    ],
    # The top of the compiler: the only folder that may include all others.
    "compiler/api": ["compiler", *FILES],
    "compiler/safetensors": ["compiler/safetensors", "dialects/weights", "runtime/json", "runtime/base"],
    "tools": [
        "tools", *RUNTIME, *FILES, "compiler/api/CompilerApi", "compiler/driver/Compile", "compiler/options/CompileOptions",
        "compiler/explain/Explanation", "compiler/explain/ExplanationJson", "compiler/inspect/Inspection",
        "compiler/inspect/ModelGraph", "compiler/statistics/ModelFigures",
        "compiler/verify/ArtifactStepper", "compiler/verify/CodeVerification", "compiler/verify/Certificate",
        "compiler/verify/VerifyModel", "compiler/verify/LayerErrors", "CLI", "nlohmann",
    ],
    "tools/transom-opt": ["tools/transom-opt", *FILES, "compiler/pipeline", *MLIR],
    "tools/transom-reduce": ["tools/transom-reduce", *FILES, "compiler/pipeline", *MLIR],
    "tools/transom-check": ["tools/transom-check", "compiler/verify/Certificate", "compiler/verify/CheckStages", *FILES],
    "tools/transom-lsp-server": ["tools/transom-lsp-server", "compiler/pipeline", *MLIR],
    "examples": PUBLIC + ["examples"],
    "examples/pass-plugin": ["examples/pass-plugin", "passes/*", "compiler/pipeline", *DIALECTS, *FILES, *MLIR],
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


def compiler_folder(path):
    """compiler/driver for compiler/driver/Compile.h, None for other paths."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "compiler" and len(parts) > 2 else None


def check_cycles(includes, findings):
    """Reports each folder of the compiler that includes itself through others. `includes` is {folder: {other: (file, header)}}."""
    for cycle in find_cycles({folder: sorted(others) for folder, others in includes.items()}):
        file, header = includes[cycle[-2]][cycle[-1]]
        findings.error(file, 1, f"includes '{header}', which makes a cycle of folders: {' -> '.join(cycle)}")


def main():
    root = parse_root(__doc__)
    findings, includes = Findings(), {}
    for name in list_files(root):
        if not name.endswith(SOURCES):
            continue
        text = read_text(root, name)
        if text is None:
            continue
        check_file(name, text, findings)
        for match in filter(None, map(INCLUDE.match, text.splitlines() if compiler_folder(name) else ())):
            other = compiler_folder(match[2] or "")
            if other and other != compiler_folder(name):
                includes.setdefault(compiler_folder(name), {}).setdefault(other, (name, match[2]))
    check_cycles(includes, findings)
    findings.finish()


main()
