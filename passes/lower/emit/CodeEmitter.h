// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits scalar, vector and loop code into a function, with short names, so that
// kernel generators read like the loops that they emit. Integers are i64
// (`Index`), vectors have 16 lanes, and memory is addressed by bytes.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "passes/lower/emit/Index.h"
#include "runtime/base/InstructionSet.h"
#include "runtime/base/OperandFormat.h"

namespace transom::lower {

/// Lanes in the vectors that generated code uses.
constexpr int64_t kLanes = 16;

/// The destination cache for a prefetched line.
enum class CacheLevel { First, Second };

/// Emits code at the insertion point of its builder.
class CodeEmitter {
public:
  using Value = mlir::Value;
  /// A loop body, called with the loop index.
  using LoopBody = llvm::function_ref<void(Index)>;
  /// A loop body with carried values; returns their next values.
  using CarryBody =
      llvm::function_ref<llvm::SmallVector<Value>(Index, mlir::ValueRange)>;

  CodeEmitter(mlir::OpBuilder &builder, mlir::Location loc,
              const InstructionSet &isa)
      : b(builder), loc(loc), target(isa) {}

  mlir::OpBuilder &builder() { return b; }
  mlir::Location location() const { return loc; }
  void setLocation(mlir::Location location) { loc = location; }
  /// The instruction set for which code is emitted.
  const InstructionSet &getIsa() const { return target; }

  // Types.
  mlir::Type i64Type() { return b.getI64Type(); }
  mlir::Type f32Type() { return b.getF32Type(); }
  mlir::Type ptrType();
  /// The 16-lane vector type for an element type.
  mlir::VectorType getVectorType(mlir::Type element);
  mlir::VectorType f32Vector() { return getVectorType(f32Type()); }

  // Integers and conditions; `Index.h` has the scalar operators.
  Index i64(int64_t value);
  Index toIndex(Value i64) { return {*this, i64}; }
  /// Sign-extends an i32.
  Index extendI32(Value i32);
  Value toF32(Index integer);
  Value cmpEq(Value x, Value y);
  Value isNull(Value pointer);
  Value logicalAnd(Value x, Value y);
  Value logicalNot(Value x);
  Value select(Value condition, Value x, Value y);

  // Memory. Pointers advance by bytes.
  Value advance(Value pointer, Value bytes);
  Value advance(Value pointer, int64_t bytes);
  Value load(mlir::Type type, Value pointer);
  void store(Value value, Value pointer);
  Index loadI64(Value pointer) { return {*this, load(i64Type(), pointer)}; }
  Value loadF32(Value pointer) { return load(f32Type(), pointer); }
  /// Loads one or 16 floats, stored as a float type, as f32.
  Value loadFloat(StorageType type, Value pointer);
  Value loadFloats(StorageType type, Value pointer);
  Value loadPtr(Value pointer) { return load(ptrType(), pointer); }
  /// Uninitialized stack memory in the function, aligned to a cache line. Do
  /// not use it while a loop body is built, because the body is not in the
  /// function yet.
  Value stackBuffer(int64_t bytes);
  /// Prefetches the cache line at `pointer`.
  void prefetch(Value pointer, CacheLevel level = CacheLevel::Second);
  /// Adds `value` to the i64 at `pointer`; returns its previous value.
  Index atomicAdd(Value pointer, Index value);
  /// Loads a vector of elements. Lanes that `mask` disables are not accessed
  /// and read as zero.
  Value loadVector(mlir::Type element, Value pointer, Value mask = {});
  void storeVector(Value value, Value pointer, Value mask = {});
  /// Gathers elements from 0, stride, 2*stride, ... bytes after `pointer`.
  Value gather(mlir::Type element, Value pointer, Index strideBytes,
               Value mask = {});
  void scatter(Value value, Value pointer, Index strideBytes, Value mask = {});

  // Constants and masks.
  Value f32(double value);
  Value splat(Value scalar);
  Value splat(double value);
  Value splatI32(int32_t value);
  /// 0, 1, ... 15 as f32.
  Value laneNumbers();
  /// The mask that enables lanes below `count`.
  Value laneMask(Index count);

  // Arithmetic on f32 scalars or vectors.
  Value addF(Value x, Value y);
  Value subF(Value x, Value y);
  Value mulF(Value x, Value y);
  Value divF(Value x, Value y);
  Value negF(Value x);
  Value absF(Value x);
  Value sqrtF(Value x);
  Value fma(Value x, Value y, Value z);
  /// The larger one; y if the comparison is unordered.
  Value maxF(Value x, Value y);
  Value minF(Value x, Value y);
  Value cmpLtF(Value x, Value y); ///< ordered

  // Vector conversions.
  /// Rounds 16 f32 to bf16, to nearest even; returns their bits as i16. A NaN
  /// remains a NaN.
  Value roundBf16(Value value);
  /// Widens 16 bf16, given as i16, to f32.
  Value widenBf16(Value halves);
  /// Widens 16 int8 to f32.
  Value widenInt8(Value bytes);
  /// Reinterprets a vector of 16 32-bit words.
  Value bitcastWords(Value words, mlir::Type element);
  /// Rounds 16 f32 with magnitudes up to 127 to int8, to nearest even.
  Value roundInt8(Value value);
  /// The same as 32-bit words, plus `roundedBase`.
  Value roundToWords(Value value);
  static constexpr int32_t roundedBase = 0x4b400000;
  /// The lowest byte in each of 16 words.
  Value truncateToBytes(Value words);

  // Lanes.
  Value extract(Value vector, int64_t lane);
  /// 16 lanes in reverse order.
  Value reverse(Value vector);
  /// The sum of 16 lanes by one fixed tree: halves are added, 8, 4, 2, 1.
  Value sumLanes(Value vector);
  Value maxLanes(Value vector);
  /// Calls an LLVM intrinsic of the instruction set.
  Value intrinsic(mlir::Type result, llvm::StringRef name,
                  mlir::ValueRange operands);
  /// Calls an LLVM intrinsic without a result.
  void callIntrinsic(llvm::StringRef name, mlir::ValueRange operands);

  // Control flow.
  /// `for (i = from; i < to; i += step)`.
  void forLoop(Index from, Index to, int64_t step, LoopBody body);
  /// `for (i = 0; i < count; ++i)`.
  void forRange(Index count, LoopBody body) { forLoop(i64(0), count, 1, body); }
  void forRange(int64_t count, LoopBody body) { forRange(i64(count), body); }
  /// A loop with carried values; returns their last values. With `keepRolled`,
  /// LLVM does not unroll it.
  llvm::SmallVector<Value> forLoop(Index from, Index to, int64_t step,
                                   mlir::ValueRange init, CarryBody body,
                                   bool keepRolled = false);
  /// A loop with one carried value.
  Value foldLoop(Index from, Index to, int64_t step, Value init,
                 llvm::function_ref<Value(Index, Value)> body);
  Index foldRange(Index from, Index to, Index init,
                  llvm::function_ref<Index(Index, Index)> body);
  /// A loop over 0 <= i < count with two carried indices.
  IndexPair foldRange(Index count, IndexPair init,
                      llvm::function_ref<IndexPair(Index, IndexPair)> body);
  void ifThen(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = nullptr);
  /// Returns the value of the taken branch.
  Value choose(Value condition, llvm::function_ref<Value()> then,
               llvm::function_ref<Value()> otherwise);

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
  const InstructionSet &target;
};

} // namespace transom::lower
