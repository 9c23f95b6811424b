// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Observes the modules between compile passes.
#pragma once
#include "compiler/driver/Compile.h"
#include "compiler/pipeline/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

struct ImportInfo;
struct InstructionSet;

/// Called during a compile, in its thread. Observers must not change the
/// modules, so the generated code is the same with and without them.
class CompileObserver {
public:
  virtual ~CompileObserver() = default;
  /// The imported module, before the first pass. `options.flags` are the flags
  /// that change the result, as in the manifest.
  virtual void imported(mlir::ModuleOp /*module*/, const ImportInfo & /*info*/,
                        const CompileOptions & /*options*/) {}
  /// The module before a pass; `isa` is the instruction set in the stage
  /// `llvm-ir`, else null.
  virtual void willRun(const PassInfo & /*pass*/, mlir::ModuleOp /*module*/,
                       const InstructionSet * /*isa*/) {}
  /// The module after a pass, verified in stages before `llvm-ir`.
  virtual void passed(const PassInfo &pass, mlir::ModuleOp module,
                      const InstructionSet *isa) = 0;
  /// The error from a pass after willRun(), and the model location if the pass
  /// reports one. The compile ends.
  virtual void failed(const PassInfo & /*pass*/,
                      std::optional<mlir::Location> /*location*/,
                      const InstructionSet * /*isa*/, const Error & /*error*/) {
  }
  /// The module after the importer or after a stage, read back from its text.
  virtual void finished(Stage /*stage*/, mlir::ModuleOp /*module*/) {}
};

/// Compiles a model up to `last`, or until its code is lowered to the LLVM
/// dialect, and passes each step to `observer`. Writes nothing. A config.json
/// without weights is compiled with tensors that have the shapes it implies.
Result<CompileReport> observeCompile(const CompileOptions &options,
                                     CompileObserver &observer,
                                     Stage last = Stage::LlvmIr);

} // namespace transom
