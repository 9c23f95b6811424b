// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimization remarks: what each pass did (passed) and what it did not do
// (missed), each with its location and a reason. All passes report to this
// listener. The remarks are an attribute of the module, so they survive writing
// and reading the module between stages.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include <string>
#include <vector>

namespace transom {

/// One remark of a pass.
struct Remark {
  enum Kind { Passed, Missed };

  /// The flag of the pass: `attn-fuse-attention`.
  std::string pass;
  /// The module path as `getModulePath` gives it; empty where it is unknown.
  std::string location;
  Kind kind = Passed;
  /// What was done, or the noun phrase that says why not.
  std::string reason;
};

/// Collects the remarks of one pass on one module and adds them to the module's
/// attribute in its destructor. As the listener of a rewrite driver, it turns
/// each `notifyMatchFailure` of a pattern into a missed remark:
///
///   Remarks remarks(module, "attn-fuse-attention");
///   GreedyRewriteConfig config;
///   config.listener = &remarks;
///   remarks.passed(op, "fused 5 operations into attn.sdpa");
///   remarks.missed(op, "scores have another user");
class Remarks : public mlir::RewriterBase::Listener {
public:
  /// The module's attribute: an array of dictionaries.
  static constexpr llvm::StringLiteral attributeName = "attn.remarks";

  Remarks(mlir::ModuleOp module, llvm::StringRef pass);
  ~Remarks() override;
  Remarks(const Remarks &) = delete;
  Remarks &operator=(const Remarks &) = delete;

  /// Records what was done at a location. A second remark with an equal
  /// location and reason is dropped.
  void passed(mlir::Location location, const llvm::Twine &what);
  void passed(mlir::Operation *op, const llvm::Twine &what) {
    passed(op->getLoc(), what);
  }
  /// Records why nothing was done at a location.
  void missed(mlir::Location location, const llvm::Twine &reason);
  void missed(mlir::Operation *op, const llvm::Twine &reason) {
    missed(op->getLoc(), reason);
  }

  /// Called by rewriters for a pattern that did not match.
  void notifyMatchFailure(
      mlir::Location location,
      llvm::function_ref<void(mlir::Diagnostic &)> reasonCallback) override;

  /// Adds the remarks since the last call to the module's attribute.
  void save();

  /// All remarks of a module, in the order in which they were made.
  static std::vector<Remark> readFrom(mlir::ModuleOp module);

private:
  void add(mlir::Location location, Remark::Kind kind, std::string reason);

  mlir::ModuleOp module;
  std::string pass;
  std::vector<Remark> collected;
};

} // namespace transom
