// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generator of micro-kernels: one register tile of a product, for any
// height, with what happens before and after the loop over K as parameters.
// One function per (instruction set, type, tile, K, strides, epilogue).
#pragma once
#include "passes/lower/emit/Emit.h"
#include <optional>
#include <string>

namespace transom::lower {

/// What varies between micro-kernels. Strides are in elements; an absent
/// number is an argument of the function instead.
struct KernelSpec {
  /// Where the accumulators start.
  enum class Start { Zero, Bias, Output };
  /// How the tile is stored: rows of the output; the transposed columns of key
  /// panels, each row at its own key position; rows of scores, scaled, minus
  /// infinity behind the last column, while the maxima of each row are kept; or
  /// rows divided by a number each, zero where that is zero.
  enum class Store { Rows, Keys, Scores, Quotients };

  /// Both operands are bf16 and chains take pairs along k; an odd last k pairs
  /// with zero.
  bool bf16 = false;
  /// The right operand of bf16 has rows of k, of which two are made into pairs
  /// in registers; else it lies in pairs, [k/2][columns][2].
  bool rhsRows = false;
  /// The right operand is int8, widened to f32 in registers; its strides count
  /// bytes. The left one is f32.
  bool rhsInt8 = false;
  bool outBf16 = false;     ///< the output is rounded to bf16
  std::optional<int64_t> k; ///< length of the chains
  std::optional<int64_t>
      lhsStride; ///< from one row of the left operand to the next
  std::optional<int64_t>
      rhsStride; ///< from one k (pair of them) of the right operand to the
                 ///< next, in elements (pairs)
  Start start = Start::Zero;
  Store store = Store::Rows;
  double scale = 1;          ///< of scores
  bool columnScales = false; ///< scores have a factor for each column besides
  int64_t vectors = 0;       ///< of a tile's row; 0: as the instruction set has
  std::string activation;    ///< empty for none
  /// An activation: columns are eight of g and eight of u in turn, and the
  /// output has activation(g) * u in half as many.
  std::string gate;
  bool residual = false;   ///< adds a row-major operand before storing
  bool partialRhs = false; ///< the right operand may lack columns: masked loads
  bool prefetch = false;   ///< touches another panel while it computes

  /// The part of a kernel's name that these make.
  std::string suffix() const;
  int64_t operandBytes() const { return bf16 ? 2 : 4; }
  int64_t outputBytes() const { return outBf16 ? 2 : 4; }
  int64_t vectorsOf(const InstructionSet &isa) const {
    return vectors ? vectors : isa.tileVectors;
  }
};

/// What a call of a micro-kernel passes. Pointers are at the tile's first
/// element; unused ones may be null values.
struct KernelArgs {
  mlir::Value lhs, rhs, output;
  mlir::Value k, lhsStride, rhsStride; ///< where the spec has none, in elements
  mlir::Value outputStride; ///< elements (of key panels: from one panel of 32
                            ///< positions to the next)
  mlir::Value bias;         ///< padded to the tile's width; or column scales
  mlir::Value residual, residualStride;
  mlir::Value perRow;  ///< Keys: i64 key position of each row; Scores: 16 lanes
                       ///< of maxima; Quotients: the divisor
  mlir::Value columns; ///< columns that exist from the tile's first on
  /// Where to touch, and bytes a step of the loop over k, twice.
  mlir::Value prefetch, prefetchStride;
  mlir::Value prefetchMore, prefetchMoreStride;
};

/// Makes micro-kernels on demand, each once a module, and calls to them.
class MicroKernels {
public:
  MicroKernels(mlir::ModuleOp module, const InstructionSet &isa)
      : module(module), isa(isa) {}

  /// Rows of the highest tile.
  int64_t maxRows(bool bf16 = false) const {
    return bf16 ? isa.bf16Rows : isa.tileRows;
  }
  /// Columns of a tile.
  int64_t tileColumns() const { return isa.tileVectors * kLanes; }
  /// The instruction set of the kernels.
  const InstructionSet &instructions() const { return isa; }

  /// Calls the kernel for `rows` (1 <= rows <= maxRows, a run-time value)
  /// through the ladder of heights.
  void call(Emitter &e, const KernelSpec &spec, mlir::Value rows,
            const KernelArgs &args);

private:
  mlir::LLVM::LLVMFuncOp kernel(const KernelSpec &spec, int64_t rows);
  mlir::LLVM::GlobalOp ladder(const KernelSpec &spec);

  mlir::ModuleOp module;
  const InstructionSet &isa;
};

/// Adds the attributes that a function of this instruction set needs.
void setTarget(mlir::LLVM::LLVMFuncOp function, const InstructionSet &isa);

} // namespace transom::lower
