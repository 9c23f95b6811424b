// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler, which lives in a shared library of its own, so that commands
// which only run models never load LLVM.
#pragma once
#include "compiler/driver/Compile.h"

namespace transom::tools {

/// Opens libtransom-compiler, which is in `../lib` or beside the tool, or
/// where the dynamic loader looks; an error when it is missing or of another
/// version.
Result<const CompilerApi *> openCompiler();

} // namespace transom::tools
