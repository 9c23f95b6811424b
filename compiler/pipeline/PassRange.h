// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A range of pipeline passes, across stages: for tools that continue from a
// module as text.
#pragma once
#include "compiler/pipeline/Pipeline.h"

namespace transom {

/// Returns the name for an entry in `getPasses()`: its flag and, if the flag
/// has several entries, its position among them: `cse:2`.
std::string getPassName(const PassInfo &pass);

/// Returns the pass with that name. `Usage`, listing the supported names, for
/// an unknown name, and for a flag with several entries without a number.
Result<const PassInfo *> findPass(llvm::StringRef name);

/// Adds the passes from `first` to `last`, both included, that run with these
/// options. Null means the first or last pass in the pipeline. `Usage` if
/// `last` runs before `first`.
Result<void> populateRange(mlir::OpPassManager &manager, const PassInfo *first,
                           const PassInfo *last,
                           const PipelineOptions &options);

} // namespace transom
