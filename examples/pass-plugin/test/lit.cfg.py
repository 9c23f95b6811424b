# The lit tests of the plug-ins. Parameters: their folder, the folder of transom's programs, a folder for outputs.
import os

import lit.formats

config.name = "pass-plugins"
config.suffixes = [".mlir"]
config.test_format = lit.formats.ShTest(execute_external=True)
config.test_exec_root = lit_config.params["output"]
config.substitutions.append(("%plugins", lit_config.params["plugins"]))
config.environment["PATH"] = os.pathsep.join([lit_config.params["tools"], "/usr/lib/llvm-19/bin", os.environ["PATH"]])
