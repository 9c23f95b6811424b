// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shorthands for emitting scalar, vector and loop code into a function: the
// kernels below read like the loops they stand for. Integers are i64, vectors
// have 16 lanes, memory is addressed by bytes.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "runtime/base/InstructionSet.h"

namespace transom::lower {

/// Lanes of the vectors that generated code works on.
constexpr int64_t kLanes = 16;

/// Emits code at an insertion point of its builder.
class Emitter {
public:
  using Value = mlir::Value;
  using Body = llvm::function_ref<void(Value)>;
  using CarryBody =
      llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)>;

  Emitter(mlir::OpBuilder &builder, mlir::Location loc,
          const InstructionSet &isa)
      : b(builder), loc(loc), target(isa) {}

  mlir::OpBuilder &builder() { return b; }
  /// The instruction set that the code is for.
  const InstructionSet &instructions() const { return target; }
  mlir::Location location() const { return loc; }
  void setLocation(mlir::Location place) { loc = place; }

  // Types.
  mlir::Type i64Type() { return b.getI64Type(); }
  mlir::Type f32Type() { return b.getF32Type(); }
  mlir::Type ptrType();
  /// The 16-lane vector of an element type.
  mlir::VectorType vectorOf(mlir::Type element);
  mlir::VectorType f32Vector() { return vectorOf(f32Type()); }

  // Scalars.
  Value i64(int64_t value);
  Value f32(double value);
  Value add(Value x, Value y);
  Value add(Value x, int64_t y) { return add(x, i64(y)); }
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value mul(Value x, int64_t y) { return y == 1 ? x : mul(x, i64(y)); }
  Value div(Value x, Value y); ///< for non-negative x, positive y
  Value rem(Value x, Value y);
  Value ceilDiv(Value x, int64_t y) { return div(add(x, y - 1), i64(y)); }
  Value min(Value x, Value y);
  Value max(Value x, Value y);
  Value less(Value x, Value y);
  Value lessEqual(Value x, Value y) { return inverse(less(y, x)); }
  Value equal(Value x, Value y);
  Value both(Value x, Value y);
  Value inverse(Value x);
  Value select(Value condition, Value x, Value y);
  Value toI64(Value i32);
  Value toF32(Value integer);

  // Memory. Pointers advance by bytes.
  Value advance(Value pointer, Value bytes);
  Value advance(Value pointer, int64_t bytes);
  Value load(mlir::Type type, Value pointer);
  void store(Value value, Value pointer);
  /// Memory of the function's own, aligned to a cache line; its content is
  /// undefined.
  Value stackBuffer(int64_t bytes);
  /// Asks for the cache line at `pointer`, for the second-level cache.
  void prefetch(Value pointer);
  Value loadI64(Value pointer) { return load(i64Type(), pointer); }
  Value loadF32(Value pointer) { return load(f32Type(), pointer); }
  Value loadPtr(Value pointer) { return load(ptrType(), pointer); }
  /// A vector of elements at `pointer`; lanes where `mask` is false are not
  /// touched and read as zero.
  Value loadVector(mlir::Type element, Value pointer, Value mask = {});
  void storeVector(Value value, Value pointer, Value mask = {});
  /// 16 bf16 at `pointer`, widened to f32; masked lanes read as zero.
  Value loadBf16(Value pointer, Value mask = {});
  /// Stores 16 f32 as bf16, rounded by `roundBf16`.
  void storeBf16(Value value, Value pointer, Value mask = {});
  /// Lanes 0, stride, 2*stride, ... bytes from `pointer`, f32.
  Value gather(Value pointer, Value strideBytes, Value mask = {});
  void scatter(Value value, Value pointer, Value strideBytes, Value mask = {});

  // Vectors of f32.
  Value splat(Value scalar);
  Value splat(double value);
  Value splatI32(int32_t value);
  /// The bits of 16 f32 rounded to bf16, to nearest even, as i16; a NaN stays
  /// a NaN.
  Value roundBf16(Value value);
  /// The f32 values of 16 bf16 given as i16.
  Value widenBf16(Value halves);
  /// The f32 values of 16 int8.
  Value widenInt8(Value bytes);
  /// 16 f32 of at most 127 in size rounded to int8, to nearest even.
  Value roundInt8(Value value);
  Value absF(Value x);
  /// 0, 1, ... 15 as f32.
  Value laneNumbers();
  /// Lanes below `count` true.
  Value laneMask(Value count);
  Value addF(Value x, Value y);
  Value subF(Value x, Value y);
  Value mulF(Value x, Value y);
  Value divF(Value x, Value y);
  Value negF(Value x);
  Value fma(Value x, Value y, Value z);
  /// The larger; y where the comparison is unordered.
  Value maxF(Value x, Value y);
  Value minF(Value x, Value y);
  Value lessF(Value x, Value y); ///< ordered
  Value sqrtF(Value x);
  Value extract(Value vector, int64_t lane);
  /// A call of one of LLVM's intrinsics of the instruction set.
  Value intrinsic(mlir::Type result, llvm::StringRef name,
                  mlir::ValueRange operands);
  /// Sum of 16 lanes by one fixed tree: halves are added, 8, 4, 2, 1.
  Value sumLanes(Value vector);
  Value maxLanes(Value vector);

  // Control.
  void forLoop(Value from, Value to, int64_t step, Body body);
  /// A loop with carried values; gives their last values.
  llvm::SmallVector<Value> forLoop(Value from, Value to, int64_t step,
                                   mlir::ValueRange init, CarryBody body,
                                   bool keepRolled = false);
  void ifThen(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = nullptr);

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
  const InstructionSet &target;
};

} // namespace transom::lower
