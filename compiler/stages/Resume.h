// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Going on from a stage. Its file may have been edited or damaged: what is
// wrong with it is an error of the file, not of the compiler.
#pragma once
#include "compiler/stages/StageFiles.h"
#include "dialects/weights/WeightExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace transom {

/// Reads the module of a stage. `Rejected` with the file's line for text that
/// is no module of this version, for weights that the model's files do not
/// have, and for a kern module without a plan. `Usage` for other options.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
readStageModule(mlir::MLIRContext &context, const ResumedStage &resumed,
                const TensorSource &tensors, const CompileOptions &options);

/// Runs the compile of a stage. A text may keep all rules that are checked and
/// break one that no verifier knows: internal errors, a crash and fatal errors
/// of LLVM in this thread are `Rejected`, too.
Result<void> guardCompile(const std::string &path,
                          llvm::function_ref<Result<void>()> work);

} // namespace transom
