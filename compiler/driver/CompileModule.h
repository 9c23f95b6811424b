// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles an attn module to a shared object: for the driver, after an
// importer, and for tests that build modules.
#pragma once
#include "compiler/artifact/Artifact.h"
#include "compiler/driver/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace transom {

class CompileObserver;
class StageWriter;
struct ImportInfo;
struct ResumedStage;

/// The weight source for a module, and additional artifact contents.
struct ModuleSource {
  const TensorSource *tensors = nullptr;
  /// The module's stage, with its code; null for an imported module.
  const ResumedStage *resumed = nullptr;
  /// Receives the stages; may be null.
  StageWriter *stages = nullptr;
  /// Receives the files, for a caller that commits them; with null they are
  /// committed after the module is compiled.
  OutputSet *outputs = nullptr;
  /// Releases a file tensor's pages; may be empty.
  std::function<void(const std::string &)> release;
  /// Adds facts to the plan that are not in the module; may be empty.
  std::function<Result<void>(ArtifactPlan &)> complete;
};

/// Registers the dialects and translations for compilation.
void prepareContext(mlir::MLIRContext &context);

/// Compiles an attn module up to the stage `options.emit`; `options.model` is
/// ignored. The context must come from `prepareContext`. With an observer, the
/// stage `llvm-ir` ends in the LLVM dialect.
Result<CompileReport> compileModule(mlir::OwningOpRef<mlir::ModuleOp> module,
                                    const ModuleSource &source,
                                    const CompileOptions &options,
                                    CompileObserver *observer = nullptr);

/// Same as above, with weights only; `module` is not changed.
Result<CompileReport> compileModule(mlir::ModuleOp module,
                                    const TensorSource &source,
                                    const CompileOptions &options);

/// Imports a model in the same way as a compile with these options, and passes
/// on its module, the facts from its files, and the options as recorded in the
/// manifest, which end at the stage `kern` and write nothing. A config.json
/// without weights has tensors with the shapes that it implies.
Result<void> withImportedModel(
    const CompileOptions &options,
    llvm::function_ref<Result<void>(mlir::OwningOpRef<mlir::ModuleOp>,
                                    const ImportInfo &, const CompileOptions &)>
        use);

} // namespace transom
