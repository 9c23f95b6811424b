// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference evaluator: runs an entry of a module in float64, operation by
// operation, by the definition of each. It is the oracle of tests and of the
// check after every pass; nothing in it is meant to be fast.
#pragma once
#include "compiler/evaluator/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/support/WeightExpr.h"
#include <functional>
#include <string>

namespace transom {

/// A tensor with the name that an entry knows it by.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// What an evaluation needs besides the module.
struct EvaluateOptions {
  /// Where weight expressions find file tensors; null: a model without files.
  const TensorSource *source = nullptr;
  /// Called with each tensor that an operation computes.
  std::function<void(mlir::Operation *, const Tensor &)> observe;
};

/// Runs `entry` on the inputs. Symbols are bound by the inputs' shapes; inputs
/// with a default may be left out. Errors name the entry, the input or the
/// place of the operation that failed.
Result<std::vector<NamedTensor>> evaluate(mlir::ModuleOp module,
                                          llvm::StringRef entry,
                                          llvm::ArrayRef<NamedTensor> inputs,
                                          const EvaluateOptions &options = {});

/// Attaches the evaluator's models to the operations of the dialects;
/// `evaluate` does it by itself.
void attachEvaluators(mlir::MLIRContext *context);

} // namespace transom
