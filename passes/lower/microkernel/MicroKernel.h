// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The micro-kernel generator. A micro-kernel computes one register tile in a
// matrix product, MR rows by NR columns; the code before and after the loop
// over K is parameterized. There is one function per (instruction set, format,
// tile, K, strides, epilogue).
#pragma once
#include "passes/lower/emit/OperandLowering.h"
#include "runtime/base/Activation.h"
#include <optional>
#include <string>

namespace transom::lower {

/// Micro-kernel parameters. Strides are in elements; a value that is absent
/// here is a function argument.
struct KernelSpec {
  /// Initial accumulator values.
  enum class AccumulatorInit { Zero, Bias, Output };
  /// How the tile is stored.
  enum class Store {
    /// As output rows.
    Rows,
    /// As columns in key panels: each row at its own key position.
    KeyPanels,
    /// As rows of attention scores: scaled, minus infinity after the last
    /// column; updates the maxima for each row.
    Scores,
    /// As rows, each divided by a value, or zero if that value is zero.
    Normalize
  };

  /// Right operand storage. The left operand has `rhs->getLhs()`.
  const OperandLowering *rhs = &OperandLowering::get(OperandFormat());
  /// Output storage.
  const OperandLowering *out = &OperandLowering::get(OperandFormat());
  std::optional<int64_t> k;
  /// From one row in the left operand to the next.
  std::optional<int64_t> lhsStride;
  /// From one row of left operand scales to the next, for groups.
  std::optional<int64_t> lhsScaleStride;
  /// Right operand columns from one step along K to the next; see `RhsVector`.
  std::optional<int64_t> rhsStride;
  AccumulatorInit init = AccumulatorInit::Zero;
  Store store = Store::Rows;
  double scale = 1;    ///< for scores
  int64_t vectors = 0; ///< per tile row; 0: the ISA's maximum
  std::optional<Activation> activation;
  /// The GLU activation. GEMM columns alternate: eight for the gate g, eight
  /// for u; the output is activation(g) * u, with half the columns.
  std::optional<Activation> glu;
  bool residual = false;   ///< adds a row-major operand before storing
  bool partialRhs = false; ///< columns may be missing: loads are masked
  bool prefetch = false;   ///< prefetches other memory during the loop over K
  /// Multiplies AMX tiles; K is a multiple of `getAmxDepth()`. For bytes, a few
  /// rows are multiplied without tiles.
  bool amx = false;

  /// The suffix that encodes this in the kernel's symbol name.
  std::string getSuffix() const;
  int64_t getOutputBytes() const { return out->getElementBytes(); }
  /// Elements along K that one AMX instruction multiplies.
  int64_t getAmxDepth() const {
    const OperandFormat &format = rhs->getFormat();
    return format.isGrouped() ? std::min(format.group, amxInt8Depth)
                              : amxBf16Depth;
  }
  /// Whether one call takes any number of rows, not only a tile's rows.
  bool takesManyRows() const { return amx && store == Store::Rows; }
  /// Whether scores are multiplied by a scale for each column's key.
  bool hasColumnScales() const {
    return store == Store::Scores && rhs->getFormat().hasScales();
  }
  int64_t getVectors(const InstructionSet &isa) const {
    return vectors ? vectors : isa.tileVectors;
  }
};

/// Micro-kernel arguments. Pointers are to the first element in the tile;
/// unused arguments may be null.
struct KernelArgs {
  mlir::Value lhs, rhs, output;
  Index k, lhsStride, rhsStride; ///< if the spec lacks them
  /// In elements; for key panels, from one panel to the next.
  Index outputStride;
  /// Padded to the tile width. For scores: the column scales.
  mlir::Value bias;
  mlir::Value residual;
  /// For each row and group in a quantized left operand: its scale, and the sum
  /// of its elements.
  mlir::Value lhsScales;
  /// The scales for the tile's first column, minus the bytes in its first
  /// group.
  mlir::Value rhsScales;
  Index residualStride;
  /// One entry per row. KeyPanels: the i64 key position; Scores: 16 lanes of
  /// maxima; Normalize: the divisor.
  mlir::Value perRow;
  Index columns; ///< existing columns, counted from the tile's first column
  Index rows;    ///< set by the call; one AMX kernel handles all row counts
  mlir::Value tileConfig; ///< for AMX; see makeTileConfig()
  /// Two streams to prefetch: an address, and bytes per iteration.
  mlir::Value prefetch, prefetchMore;
  Index prefetchStride, prefetchMoreStride;
};

/// Creates the micro-kernels in a module on demand, each once, and emits calls
/// to them.
class MicroKernels {
public:
  MicroKernels(mlir::ModuleOp module, const InstructionSet &isa)
      : module(module), isa(isa) {}

  /// The maximum MR (tile rows) for this right operand.
  int64_t getMaxMr(const OperandLowering &rhs) const {
    return rhs.getMaxMr(isa);
  }
  /// NR: tile columns.
  int64_t getNr() const { return isa.tileVectors * kLanes; }
  const InstructionSet &getIsa() const { return isa; }
  /// The number of kernels created so far.
  int64_t getNumKernels() const { return numKernels; }

  /// Emits a kernel call for `rows` rows, a run-time value from 1 to `amxRows`
  /// or the maximum MR, or without a limit if the kernel takes many rows.
  void call(CodeEmitter &e, const KernelSpec &spec, Index rows,
            const KernelArgs &args);

private:
  mlir::LLVM::LLVMFuncOp getKernel(const KernelSpec &spec, int64_t mr);
  /// Emits the address of the kernel for this row count.
  mlir::Value getAddress(CodeEmitter &e, const KernelSpec &spec, Index rows);
  /// The table of kernels by MR.
  mlir::LLVM::GlobalOp getKernelsByMr(const KernelSpec &spec);

  mlir::ModuleOp module;
  const InstructionSet &isa;
  int64_t numKernels = 0;
};

/// Allocates memory for the AMX configuration and the row count that it is for,
/// initially none.
mlir::Value makeTileConfig(CodeEmitter &e);
/// Configures AMX for products with this row count, unless it is configured
/// already. One instruction multiplies `depthBytes` bytes per row.
void configureTiles(CodeEmitter &e, mlir::Value tileConfig, Index rows,
                    int64_t depthBytes);
/// Releases the AMX configuration.
void releaseTiles(CodeEmitter &e);

/// Sets the attributes that functions for this instruction set need.
void setTargetAttributes(mlir::LLVM::LLVMFuncOp function,
                         const InstructionSet &isa);

} // namespace transom::lower
