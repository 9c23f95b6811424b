// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a module of attn to a shared object: for the driver, after an
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

/// What a module's weights come from, and what its artifact holds besides.
struct ModuleSource {
  const TensorSource *tensors = nullptr;
  /// The stage that the module is of, with its code; null for an imported
  /// module.
  const ResumedStage *resumed = nullptr;
  /// Gets the stages; null for none.
  StageWriter *stages = nullptr;
  /// Gets the files, for a caller that commits them; null commits them when the
  /// module has been compiled.
  OutputSet *outputs = nullptr;
  /// Lets go of the pages of a file tensor; may be empty.
  std::function<void(const std::string &)> release;
  /// Adds to the plan what the module does not know; may be empty.
  std::function<Result<void>(ArtifactPlan &)> complete;
};

/// Makes the dialects and translations known that compiling needs.
void prepareContext(mlir::MLIRContext &context);

/// Compiles a module of the attn dialect until the stage of `options.emit`;
/// `options.model` is not looked at. The context is one of `prepareContext`.
/// With an observer, the stage `llvm-ir` ends in the LLVM dialect.
Result<CompileReport> compileModule(mlir::OwningOpRef<mlir::ModuleOp> module,
                                    const ModuleSource &source,
                                    const CompileOptions &options,
                                    CompileObserver *observer = nullptr);

/// The same with weights alone; `module` is not changed.
Result<CompileReport> compileModule(mlir::ModuleOp module,
                                    const TensorSource &source,
                                    const CompileOptions &options);

/// Imports a model as a compile with these options does, and hands its module
/// over, with what was found in its files and the options as the manifest has
/// them, which end at the stage `kern` and write nothing. A config.json without
/// weights has tensors of the shapes that it implies.
Result<void> withImportedModel(
    const CompileOptions &options,
    llvm::function_ref<Result<void>(mlir::OwningOpRef<mlir::ModuleOp>,
                                    const ImportInfo &, const CompileOptions &)>
        use);

} // namespace transom
