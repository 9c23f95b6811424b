// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The way from an imported model to code as one table: the stages, and the
// passes of each stage in their order. The one place that knows all passes.
#pragma once
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/Error.h"
#include <optional>
#include <set>
#include <string>

namespace transom {

/// The stages in their order. A stage's name is what `--emit` takes to stop
/// behind it.
enum class Stage { Import, Graph, Kernel, Lower, Assembly, Object, Library };

/// Who does products, softmax and norms.
enum class Backend { Native, OneDnn };

/// The backend of that name, `native` or `onednn`; nothing for another.
std::optional<Backend> backendByName(llvm::StringRef name);

/// What passes are told.
struct PipelineOptions {
  Backend backend = Backend::Native;
  /// Flags of passes to leave out.
  std::set<std::string> disabled;
};

/// A stage of the table.
struct StageInfo {
  Stage stage;
  llvm::StringLiteral name;        ///< of `--emit`: `attn-opt`
  llvm::StringLiteral description; ///< one line
};

/// A pass of the table. The same flag may stand in several lines.
struct PassInfo {
  Stage stage;
  llvm::StringLiteral flag; ///< `attn-fuse-attention`
  bool required;            ///< the stages behind need what it makes
  std::unique_ptr<mlir::Pass> (*create)(const PipelineOptions &options);
  /// The one backend that has the pass; nothing: both.
  std::optional<Backend> only = std::nullopt;
};

/// True when a pass of the table is part of the pipeline with these options.
bool runsPass(const PassInfo &info, const PipelineOptions &options);

/// All stages, in order.
llvm::ArrayRef<StageInfo> allStages();

/// All passes, in order.
llvm::ArrayRef<PassInfo> allPasses();

/// The stage of a name, or nothing.
std::optional<Stage> stageByName(llvm::StringRef name);

/// Fails for a flag that no pass has, or whose pass is required.
Result<void> checkDisabledPasses(const std::set<std::string> &flags);

/// Adds the passes of one stage that are not disabled.
void populateStage(mlir::OpPassManager &manager, Stage stage,
                   const PipelineOptions &options);

} // namespace transom
