// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds consecutive equal layers in an operation sequence. A coarse operation
// signature gives candidates; then groups are compared operand by operand.
#pragma once
#include "dialects/attn/Attn.h"
#include "passes/Remarks.h"
#include "passes/graph/Repeats.h"
#include "llvm/ADT/DenseMap.h"

namespace transom {

/// Operation groups that differ only in their weights and caches.
struct LayerRun {
  size_t begin = 0;  ///< first operation's index
  size_t period = 0; ///< operations per group
  size_t count = 0;  ///< group count, at least 2
  mlir::Value state; ///< first group's input
  /// Operation in a group whose result is the next group's input.
  size_t carried = 0;
  /// Other values that all groups read, in first-use order.
  llvm::SmallVector<mlir::Value> invariants;
  /// For each group, the operations that return its weights and caches, in
  /// first-use order.
  std::vector<llvm::SmallVector<mlir::Operation *>> weights;

  size_t end() const { return begin + period * count; }
};

/// The reason why a candidate is not a run. The remark is built only for
/// reported problems, since most candidates lie inside runs.
struct LayerProblem {
  RemarkReason getReason() const;

  RemarkId id;
  mlir::Operation *op = nullptr; ///< an operation in a layer, or a reader
  mlir::Value value, other;      ///< its operand, and the expected operand
  size_t groups = 0, operations = 0;
};

/// A candidate that is not a run, and the reason.
struct NoLayerRun {
  Repeat repeat;
  LayerProblem problem;
};

/// Whether an operation returns a weight or a cache, which become layer body
/// parameters.
inline bool givesParameter(mlir::Operation *op) {
  return mlir::isa_and_nonnull<attn::GetWeightOp, attn::GetCacheOp>(op);
}

/// The module path up to its first number, `encoder.layer.0`; empty without a
/// number.
std::string getNumberedPath(mlir::Location location);

/// The layers in one block. Weights, caches and constants are outside all
/// groups.
class LayerFinder {
public:
  explicit LayerFinder(mlir::Block &block);

  /// Finds runs that do not overlap, in block order.
  void find();

  llvm::ArrayRef<mlir::Operation *> ops() const { return order; }
  llvm::ArrayRef<LayerRun> runs() const { return found; }
  llvm::ArrayRef<NoLayerRun> refused() const { return missed; }

private:
  /// Operand origin.
  enum class Role { Weight, Constant, Local, Carried, Outside };
  struct Slot {
    Role role;
    size_t key; ///< ordinal, offset, or value or attribute identity
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
  /// How later operations use a group's values: only the next group reads the
  /// carried tensor; operations after it read that tensor, too; or `reader`
  /// reads another `value` from the group.
  struct Escape {
    enum { None, CarriedFurther, Other } kind = None;
    mlir::Value value;
    mlir::Operation *reader = nullptr;
  };

  std::vector<int> signatures() const;
  std::vector<size_t> layerNumbers() const;
  void findFormats(mlir::Block &block);
  /// The reason why there is no run, if known.
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
  /// Pre-quantized weights, with a number for each format.
  llvm::DenseMap<mlir::Operation *, size_t> formats;
  std::vector<size_t> numbers; ///< id for each operation's numbered module path
  std::vector<LayerRun> found;
  std::vector<NoLayerRun> missed;
};

} // namespace transom
