// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognizes paths that lead to something else than a model: files of other
// formats, pointers and pages in place of a file, names of a model hub.
#pragma once
#include "runtime/base/Error.h"
#include <string>

namespace transom::tools {

/// True for a file that begins as GGUF does.
bool isGgufFile(const std::string &path);

/// True for a path that the compiler's importer reads: a folder, JSON or GGUF.
bool isModelSource(const std::string &path);

/// Returns an error that says what is at `path` and what to do, if it is known
/// to be no input of `compile`: neither a model folder nor a graph.json. Files
/// are recognized by their first bytes and names, nothing else is read.
Result<void> checkModelSource(const std::string &path);

/// The same for a path that should lead to a compiled model.
Result<void> checkModelArtifact(const std::string &path);

} // namespace transom::tools
