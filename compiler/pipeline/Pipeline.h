// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes for each stage as one table: the only place that lists all passes.
#pragma once
#include "compiler/pipeline/StageTable.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/Error.h"
#include <optional>
#include <set>
#include <string>

namespace transom {

/// The implementation for GEMMs, softmax and norms.
enum class Backend { Native, OneDnn };

/// Returns the backend with that name, `native` or `onednn`, or nullopt.
std::optional<Backend> parseBackend(llvm::StringRef name);

/// Pass options.
struct PipelineOptions {
  Backend backend = Backend::Native;
  /// Flags for disabled passes.
  std::set<std::string> disabled;
  /// The instruction set for the stage `llvm-ir`.
  std::string isa = "avx2";
};

/// A pass in the table. Several entries may share a flag.
struct PassInfo {
  Stage stage;
  llvm::StringLiteral flag; ///< `attn-fuse-attention`
  bool required;            ///< later stages need its result
  std::unique_ptr<mlir::Pass> (*create)(const PipelineOptions &options);
  /// The only backend that runs the pass; nullopt: both.
  std::optional<Backend> only = std::nullopt;
};

/// Returns true if the pass is in the pipeline with these options.
bool runsPass(const PassInfo &info, const PipelineOptions &options);

/// All passes, in order.
llvm::ArrayRef<PassInfo> getPasses();

/// Fails for an unknown flag, and for a required pass.
Result<void> checkDisabledPasses(const std::set<std::string> &flags);

/// Adds the passes in one stage that run with these options.
void populateStage(mlir::OpPassManager &manager, Stage stage,
                   const PipelineOptions &options);

} // namespace transom
