# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the files that the tests of the command compile use."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "commands"))

from base import ALL_TARGETS, SOURCE, ToolTest, write_tensors  # noqa: E402, F401
from bert import BERT, CompileTest  # noqa: E402, F401
