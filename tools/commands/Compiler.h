// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler is in a separate shared library, so that commands that only run
// models never load LLVM.
#pragma once
#include "compiler/api/CompilerApi.h"

namespace transom::tools {

/// Opens libtransom-compiler from the configured library folder, `../lib`, the
/// tool's folder, or the dynamic loader's search path. Fails if it is missing
/// or has another version.
Result<const CompilerApi *> openCompiler();

} // namespace transom::tools
