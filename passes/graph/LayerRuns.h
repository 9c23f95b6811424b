// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds equal layers one after another in a straight line of operations. A
// coarse signature of each operation gives candidates; then groups are
// compared operand by operand.
#pragma once
#include "dialects/attn/Attn.h"
#include "passes/Remarks.h"
#include "passes/graph/Repeats.h"
#include "llvm/ADT/DenseMap.h"

namespace transom {

/// Groups of operations that differ only in their weights and caches.
struct LayerRun {
  size_t begin = 0;   ///< index of the first operation
  size_t period = 0;  ///< operations in a group
  size_t count = 0;   ///< groups, at least 2
  mlir::Value state;  ///< what the first group starts from
  size_t carried = 0; ///< the operation of a group whose result is carried on
  /// Other values that all groups read, in the order of first use.
  llvm::SmallVector<mlir::Value> invariants;
  /// For each group the operations that give its weights and caches, in the
  /// order of their first use.
  std::vector<llvm::SmallVector<mlir::Operation *>> weights;

  size_t end() const { return begin + period * count; }
};

/// Why a candidate is not a run. Its text is made for those that are reported
/// alone, since most candidates are parts of runs.
struct LayerProblem {
  RemarkReason getReason() const;

  RemarkId id;
  mlir::Operation *op = nullptr; ///< the operation of a layer, or a reader
  mlir::Value value, other;      ///< what it reads, and what it should have
  size_t groups = 0, operations = 0;
};

/// A candidate that is not a run, and why.
struct NoLayerRun {
  Repeat repeat;
  LayerProblem problem;
};

/// Whether an operation gives a weight or a cache: a parameter of a layer's
/// body.
inline bool givesParameter(mlir::Operation *op) {
  return mlir::isa_and_nonnull<attn::GetWeightOp, attn::GetCacheOp>(op);
}

/// The module path up to its first number, `encoder.layer.0`; empty without
/// one.
std::string getNumberedPath(mlir::Location location);

/// The layers of one block. Weights, caches and constants belong to no group.
class LayerFinder {
public:
  explicit LayerFinder(mlir::Block &block);

  /// Finds runs that do not overlap, in the order of the block.
  void find();

  llvm::ArrayRef<mlir::Operation *> ops() const { return order; }
  llvm::ArrayRef<LayerRun> runs() const { return found; }
  llvm::ArrayRef<NoLayerRun> refused() const { return missed; }

private:
  /// What an operand of a group is.
  enum class Role { Weight, Constant, Local, Carried, Outside };
  struct Slot {
    Role role;
    size_t key; ///< ordinal, offset, or the identity of a value or attribute
    bool operator==(const Slot &other) const {
      return role == other.role && key == other.key;
    }
  };
  struct Group {
    std::vector<Slot> slots;
    llvm::SmallVector<mlir::Operation *> weights;
    llvm::SmallVector<mlir::Value> outside;
    mlir::Value carried;
    std::optional<LayerProblem> problem;
  };
  /// How a group's values are used after it: by the next group alone, the
  /// carried tensor after it, too, or a value of the inside; then `reader`
  /// reads `value`.
  struct Escape {
    enum { None, CarriedFurther, Other } kind = None;
    mlir::Value value;
    mlir::Operation *reader = nullptr;
  };

  std::vector<int> signatures() const;
  std::vector<size_t> layerNumbers() const;
  void findFormats(mlir::Block &block);
  /// Why there is no run, as far as it is known.
  using Problem = std::optional<LayerProblem>;

  std::optional<LayerRun> match(const Repeat &repeat, Problem &problem);
  std::optional<LayerRun> matchFrom(size_t begin, size_t end, size_t period,
                                    Problem &problem);
  LayerRun extend(size_t begin, size_t end, size_t period, Problem &problem);
  LayerProblem findDifference(const Group &first, const Group &second,
                              size_t begin, size_t period) const;
  Group describe(size_t begin, size_t period, size_t runBegin) const;
  void describeOperand(mlir::Value operand, size_t begin, size_t period,
                       size_t runBegin, Group &group) const;
  bool startsRun(const Group &first, const Group &second,
                 mlir::Value &state) const;
  Escape findEscape(size_t begin, size_t period, size_t carried) const;
  llvm::SmallVector<size_t> phases(const Repeat &repeat) const;
  bool isFree(const Repeat &repeat) const;

  std::vector<mlir::Operation *> order;
  llvm::DenseMap<mlir::Operation *, size_t> positions;
  /// The formats of weights that files have as whole numbers, by number.
  llvm::DenseMap<mlir::Operation *, size_t> formats;
  std::vector<size_t> numbers; ///< id of each operation's numbered module path
  std::vector<LayerRun> found;
  std::vector<NoLayerRun> missed;
};

} // namespace transom
