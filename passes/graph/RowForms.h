// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds out which values of a function can be computed on ragged rows. A value
// that cannot matters only if a result needs it; then its RowBlame names the
// operation that is the cause.
#pragma once
#include "passes/Remarks.h"
#include "passes/graph/GraphSupport.h"
#include "llvm/ADT/DenseMap.h"

namespace transom {

/// How a value depends on the rows of a batch.
enum class RowForm {
  Fixed,  ///< does not depend on the length: weights, `[batch, d]`
  Rows,   ///< `[batch, seq, ...]`, each token by itself
  Table,  ///< a weight cut to the length, the same for each sequence
  Opaque, ///< has no form on rows
};

/// The operation that keeps padding in a value, and why. The reason lacks the
/// arguments `entry` and `operation`, which all of them have.
struct RowBlame {
  mlir::Operation *op = nullptr;
  std::optional<RemarkReason> reason;
};

/// The forms of all values of one function, for one mask argument
/// `[batch, seq]`.
class RowForms {
public:
  RowForms(mlir::func::FuncOp function, mlir::BlockArgument mask);

  RowForm of(mlir::Value value) const;
  /// The weight `[n, d]` that a `Table` is cut from.
  mlir::Value getTable(mlir::Value value) const { return tables.lookup(value); }
  /// For a result that is set to zero at padding, what it is elsewhere; null
  /// for any other.
  mlir::Value maskedResult(mlir::Value result) const;
  /// The mask that a pool of rows has beside the one of padding, if any.
  mlir::Value getMaskOnRows(attn::PoolOp op) const;
  /// What keeps a result from rows, if anything.
  std::optional<RowBlame> obstacle();
  /// True when an operation of the results works on rows or pools them.
  bool hasRows() const { return sawRows; }
  /// True when column 0 is read from each sequence, masked or not.
  bool keepFirst() const { return firstReader != nullptr; }
  /// `[batch, seq, ...]` without a further length.
  bool isRowsShape(llvm::ArrayRef<Polynomial> dims) const;

private:
  std::optional<RowBlame> getObstacle(mlir::Value result);

  /// The form of a result. An opaque one has no reason where an operand is
  /// opaque, which is the cause then.
  struct Verdict {
    Verdict(RowForm form) : form(form) {}
    Verdict(RemarkId id, std::vector<RemarkArgument> args = {})
        : form(RowForm::Opaque), reason({id, std::move(args)}) {}

    RowForm form;
    std::optional<RemarkReason> reason;
  };

  void visit(mlir::Operation *op);
  Verdict classify(mlir::Operation *op);
  Verdict classifyFixed(mlir::Operation *op);
  Verdict classifyTokenwise(attn::TokenwiseOpInterface op);
  Verdict classifyElementwise(mlir::Operation *op);
  Verdict classifyRowwise(attn::RowwiseOpInterface op);
  Verdict classifyReshapeOfTable(attn::ReshapeOp op);
  Verdict classifySlice(attn::SliceOp op);
  Verdict classifyPool(attn::PoolOp op);
  Verdict classifyNeighbors(attn::NeighborsOp op);
  Verdict classifySdpa(attn::SdpaOp op);
  Verdict classifySdpaMask(attn::SdpaOp op);
  bool mentionsLength(llvm::ArrayRef<Polynomial> dims) const;
  /// True for a mask of keys that is the mask argument.
  bool isPaddingMask(mlir::Value keys) const;
  /// True for a mask that is false wherever the mask argument is.
  bool hidesPadding(mlir::Value keys) const;

  mlir::func::FuncOp function;
  mlir::BlockArgument mask;
  Polynomial batch, seq;
  std::string seqName;
  llvm::DenseMap<mlir::Value, RowForm> forms;
  llvm::DenseMap<mlir::Value, RowBlame> blames;
  llvm::DenseMap<mlir::Value, mlir::Value> tables;
  bool sawRows = false;
  mlir::Operation *firstReader = nullptr;
  RowBlame orderReader; // what does not go together with a first reader
};

} // namespace transom
