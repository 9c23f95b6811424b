// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes did and what they refused, each with its place and a reason: the
// one listener that all passes report to. The record is an attribute of the
// module, so it survives writing and reading the module between stages.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include <string>
#include <vector>

namespace transom {

/// One thing that a pass did or refused to do.
struct Decision {
  enum Kind { Done, Refused };

  /// The flag of the pass: `attn-fuse-attention`.
  std::string pass;
  /// The module path as `placeOf` gives it; empty where it is unknown.
  std::string place;
  Kind kind = Done;
  /// What was done, or the noun phrase that says why not.
  std::string reason;
};

/// Collects the decisions of one pass on one module and adds them to the
/// module's attribute when it ends. Hand it to rewrite drivers as their
/// listener, then each `notifyMatchFailure` of a pattern is a refusal:
///
///   Decisions decisions(module, "attn-fuse-attention");
///   GreedyRewriteConfig config;
///   config.listener = &decisions;
///   decisions.done(op, "fused 5 operations into attn.sdpa");
///   decisions.refused(op, "scores have another user");
class Decisions : public mlir::RewriterBase::Listener {
public:
  /// The module's attribute: an array of dictionaries.
  static constexpr llvm::StringLiteral attributeName = "attn.decisions";

  Decisions(mlir::ModuleOp module, llvm::StringRef pass);
  ~Decisions() override;
  Decisions(const Decisions &) = delete;
  Decisions &operator=(const Decisions &) = delete;

  /// Records what was done at a place; a second entry with equal place and
  /// reason is dropped.
  void done(mlir::Location place, const llvm::Twine &what);
  void done(mlir::Operation *op, const llvm::Twine &what) {
    done(op->getLoc(), what);
  }
  /// Records why nothing was done at a place.
  void refused(mlir::Location place, const llvm::Twine &reason);
  void refused(mlir::Operation *op, const llvm::Twine &reason) {
    refused(op->getLoc(), reason);
  }

  /// Called by rewriters for a pattern that did not match.
  void notifyMatchFailure(
      mlir::Location place,
      llvm::function_ref<void(mlir::Diagnostic &)> reasonCallback) override;

  /// Adds what was collected since the last call to the module's attribute.
  void save();

  /// All decisions of a module, in the order in which they were made.
  static std::vector<Decision> of(mlir::ModuleOp module);

private:
  void add(mlir::Location place, Decision::Kind kind, std::string reason);

  mlir::ModuleOp module;
  std::string pass;
  std::vector<Decision> collected;
};

} // namespace transom
