# The lit tests: each RUN line's tools run under a time limit and a memory limit.
import os
import sys

import lit.formats

if not hasattr(config, "transom_source"):
    lit_config.fatal("run lit on the build's test folder, as ctest does")

config.name = "transom"
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "inputs", "goldens", "CMakeLists.txt"]
config.test_format = lit.formats.ShTest(execute_external=True)
config.test_source_root = os.path.join(config.transom_source, "test")
config.test_exec_root = os.path.join(config.transom_binary, "test")

limit = "timeout 400 "
if not config.sanitize:
    limit += os.path.join(config.test_source_root, "limited") + " " + config.memory_mb + " "
for tool in ("transom-opt", "transom-reduce", "transom-lsp-server", "transom"):
    path = os.path.join(config.transom_binary, "bin", tool)
    # A separate token: not a part of a path, a flag or a longer name.
    config.substitutions.append((r"(?<![-\w./%])" + tool + r"(?![-\w./])", limit + path))
config.substitutions.append(("%source", config.transom_source))
config.substitutions.append(("%python", sys.executable))

path = [config.llvm_tools, os.path.join(config.transom_binary, "bin"), os.environ["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
config.environment["NO_COLOR"] = "1"
config.environment["FILECHECK_OPTS"] = "--dump-input=fail"
if "TRANSOM_FORCE_ISA" in os.environ:
    config.environment["TRANSOM_FORCE_ISA"] = os.environ["TRANSOM_FORCE_ISA"]
