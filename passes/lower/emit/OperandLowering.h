// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Specifies how generated code reads, multiplies, rounds and stores elements in
// one storage format. There is one class per `OperandFormat`, two for quantized
// values in groups; no other code in this folder tests for a format. Vectors in
// registers have 16 f32 lanes.
#pragma once
#include "passes/lower/emit/CodeEmitter.h"
#include "runtime/base/OperandFormat.h"

namespace transom::lower {

/// The factor for one iteration in a micro-kernel's loop over K: an f32 vector;
/// pairs of bf16, as one vector if the instruction set multiplies pairs,
/// otherwise widened into two vectors; or four bytes in each lane, as one
/// vector if the instruction set multiplies bytes, otherwise widened into
/// several.
using Operand = llvm::SmallVector<mlir::Value, 4>;

/// One vector from a micro-kernel's right operand in one iteration.
struct RhsVector {
  mlir::Value base; ///< the operand's first column at the first k
  Index iteration;
  /// Columns from one step along K to the next. A step is `interleave` elements
  /// along K in a panel, and one in rows.
  Index stride;
  int64_t vector;   ///< index in the tile's row
  mlir::Value mask; ///< enables existing columns; null: all
  bool isRest;      ///< fewer k remain than one iteration takes
};

/// The lowering for one storage format.
class OperandLowering {
public:
  using Value = mlir::Value;

  /// The lowering for a format, or null.
  static const OperandLowering *find(const OperandFormat &format) {
    return find(format, format.getOperandType());
  }
  /// The same for GEMMs whose rows have type `operand`.
  static const OperandLowering *find(const OperandFormat &format,
                                     StorageType operand);
  /// The lowering for a format that has one.
  static const OperandLowering &get(const OperandFormat &format) {
    return get(format, format.getOperandType());
  }
  static const OperandLowering &get(const OperandFormat &format,
                                    StorageType operand);
  /// The weight formats that have a lowering, for messages.
  static std::string getSupportedNames();

  virtual ~OperandLowering() = default;
  const OperandFormat &getFormat() const { return format; }
  int64_t getElementBytes() const { return format.getElementBytes(); }
  /// The other operand in a GEMM: row-major elements.
  const OperandLowering &getLhs() const {
    return get(OperandFormat::getRows(operand));
  }
  /// Suffix in micro-kernel names after the left operand type; empty for the
  /// plain format with that type.
  llvm::StringRef getSuffix() const { return suffix; }

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  /// The type of a stored element.
  virtual mlir::Type getStoredType(CodeEmitter &e) const = 0;
  /// Converts 16 stored elements to f32, without their scale.
  virtual Value widen(CodeEmitter &e, Value stored) const = 0;
  /// Converts 16 f32, divided by their scale, to stored elements.
  virtual Value round(CodeEmitter &e, Value values) const = 0;

  /// Loads 16 adjacent stored elements; disabled lanes are zero.
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

  /// The address for element (row, column) in panels with 32 rows and `depth`
  /// columns. The column is a multiple of the interleave.
  Value getPanelAddress(CodeEmitter &e, Value panels, Index depth, Index row,
                        Index column) const;
  /// Loads 16 elements from row `row` in a weight in panels. `column` is a
  /// multiple of 16.
  virtual Value loadColumns(CodeEmitter &e, Value panels, int64_t depth,
                            Index row, Index column, Value mask) const;
  /// Gathers 16 columns from a panel row.
  virtual Value gatherColumns(CodeEmitter &e, Value pointer,
                              Value mask) const = 0;
  /// Scatters 16 stored elements into columns of a panel row.
  virtual void scatterColumns(CodeEmitter &e, Value stored, Value pointer,
                              Value mask) const = 0;

  //===--------------------------------------------------------------------===//
  // GEMMs
  //===--------------------------------------------------------------------===//

  /// MR: rows in the largest register tile.
  virtual int64_t getMaxMr(const InstructionSet &isa) const = 0;
  /// Elements along K that one iteration multiplies.
  virtual int64_t getKPerIteration() const = 0;
  /// Panel bytes that one iteration reads.
  int64_t getIterationBytes() const {
    return format.getStepBytes() * (getKPerIteration() / format.interleave);
  }
  /// K blocks are multiples of this: whole iterations, or whole groups.
  int64_t getKMultiple() const {
    return format.isGrouped() ? format.group : getKPerIteration();
  }
  /// True if an iteration takes several steps, each a separate row.
  bool takesSeveralRows() const {
    return getKPerIteration() > format.interleave;
  }
  /// Address of a right operand vector in its iteration.
  Value getRhsAddress(CodeEmitter &e, const RhsVector &rhs) const;
  virtual Operand loadRhs(CodeEmitter &e, const RhsVector &rhs) const = 0;
  /// True for quantized values in groups that become f32 before the
  /// multiplication: an iteration then takes one k after the other.
  bool dequantizes() const {
    return format.isGrouped() && operand == StorageType::F32;
  }
  /// If so, the integers at one k in the iteration, as f32.
  virtual Value getWhole(CodeEmitter &, const Operand &, int64_t) const {
    llvm_unreachable("whole numbers are not multiplied as f32");
  }
  /// Loads the left operand elements for one iteration at `pointer` and
  /// broadcasts them to all lanes.
  virtual Operand broadcastLhs(CodeEmitter &e, Value pointer,
                               bool isRest) const = 0;
  /// The accumulator type: f32, or i32 for quantized values in groups.
  virtual mlir::Type getSumType(CodeEmitter &e) const { return e.f32Type(); }
  /// The offset that the instruction set's code adds to each quantized value in
  /// the right operand before the multiplication.
  virtual int64_t getRhsOffset(const InstructionSet &) const { return 0; }
  /// sum + lhs * rhs.
  virtual Value multiplyAdd(CodeEmitter &e, const Operand &lhs,
                            const Operand &rhs, Value sum) const = 0;

  /// Byte offset in a panel of the element or group that begins at `k`.
  Index getDepthBytes(Index k) const;

protected:
  OperandLowering(const OperandFormat &format, std::string suffix)
      : OperandLowering(format, std::move(suffix), format.getOperandType()) {}
  OperandLowering(const OperandFormat &format, std::string suffix,
                  StorageType operand)
      : format(format), operand(operand), suffix(std::move(suffix)) {}

private:
  OperandFormat format;
  StorageType operand; ///< type of the other GEMM operand
  std::string suffix;
};

} // namespace transom::lower
