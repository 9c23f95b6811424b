// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognizes attention written as primitive operations: the chain matmul,
// scale, mask, softmax, matmul. Rewrites nothing.
#pragma once
#include "passes/Remarks.h"
#include "passes/graph/GraphSupport.h"

namespace transom {

/// A matmul operand with heads, traced back through transposes and through
/// per-group copies of each head.
struct HeadOperand {
  /// `query`, `key` or `value`.
  llvm::StringLiteral name;
  /// The value at which the trace ends, `[batch, len, heads, d]` in any order,
  /// or without heads.
  mlir::Value base;
  /// The axes of `base` for batch, len, heads, d; without heads: batch, len, d.
  llvm::SmallVector<int64_t> order;
  /// `[batch, len, heads*d]` before the split into heads; null if there is no
  /// split.
  mlir::Value merged;
  Polynomial batch, length;
  int64_t heads = 1, width = 0; ///< width per head
  double scale = 1;             ///< combined constant factors
};

/// A mask between matmul and softmax.
struct MaskLink {
  enum Kind {
    Hides,     ///< a bool mask, hidden scores become minus infinity
    HidesWith, ///< a bool mask, hidden scores become `value`
    Adds,      ///< a float mask times `factor`
  };
  Kind kind = Adds;
  mlir::Value mask;
  bool inverted = false; ///< true hides
  double value = 0;
  double factor = 1;
};

/// The operations and operands of one attention.
struct AttentionMatch {
  attn::SoftmaxOp softmax;
  attn::MatmulOp scores, context;
  HeadOperand query{"query"}, key{"key"}, value{"value"};
  double scale = 1;
  double softCap = 0;      ///< c of c tanh(s / c), after the scale; 0: none
  double resultFactor = 1; ///< constant factors on probabilities and value
  /// From matmul to softmax, without causal masks.
  llvm::SmallVector<MaskLink> masks;
  bool causal = false; ///< hides the keys after each query
  /// Reasons why masks that resemble a causal mask remain masks.
  llvm::SmallVector<RemarkReason> keptTriangles;
  /// All operations from `scores` to `context`.
  llvm::SmallVector<mlir::Operation *> chain;
};

/// Matches the attention around a softmax, or gives the reason for the
/// mismatch.
class AttentionMatcher {
public:
  explicit AttentionMatcher(attn::SoftmaxOp softmax) {
    match.softmax = softmax;
  }

  mlir::LogicalResult run();
  const AttentionMatch &result() const { return match; }
  /// The reason for the mismatch, after a failure.
  const RemarkReason &getReason() const { return *reason; }
  /// The obstructing operation, or the softmax; after a failure.
  mlir::Operation *getObstacle() { return obstacle ? obstacle : match.softmax; }

private:
  mlir::LogicalResult fail(RemarkId id, std::vector<RemarkArgument> args,
                           mlir::Operation *op = nullptr);
  mlir::LogicalResult matchProbabilities();
  mlir::LogicalResult matchScores();
  mlir::LogicalResult matchLink(mlir::Operation *op, mlir::Value &scores,
                                double &factor);
  mlir::LogicalResult matchSoftCap(attn::ActivationOp op, mlir::Value &scores,
                                   double &factor);
  mlir::LogicalResult matchAdd(attn::AddOp op, mlir::Value &scores,
                               double factor);
  mlir::LogicalResult matchMask(mlir::Value mask, bool inverted, double value);
  mlir::LogicalResult matchWhere(attn::WhereOp op, mlir::Value &scores,
                                 double factor);
  mlir::LogicalResult matchOperands();
  mlir::LogicalResult matchHeads(mlir::Value operand, bool swapped,
                                 HeadOperand &heads);
  void matchCausalMask();
  bool isCausalMask(const MaskLink &link);
  mlir::LogicalResult checkMasks();

  AttentionMatch match;
  std::optional<RemarkReason> reason;
  mlir::Operation *obstacle = nullptr;
};

} // namespace transom
