// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How generated code reads, multiplies, rounds and stores the numbers of one
// storage format. There is one class per `OperandFormat`, two of whole numbers
// in groups, and nothing else in this folder asks for a format. Vectors in
// registers have 16 lanes of f32.
#pragma once
#include "passes/lower/emit/CodeEmitter.h"
#include "runtime/weights/OperandFormat.h"

namespace transom::lower {

/// What one iteration of a micro-kernel's loop over K multiplies: a vector of
/// f32; pairs of bf16, one vector where the instruction set multiplies pairs,
/// else widened into two vectors; or four bytes in each lane, one vector where
/// the instruction set multiplies bytes, else widened into several.
using Operand = llvm::SmallVector<mlir::Value, 4>;

/// One vector of a micro-kernel's right operand in one iteration.
struct RhsVector {
  mlir::Value base; ///< the operand's first column at the first k
  Index iteration;
  /// Columns from one step along K to the next: in a panel a step is
  /// `interleave` of k, in rows one k.
  Index stride;
  int64_t vector;   ///< number of the vector in the tile's row
  mlir::Value mask; ///< of the columns that exist; null: all
  bool isRest;      ///< fewer k remain than an iteration takes
};

/// The lowering of one storage format.
class OperandLowering {
public:
  using Value = mlir::Value;

  /// The lowering of a format, or null.
  static const OperandLowering *find(const OperandFormat &format) {
    return find(format, format.getOperandType());
  }
  /// The same in products with rows of a type.
  static const OperandLowering *find(const OperandFormat &format,
                                     StorageType operand);
  /// The lowering of a format that has one.
  static const OperandLowering &get(const OperandFormat &format) {
    return get(format, format.getOperandType());
  }
  static const OperandLowering &get(const OperandFormat &format,
                                    StorageType operand);
  /// The formats of weights that have a lowering, for messages.
  static std::string getSupportedNames();

  virtual ~OperandLowering() = default;
  const OperandFormat &getFormat() const { return format; }
  int64_t getElementBytes() const { return format.getElementBytes(); }
  /// The other operand of a product: rows of numbers.
  const OperandLowering &getLhs() const {
    return get(OperandFormat::getRows(operand));
  }
  /// What the names of micro-kernels say beside the type of the left operand;
  /// empty for the plain format of that type.
  llvm::StringRef getSuffix() const { return suffix; }

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  /// The type of a stored number.
  virtual mlir::Type getStoredType(CodeEmitter &e) const = 0;
  /// The f32 values of 16 stored numbers, without their scale.
  virtual Value widen(CodeEmitter &e, Value stored) const = 0;
  /// 16 f32, divided by their scale, as stored numbers.
  virtual Value round(CodeEmitter &e, Value values) const = 0;

  /// 16 stored numbers one after another; disabled lanes are zero.
  Value loadStored(CodeEmitter &e, Value pointer, Value mask = {}) const {
    return e.loadVector(getStoredType(e), pointer, mask);
  }
  Value load(CodeEmitter &e, Value pointer, Value mask = {}) const {
    return widen(e, loadStored(e, pointer, mask));
  }
  void store(CodeEmitter &e, Value values, Value pointer,
             Value mask = {}) const {
    e.storeVector(round(e, values), pointer, mask);
  }

  //===--------------------------------------------------------------------===//
  // Panels
  //===--------------------------------------------------------------------===//

  /// Address of element (row, column) in panels of 32 rows and `depth` columns.
  /// The column is a multiple of the interleave.
  Value getPanelAddress(CodeEmitter &e, Value panels, Index depth, Index row,
                        Index column) const;
  /// 16 numbers of row `row` of a weight in panels, from a column on that is a
  /// multiple of 16.
  virtual Value loadColumns(CodeEmitter &e, Value panels, int64_t depth,
                            Index row, Index column, Value mask) const;
  /// 16 columns of a row of a panel.
  virtual Value gatherColumns(CodeEmitter &e, Value pointer,
                              Value mask) const = 0;
  /// Stores 16 stored numbers as columns of a row of a panel.
  virtual void scatterColumns(CodeEmitter &e, Value stored, Value pointer,
                              Value mask) const = 0;

  //===--------------------------------------------------------------------===//
  // Products
  //===--------------------------------------------------------------------===//

  /// MR: rows of the largest register tile.
  virtual int64_t getMaxMr(const InstructionSet &isa) const = 0;
  /// Numbers of k that an iteration multiplies.
  virtual int64_t getKPerIteration() const = 0;
  /// Bytes that an iteration reads of a panel.
  int64_t getIterationBytes() const {
    return format.getStepBytes() * (getKPerIteration() / format.interleave);
  }
  /// What K blocks are multiples of: whole iterations, or whole groups.
  int64_t getKMultiple() const {
    return format.isGrouped() ? format.group : getKPerIteration();
  }
  /// True if an iteration takes several steps, each a row of its own.
  bool takesSeveralRows() const {
    return getKPerIteration() > format.interleave;
  }
  /// Address of a vector of the right operand in its iteration.
  Value getRhsAddress(CodeEmitter &e, const RhsVector &rhs) const;
  virtual Operand loadRhs(CodeEmitter &e, const RhsVector &rhs) const = 0;
  /// True for whole numbers in groups that become f32 before they are
  /// multiplied: an iteration then takes one k after the other.
  bool dequantizes() const {
    return format.isGrouped() && operand == StorageType::F32;
  }
  /// Then the whole numbers of a k of the iteration, as f32.
  virtual Value getWhole(CodeEmitter &, const Operand &, int64_t) const {
    llvm_unreachable("whole numbers are not multiplied as f32");
  }
  /// The numbers of the left operand at `pointer` that an iteration multiplies,
  /// in all lanes.
  virtual Operand broadcastLhs(CodeEmitter &e, Value pointer,
                               bool isRest) const = 0;
  /// The type of sums: f32, or i32 of whole numbers in groups.
  virtual mlir::Type getSumType(CodeEmitter &e) const { return e.f32Type(); }
  /// What the code of an instruction set adds to each whole number of the right
  /// operand before it multiplies.
  virtual int64_t getRhsOffset(const InstructionSet &) const { return 0; }
  /// sum + lhs * rhs.
  virtual Value multiplyAdd(CodeEmitter &e, const Operand &lhs,
                            const Operand &rhs, Value sum) const = 0;

  /// Bytes of a panel before the element, or the group, that begins at `k`.
  Index getDepthBytes(Index k) const;

protected:
  OperandLowering(const OperandFormat &format, std::string suffix)
      : OperandLowering(format, std::move(suffix), format.getOperandType()) {}
  OperandLowering(const OperandFormat &format, std::string suffix,
                  StorageType operand)
      : format(format), operand(operand), suffix(std::move(suffix)) {}

private:
  OperandFormat format;
  StorageType operand; ///< of the other operand of a product
  std::string suffix;
};

} // namespace transom::lower
