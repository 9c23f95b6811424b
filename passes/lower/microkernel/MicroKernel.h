// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generator of micro-kernels. A micro-kernel computes one register tile of
// a matrix product, MR rows by NR columns; what happens before and after the
// loop over K are parameters. There is one function per (instruction set,
// format, tile, K, strides, epilogue).
#pragma once
#include "passes/lower/emit/OperandLowering.h"
#include "runtime/base/Activation.h"
#include <optional>
#include <string>

namespace transom::lower {

/// What distinguishes micro-kernels. Strides are in elements; a number that is
/// absent here is an argument of the function.
struct KernelSpec {
  /// Initial value of the accumulators.
  enum class AccumulatorInit { Zero, Bias, Output };
  /// How the tile is stored.
  enum class Store {
    /// As rows of the output.
    Rows,
    /// As columns of key panels: each row at its own key position.
    KeyPanels,
    /// As rows of attention scores: scaled, minus infinity after the last
    /// column; updates the maxima of each row.
    Scores,
    /// As rows, each divided by a number, or zero where that number is zero.
    Normalize
  };

  /// How the right operand is stored. The left one is `rhs->getLhs()`.
  const OperandLowering *rhs = &OperandLowering::get(OperandFormat());
  /// How the output is stored.
  const OperandLowering *out = &OperandLowering::get(OperandFormat());
  std::optional<int64_t> k;
  /// From one row of the left operand to the next.
  std::optional<int64_t> lhsStride;
  /// From one row of the left operand's scales to the next, of groups.
  std::optional<int64_t> lhsScaleStride;
  /// Columns of the right operand from one step along K to the next; see
  /// `RhsVector`.
  std::optional<int64_t> rhsStride;
  AccumulatorInit init = AccumulatorInit::Zero;
  Store store = Store::Rows;
  double scale = 1;    ///< of scores
  int64_t vectors = 0; ///< of a tile's row; 0: as many as the ISA allows
  std::optional<Activation> activation;
  /// The activation of a GLU. Columns of the product alternate: eight of the
  /// gate g, eight of u; the output is activation(g) * u, half as many columns.
  std::optional<Activation> glu;
  bool residual = false;   ///< adds a row-major operand before storing
  bool partialRhs = false; ///< columns may be missing: loads are masked
  bool prefetch = false;   ///< prefetches other memory during the loop over K
  /// Multiplies tiles of AMX; K is a multiple of `getAmxDepth()`. Of bytes, few
  /// rows are multiplied without them.
  bool amx = false;

  /// The part of the kernel's symbol name that encodes this.
  std::string getSuffix() const;
  int64_t getOutputBytes() const { return out->getElementBytes(); }
  /// Numbers of k that an instruction of AMX multiplies.
  int64_t getAmxDepth() const {
    const OperandFormat &format = rhs->getFormat();
    return format.isGrouped() ? std::min(format.group, amxInt8Depth)
                              : amxBf16Depth;
  }
  /// Whether a call takes any number of rows, not those of a tile only.
  bool takesManyRows() const { return amx && store == Store::Rows; }
  /// Whether scores are multiplied by the scale of their column's key.
  bool hasColumnScales() const {
    return store == Store::Scores && rhs->getFormat().hasScales();
  }
  int64_t getVectors(const InstructionSet &isa) const {
    return vectors ? vectors : isa.tileVectors;
  }
};

/// The arguments of a micro-kernel. Pointers are to the first element of the
/// tile; unused arguments may be null.
struct KernelArgs {
  mlir::Value lhs, rhs, output;
  Index k, lhsStride, rhsStride; ///< those that the spec lacks
  /// In elements; for key panels from one panel to the next.
  Index outputStride;
  /// Padded to the tile's width. For scores: the column scales.
  mlir::Value bias;
  mlir::Value residual;
  /// Of each row and group of a left operand of whole numbers its scale, and
  /// the sum of its numbers.
  mlir::Value lhsScales;
  /// The scales of the tile's first column, less the bytes of its first group.
  mlir::Value rhsScales;
  Index residualStride;
  /// One entry per row. KeyPanels: the i64 key position; Scores: 16 lanes of
  /// maxima; Normalize: the divisor.
  mlir::Value perRow;
  Index columns; ///< that exist, counted from the tile's first column
  Index rows;    ///< set by the call; AMX has one kernel for all numbers
  mlir::Value tileConfig; ///< of AMX; see makeTileConfig()
  /// Two streams to prefetch: an address, and bytes per iteration.
  mlir::Value prefetch, prefetchMore;
  Index prefetchStride, prefetchMoreStride;
};

/// Creates the micro-kernels of a module on demand, each once, and emits calls
/// to them.
class MicroKernels {
public:
  MicroKernels(mlir::ModuleOp module, const InstructionSet &isa)
      : module(module), isa(isa) {}

  /// The maximum MR of products with this right operand: rows of a tile.
  int64_t getMaxMr(const OperandLowering &rhs) const {
    return rhs.getMaxMr(isa);
  }
  /// NR: columns of a tile.
  int64_t getNr() const { return isa.tileVectors * kLanes; }
  const InstructionSet &getIsa() const { return isa; }
  /// Number of kernels created so far.
  int64_t getNumKernels() const { return numKernels; }

  /// Emits a call of the kernel for `rows` rows, a run-time value from 1 on, up
  /// to `amxRows` or the maximum MR unless the kernel takes many.
  void call(CodeEmitter &e, const KernelSpec &spec, Index rows,
            const KernelArgs &args);

private:
  mlir::LLVM::LLVMFuncOp getKernel(const KernelSpec &spec, int64_t mr);
  /// Emits the address of the kernel for so many rows.
  mlir::Value getAddress(CodeEmitter &e, const KernelSpec &spec, Index rows);
  /// The table of kernels by MR.
  mlir::LLVM::GlobalOp getKernelsByMr(const KernelSpec &spec);

  mlir::ModuleOp module;
  const InstructionSet &isa;
  int64_t numKernels = 0;
};

/// Memory for the configuration of AMX, and the rows that it is for: none yet.
mlir::Value makeTileConfig(CodeEmitter &e);
/// Configures AMX for products of so many rows, unless it is. An instruction
/// multiplies so many bytes of a row.
void configureTiles(CodeEmitter &e, mlir::Value tileConfig, Index rows,
                    int64_t depthBytes);
/// Leaves AMX without a configuration.
void releaseTiles(CodeEmitter &e);

/// Sets the attributes that functions of this instruction set need.
void setTargetAttributes(mlir::LLVM::LLVMFuncOp function,
                         const InstructionSet &isa);

} // namespace transom::lower
