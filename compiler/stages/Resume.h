// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resumes from a stage. Its file may be edited or damaged: errors name the
// file; they are not internal errors.
#pragma once
#include "compiler/stages/StageFiles.h"
#include "dialects/weights/WeightExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace transom {

/// Reads the module of a stage. Errors: `Rejected` with file and line for text
/// that is not a module in this version, for weights that are not in the
/// model's files, and for a kern module without a plan; `Usage` for different
/// options.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
readStageModule(mlir::MLIRContext &context, const ResumedStage &resumed,
                const TensorSource &tensors, const CompileOptions &options);

/// Runs the compile from a stage. A text may pass all checks and still break an
/// invariant that no verifier checks: internal errors, crashes and fatal LLVM
/// errors in this thread are also `Rejected`.
Result<void> guardCompile(const std::string &path,
                          llvm::function_ref<Result<void>()> work);

} // namespace transom
