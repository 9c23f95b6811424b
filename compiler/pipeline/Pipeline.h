// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of each stage as one table: the only place that knows all passes.
#pragma once
#include "compiler/pipeline/StageTable.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/Error.h"
#include <optional>
#include <set>
#include <string>

namespace transom {

/// Who does products, softmax and norms.
enum class Backend { Native, OneDnn };

/// The backend of that name, `native` or `onednn`; nothing for another.
std::optional<Backend> parseBackend(llvm::StringRef name);

/// Options of the passes.
struct PipelineOptions {
  Backend backend = Backend::Native;
  /// Flags of passes to leave out.
  std::set<std::string> disabled;
  /// The instruction set of the stage `llvm-ir`.
  std::string isa = "avx2";
};

/// A pass of the table. A flag may be in several entries.
struct PassInfo {
  Stage stage;
  llvm::StringLiteral flag; ///< `attn-fuse-attention`
  bool required;            ///< later stages need its result
  std::unique_ptr<mlir::Pass> (*create)(const PipelineOptions &options);
  /// The only backend that runs the pass; nothing: both.
  std::optional<Backend> only = std::nullopt;
};

/// True when the pass is part of the pipeline with these options.
bool runsPass(const PassInfo &info, const PipelineOptions &options);

/// All passes, in order.
llvm::ArrayRef<PassInfo> getPasses();

/// Fails for a flag that no pass has or whose pass is required.
Result<void> checkDisabledPasses(const std::set<std::string> &flags);

/// Adds the passes of one stage that run with these options.
void populateStage(mlir::OpPassManager &manager, Stage stage,
                   const PipelineOptions &options);

} // namespace transom
