// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognizes paths that do not lead to a model: other file formats,
// placeholders for a file, model hub names.
#pragma once
#include "runtime/base/Error.h"
#include <string>

namespace transom::tools {

/// Returns true for a file with the GGUF magic.
bool isGgufFile(const std::string &path);

/// Returns true if the compiler's importer reads this kind of path: a folder,
/// JSON or GGUF.
bool isModelSource(const std::string &path);

/// Fails if `path` is known not to be an input for `compile`, that is, neither
/// a model folder nor a graph.json. The error describes the file and a remedy.
/// Only names and the first bytes are read.
Result<void> checkModelSource(const std::string &path);

/// Does the same for a path that should lead to a compiled model.
Result<void> checkModelArtifact(const std::string &path);

} // namespace transom::tools
