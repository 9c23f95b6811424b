// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bugs of passes, planted in the IR that they leave: each kind finds all places
// of a module where it applies, and one of them is changed.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/e2e/random/RandomGraph.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace transom::testing {

/// One change that a module may get.
struct Edit {
  mlir::Operation *op = nullptr;
  /// What is changed: the same for all places where the same goes wrong.
  std::string what;
  /// Makes the change; gives the operation that took the place of `op`, null
  /// where it is gone.
  std::function<mlir::Operation *()> apply;
};

using Edits = std::vector<Edit>;

/// A kind of bug.
struct MutationKind {
  const char *name;
  /// Adds the changes of this kind. Operations without an influence on a result
  /// are left alone, and so is what an operation does not use.
  void (*collect)(mlir::ModuleOp module, const TensorSource &source,
                  Edits &edits);
};

/// All kinds.
llvm::ArrayRef<MutationKind> getMutationKinds();

/// A bug that is in a module now.
struct Planted {
  std::string what;
  mlir::Operation *op;       ///< null where it is gone
  std::string before, after; ///< text of the operation
};

/// Plants a bug; nothing where the module has no place for it. Operations of
/// different names and different changes are chosen evenly.
std::optional<Planted> plant(mlir::ModuleOp module, const MutationKind &kind,
                             const TensorSource &source, Random &random);

/// Sources of the kinds.
void swapOperands(mlir::ModuleOp, const TensorSource &, Edits &);
void takeOtherOperands(mlir::ModuleOp, const TensorSource &, Edits &);
void dropOperands(mlir::ModuleOp, const TensorSource &, Edits &);
void changeNumbers(mlir::ModuleOp, const TensorSource &, Edits &);
void flipFlags(mlir::ModuleOp, const TensorSource &, Edits &);
void changeWords(mlir::ModuleOp, const TensorSource &, Edits &);
void changeWeights(mlir::ModuleOp, const TensorSource &, Edits &);
void takeOtherWeights(mlir::ModuleOp, const TensorSource &, Edits &);
void changeLayers(mlir::ModuleOp, const TensorSource &, Edits &);
void changeOrder(mlir::ModuleOp, const TensorSource &, Edits &);
void eraseOperations(mlir::ModuleOp, const TensorSource &, Edits &);
void removeBarriers(mlir::ModuleOp, const TensorSource &, Edits &);
void changeRegions(mlir::ModuleOp, const TensorSource &, Edits &);
void changeOffsets(mlir::ModuleOp, const TensorSource &, Edits &);
void spoilCounters(mlir::ModuleOp, const TensorSource &, Edits &);

} // namespace transom::testing
