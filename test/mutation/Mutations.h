// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass bugs, planted in the IR after a pass: each kind finds all locations in a
// module where it applies, and one location is changed.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/e2e/random/RandomGraph.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace transom::testing {

/// One possible change to a module.
struct Edit {
  mlir::Operation *op = nullptr;
  /// The changed entity: the same for all locations with the same fault.
  std::string what;
  /// Makes the change; returns the operation that replaced `op`, or null if it
  /// is gone.
  std::function<mlir::Operation *()> apply;
};

using Edits = std::vector<Edit>;

/// A bug kind.
struct MutationKind {
  const char *name;
  /// Adds the changes for this kind. Operations without an influence on a
  /// result and values that an operation does not use are left alone.
  void (*collect)(mlir::ModuleOp module, const TensorSource &source,
                  Edits &edits);
};

/// All kinds.
llvm::ArrayRef<MutationKind> getMutationKinds();

/// A bug that is in a module now.
struct Planted {
  std::string what;
  mlir::Operation *op;       ///< null if it is gone
  std::string before, after; ///< the operation as a string
};

/// Plants a bug; returns nothing if the module has no location for it.
/// Operations with different names and different changes are chosen evenly.
std::optional<Planted> plant(mlir::ModuleOp module, const MutationKind &kind,
                             const TensorSource &source, Random &random);

/// Sources for the kinds.
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
