// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sees the modules of a compile as the passes leave them.
#pragma once
#include "compiler/driver/Compile.h"
#include "compiler/pipeline/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

struct ImportInfo;
struct InstructionSet;

/// Is called while a compile runs, in its thread. An observer leaves the
/// modules as they are, so the compile makes the same code with it as without
/// it.
class CompileObserver {
public:
  virtual ~CompileObserver() = default;
  /// The imported module, before the first pass. `options.flags` are those that
  /// change the result, as the manifest lists them.
  virtual void imported(mlir::ModuleOp /*module*/, const ImportInfo & /*info*/,
                        const CompileOptions & /*options*/) {}
  /// The module before a pass; `isa` is the instruction set of a pass of the
  /// stage `llvm-ir`, else null.
  virtual void willRun(const PassInfo & /*pass*/, mlir::ModuleOp /*module*/,
                       const InstructionSet * /*isa*/) {}
  /// The module after a pass, verified before the stage `llvm-ir`.
  virtual void passed(const PassInfo &pass, mlir::ModuleOp module,
                      const InstructionSet *isa) = 0;
  /// The error of a pass after willRun(), and where in the model it is, if the
  /// pass says so. The compile ends.
  virtual void failed(const PassInfo & /*pass*/,
                      std::optional<mlir::Location> /*location*/,
                      const InstructionSet * /*isa*/, const Error & /*error*/) {
  }
  /// The module that the importer or all passes of a stage have left, read back
  /// from its text.
  virtual void finished(Stage /*stage*/, mlir::ModuleOp /*module*/) {}
};

/// Compiles a model up to `last`, or until its code is lowered to the LLVM
/// dialect, and shows `observer` each step. Writes nothing. A config.json
/// without weights is compiled with tensors of the shapes that it implies.
Result<CompileReport> observeCompile(const CompileOptions &options,
                                     CompileObserver &observer,
                                     Stage last = Stage::LlvmIr);

} // namespace transom
