// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of the pipeline, from one pass to another, across stages: for tools
// that continue from the text of a module.
#pragma once
#include "compiler/pipeline/Pipeline.h"

namespace transom {

/// The name of a pass of `getPasses()`: its flag, and where the flag has
/// several entries, which one: `cse:2`.
std::string getPassName(const PassInfo &pass);

/// The pass of that name. `Usage` with what is supported for an unknown name,
/// and for a flag with several entries without a number.
Result<const PassInfo *> findPass(llvm::StringRef name);

/// Adds the passes from `first` to `last`, both included, that run with these
/// options. Null means the first and the last of the pipeline. `Usage` when
/// `last` runs before `first`.
Result<void> populateRange(mlir::OpPassManager &manager, const PassInfo *first,
                           const PassInfo *last,
                           const PipelineOptions &options);

} // namespace transom
