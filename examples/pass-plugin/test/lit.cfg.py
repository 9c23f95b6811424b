# The lit tests of the plug-in. Parameters: the plug-in, the folder of transom's programs, a folder for outputs.
import os

import lit.formats

config.name = "tanh-gelu"
config.suffixes = [".mlir"]
config.test_format = lit.formats.ShTest(execute_external=True)
config.test_exec_root = lit_config.params["output"]
config.substitutions.append(("%plugin", lit_config.params["plugin"]))
config.environment["PATH"] = os.pathsep.join([lit_config.params["tools"], "/usr/lib/llvm-19/bin", os.environ["PATH"]])
