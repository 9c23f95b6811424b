// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers for the attn shape rules: operands as sizes and element type, and
// checks shared by many rules. Private to the dialect.
#pragma once
#include "dialects/attn/Attn.h"

namespace transom::attn::rules {

/// Error callback for rules: an error on the operation.
using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;
/// The result types of a rule.
using Types = mlir::FailureOr<llvm::SmallVector<mlir::Type>>;

/// An operand's sizes and element type.
struct Shaped {
  explicit Shaped(mlir::Value value);

  int64_t rank() const { return dims.size(); }
  /// The last size; the rank is at least 1.
  const Polynomial &last() const { return dims.back(); }
  bool isBool() const { return element.isInteger(1); }
  bool isI64() const { return element.isInteger(64); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(element); }
  /// True if no size is a symbol.
  bool isStatic() const;

  llvm::SmallVector<Polynomial> dims;
  mlir::Type element;
};

/// `[batch, seq, 64]`.
std::string text(llvm::ArrayRef<Polynomial> dims);
/// `f32 [batch, seq, 64]`.
std::string text(const Shaped &shaped);

/// `; reshape it to [batch, 1, seq, seq]` if added sizes of 1 make `dims`
/// broadcast to the target; otherwise empty.
std::string suggestReshape(llvm::ArrayRef<Polynomial> dims,
                           llvm::ArrayRef<Polynomial> target);

/// One result with these sizes.
inline Types oneResult(llvm::ArrayRef<Polynomial> dims, mlir::Type element) {
  return llvm::SmallVector<mlir::Type>{getTensorType(dims, element)};
}

/// Begins an error that names a numbered constraint in the operation's
/// description.
inline mlir::InFlightDiagnostic violated(EmitError emitError, int constraint) {
  mlir::InFlightDiagnostic error = emitError();
  error << "(" << constraint << ") ";
  return error;
}

/// Fails, naming the operand, unless it is float and has at least this rank.
mlir::LogicalResult expectFloat(const Shaped &shaped, llvm::StringRef name,
                                int64_t minRank, EmitError emitError,
                                int constraint);
/// Fails unless the operand is i64.
mlir::LogicalResult expectI64(const Shaped &shaped, llvm::StringRef name,
                              EmitError emitError, int constraint);
/// Fails unless both have the same element type.
mlir::LogicalResult expectOneElement(const Shaped &a, const Shaped &b,
                                     llvm::StringRef nameA,
                                     llvm::StringRef nameB, EmitError emitError,
                                     int constraint);
/// Fails unless the operand is a vector with this size and element type.
mlir::LogicalResult expectVector(const Shaped &shaped, llvm::StringRef name,
                                 const Polynomial &size, mlir::Type element,
                                 EmitError emitError, int constraint);

} // namespace transom::attn::rules
