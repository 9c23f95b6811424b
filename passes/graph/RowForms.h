// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the values in a function that can be computed on ragged rows. A value
// that cannot is only a problem if a result needs it; then RowBlame names the
// operation that causes it.
#pragma once
#include "passes/Remarks.h"
#include "passes/graph/GraphSupport.h"
#include "llvm/ADT/DenseMap.h"

namespace transom {

/// How a value depends on the rows of a batch.
enum class RowForm {
  Fixed,  ///< does not depend on the length: weights, `[batch, d]`
  Rows,   ///< `[batch, seq, ...]`, each token by itself
  Table,  ///< a weight truncated to the length, equal for all sequences
  Opaque, ///< cannot be computed on rows
};

/// The operation that keeps padding in a value, and the reason. `obstacle` adds
/// the arguments `entry` and `operation`, which all reasons have.
struct RowBlame {
  mlir::Operation *op = nullptr;
  std::optional<RemarkReason> reason;
};

/// The forms of all values in a function, for one mask argument `[batch, seq]`.
class RowForms {
public:
  RowForms(mlir::func::FuncOp function, mlir::BlockArgument mask);

  RowForm of(mlir::Value value) const;
  /// The weight `[n, d]` that a `Table` is truncated from.
  mlir::Value getTable(mlir::Value value) const { return tables.lookup(value); }
  /// For a result that is set to zero at padding, the value before that; null
  /// for any other result.
  mlir::Value maskedResult(mlir::Value result) const;
  /// The mask of a row pool in addition to the padding mask; null if there is
  /// none.
  mlir::Value getMaskOnRows(attn::PoolOp op) const;
  /// The operation and reason that keep a result from rows; nullopt if all
  /// results work.
  std::optional<RowBlame> obstacle();
  /// True if any operation works on rows or pools them.
  bool hasRows() const { return sawRows; }
  /// True if column 0 of each sequence is read, masked or not.
  bool keepFirst() const { return firstReader != nullptr; }
  /// `[batch, seq, ...]` without the length in other dimensions.
  bool isRowsShape(llvm::ArrayRef<Polynomial> dims) const;

private:
  std::optional<RowBlame> getObstacle(mlir::Value result);

  /// The form of a result. An opaque form has no reason if an operand is
  /// opaque, since that operand is the cause.
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
  /// True if a key mask is the mask argument.
  bool isPaddingMask(mlir::Value keys) const;
  /// True for a mask that is false wherever the mask argument is false.
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
  RowBlame orderReader; // operation that cannot be combined with a first reader
};

} // namespace transom
