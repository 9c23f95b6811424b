// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits scalar, vector and loop code.
#include "passes/lower/emit/CodeEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace transom::lower;

Type CodeEmitter::ptrType() {
  return LLVM::LLVMPointerType::get(b.getContext());
}
VectorType CodeEmitter::getVectorType(Type element) {
  return VectorType::get({kLanes}, element);
}

//===----------------------------------------------------------------------===//
// Integers and conditions
//===----------------------------------------------------------------------===//

Index CodeEmitter::i64(int64_t value) {
  return {*this, b.create<arith::ConstantIntOp>(loc, value, 64)};
}
Index CodeEmitter::extendI32(Value i32) {
  return {*this, b.create<arith::ExtSIOp>(loc, b.getI64Type(), i32)};
}
Value CodeEmitter::toF32(Index integer) {
  return b.create<arith::SIToFPOp>(loc, f32Type(), integer);
}
Value CodeEmitter::cmpEq(Value x, Value y) {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y);
}
Value CodeEmitter::isNull(Value pointer) {
  Value null = b.create<LLVM::ZeroOp>(loc, ptrType());
  return b.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::eq, pointer, null);
}
Value CodeEmitter::logicalAnd(Value x, Value y) {
  return b.create<arith::AndIOp>(loc, x, y);
}
Value CodeEmitter::logicalNot(Value x) {
  Value ones = b.create<arith::ConstantOp>(
      loc, isa<VectorType>(x.getType())
               ? TypedAttr(DenseElementsAttr::get(cast<ShapedType>(x.getType()),
                                                  true))
               : TypedAttr(b.getBoolAttr(true)));
  return b.create<arith::XOrIOp>(loc, x, ones);
}
Value CodeEmitter::select(Value condition, Value x, Value y) {
  return b.create<arith::SelectOp>(loc, condition, x, y);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value CodeEmitter::advance(Value pointer, Value bytes) {
  return b.create<LLVM::GEPOp>(loc, ptrType(), b.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{bytes},
                               /*inbounds=*/true);
}
Value CodeEmitter::advance(Value pointer, int64_t bytes) {
  return bytes == 0 ? pointer : advance(pointer, i64(bytes));
}
static unsigned getAlignment(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<LLVM::LLVMPointerType>(element))
    return 8;
  return std::max(1u, element.getIntOrFloatBitWidth() / 8);
}
Value CodeEmitter::load(Type type, Value pointer) {
  return b.create<LLVM::LoadOp>(loc, type, pointer, getAlignment(type));
}
void CodeEmitter::store(Value value, Value pointer) {
  b.create<LLVM::StoreOp>(loc, value, pointer, getAlignment(value.getType()));
}
Value CodeEmitter::stackBuffer(int64_t bytes) {
  OpBuilder::InsertionGuard guard(b);
  auto function =
      b.getInsertionBlock()->getParentOp()->getParentOfType<LLVM::LLVMFuncOp>();
  if (auto own =
          dyn_cast<LLVM::LLVMFuncOp>(b.getInsertionBlock()->getParentOp()))
    function = own;
  b.setInsertionPointToStart(&function.getBody().front());
  return b.create<LLVM::AllocaOp>(loc, ptrType(), b.getI8Type(), i64(bytes),
                                  /*alignment=*/64);
}
Index CodeEmitter::atomicAdd(Value pointer, Index value) {
  return {*this,
          b.create<LLVM::AtomicRMWOp>(loc, LLVM::AtomicBinOp::add, pointer,
                                      value, LLVM::AtomicOrdering::acq_rel)};
}
void CodeEmitter::prefetch(Value pointer, CacheLevel level) {
  b.create<LLVM::Prefetch>(loc, pointer, /*rw=*/0,
                           /*locality=*/level == CacheLevel::First ? 3 : 2,
                           /*cache=data*/ 1);
}
Value CodeEmitter::loadVector(Type element, Value pointer, Value mask) {
  VectorType type = getVectorType(element);
  if (!mask)
    return load(type, pointer);
  Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(type));
  return b.create<LLVM::MaskedLoadOp>(loc, type, pointer, mask, zero,
                                      getAlignment(type));
}
void CodeEmitter::storeVector(Value value, Value pointer, Value mask) {
  if (!mask)
    return store(value, pointer);
  b.create<LLVM::MaskedStoreOp>(loc, value, pointer, mask,
                                getAlignment(value.getType()));
}

/// Pointers for 16 lanes, a stride apart.
static Value lanePointers(CodeEmitter &e, Value pointer, Index strideBytes) {
  OpBuilder &b = e.builder();
  SmallVector<int64_t> lanes;
  for (int64_t i = 0; i < kLanes; ++i)
    lanes.push_back(i);
  Value iota =
      b.create<arith::ConstantOp>(e.location(), b.getI64VectorAttr(lanes));
  Value stride = b.create<vector::BroadcastOp>(
      e.location(), e.getVectorType(b.getI64Type()), strideBytes);
  Value offsets = b.create<arith::MulIOp>(e.location(), iota, stride);
  Type pointers = LLVM::getFixedVectorType(e.ptrType(), kLanes);
  return b.create<LLVM::GEPOp>(e.location(), pointers, b.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{offsets});
}

static Value allLanes(CodeEmitter &e) {
  OpBuilder &b = e.builder();
  return b.create<arith::ConstantOp>(
      e.location(),
      DenseElementsAttr::get(e.getVectorType(b.getI1Type()), true));
}

Value CodeEmitter::gather(Type element, Value pointer, Index strideBytes,
                          Value mask) {
  VectorType type = getVectorType(element);
  Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(type));
  return b.create<LLVM::masked_gather>(
      loc, type, lanePointers(*this, pointer, strideBytes),
      mask ? mask : allLanes(*this), ValueRange{zero}, getAlignment(type));
}
void CodeEmitter::scatter(Value value, Value pointer, Index strideBytes,
                          Value mask) {
  b.create<LLVM::masked_scatter>(
      loc, value, lanePointers(*this, pointer, strideBytes),
      mask ? mask : allLanes(*this), getAlignment(value.getType()));
}

//===----------------------------------------------------------------------===//
// Constants, masks and arithmetic
//===----------------------------------------------------------------------===//

Value CodeEmitter::f32(double value) {
  return b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(value));
}
Value CodeEmitter::splat(Value scalar) {
  return b.create<vector::BroadcastOp>(loc, getVectorType(scalar.getType()),
                                       scalar);
}
Value CodeEmitter::splat(double value) {
  return b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(f32Vector(), static_cast<float>(value)));
}
Value CodeEmitter::splatI32(int32_t value) {
  return b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(getVectorType(b.getI32Type()), value));
}
Value CodeEmitter::bitcastWords(Value words, Type element) {
  const int64_t lanes = kLanes * 32 / int64_t(element.getIntOrFloatBitWidth());
  return b.create<vector::BitCastOp>(loc, VectorType::get({lanes}, element),
                                     words);
}

Value CodeEmitter::loadFloat(StorageType type, Value pointer) {
  if (type == StorageType::F32)
    return loadF32(pointer);
  return b.create<arith::ExtFOp>(loc, f32Type(), load(b.getF16Type(), pointer));
}

Value CodeEmitter::loadFloats(StorageType type, Value pointer) {
  if (type == StorageType::F32)
    return loadVector(f32Type(), pointer);
  return b.create<arith::ExtFOp>(loc, f32Vector(),
                                 loadVector(b.getF16Type(), pointer));
}

Value CodeEmitter::widenInt8(Value bytes) {
  Value words =
      b.create<arith::ExtSIOp>(loc, getVectorType(b.getI32Type()), bytes);
  return b.create<arith::SIToFPOp>(loc, f32Vector(), words);
}

/// In 1.5 * 2^23 + x, the low bits are x rounded to an integer.
Value CodeEmitter::roundToWords(Value value) {
  // The sum with 1.5 * 2^23 has no fraction bits.
  Value shifted = addF(value, splat(12582912.0));
  return b.create<arith::BitcastOp>(loc, getVectorType(b.getI32Type()),
                                    shifted);
}

Value CodeEmitter::truncateToBytes(Value words) {
  return b.create<arith::TruncIOp>(loc, getVectorType(b.getI8Type()), words);
}

Value CodeEmitter::roundInt8(Value value) {
  return truncateToBytes(roundToWords(value));
}

Value CodeEmitter::absF(Value x) {
  VectorType words = getVectorType(b.getI32Type());
  Value bits = b.create<arith::AndIOp>(
      loc, b.create<arith::BitcastOp>(loc, words, x), splatI32(0x7fffffff));
  return b.create<arith::BitcastOp>(loc, f32Vector(), bits);
}

Value CodeEmitter::laneNumbers() {
  SmallVector<float> numbers;
  for (int64_t i = 0; i < kLanes; ++i)
    numbers.push_back(static_cast<float>(i));
  return b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(f32Vector(), ArrayRef(numbers)));
}

Value CodeEmitter::laneMask(Index count) {
  SmallVector<int32_t> lanes;
  for (int32_t i = 0; i < kLanes; ++i)
    lanes.push_back(i);
  Value iota = b.create<arith::ConstantOp>(
      loc,
      DenseElementsAttr::get(getVectorType(b.getI32Type()), ArrayRef(lanes)));
  Index bounded = min(max(count, 0), kLanes);
  Value narrow = b.create<arith::TruncIOp>(loc, b.getI32Type(), bounded);
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, iota,
                                 splat(narrow));
}
Value CodeEmitter::addF(Value x, Value y) {
  return b.create<arith::AddFOp>(loc, x, y);
}
Value CodeEmitter::subF(Value x, Value y) {
  return b.create<arith::SubFOp>(loc, x, y);
}
Value CodeEmitter::mulF(Value x, Value y) {
  return b.create<arith::MulFOp>(loc, x, y);
}
Value CodeEmitter::divF(Value x, Value y) {
  return b.create<arith::DivFOp>(loc, x, y);
}
Value CodeEmitter::negF(Value x) { return b.create<arith::NegFOp>(loc, x); }

Value CodeEmitter::fma(Value x, Value y, Value z) {
  return b.create<LLVM::FMAOp>(loc, x, y, z);
}
Value CodeEmitter::cmpLtF(Value x, Value y) {
  return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, x, y);
}
Value CodeEmitter::maxF(Value x, Value y) { return select(cmpLtF(y, x), x, y); }
Value CodeEmitter::minF(Value x, Value y) { return select(cmpLtF(x, y), x, y); }
Value CodeEmitter::sqrtF(Value x) { return b.create<LLVM::SqrtOp>(loc, x); }
Value CodeEmitter::reverse(Value vector) {
  SmallVector<int32_t> lanes;
  for (int32_t lane = kLanes; lane-- > 0;)
    lanes.push_back(lane);
  return b.create<LLVM::ShuffleVectorOp>(loc, vector, vector, lanes);
}

Value CodeEmitter::extract(Value vector, int64_t lane) {
  return b.create<vector::ExtractOp>(loc, vector, lane);
}

/// Folds a vector by halves: lane i with lane i + n/2, down to one.
static Value foldLanes(CodeEmitter &e, Value vector,
                       function_ref<Value(Value, Value)> combine) {
  OpBuilder &b = e.builder();
  for (int64_t half = kLanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(i + half);
    }
    Value x = b.create<vector::ShuffleOp>(e.location(), vector, vector, low);
    Value y = b.create<vector::ShuffleOp>(e.location(), vector, vector, high);
    vector = combine(x, y);
  }
  return b.create<vector::ExtractOp>(e.location(), vector, int64_t(0));
}

Value CodeEmitter::sumLanes(Value vector) {
  return foldLanes(*this, vector, [&](Value x, Value y) { return addF(x, y); });
}
Value CodeEmitter::maxLanes(Value vector) {
  return foldLanes(*this, vector, [&](Value x, Value y) { return maxF(x, y); });
}

Value CodeEmitter::intrinsic(Type result, StringRef name, ValueRange operands) {
  return b
      .create<LLVM::CallIntrinsicOp>(loc, result, b.getStringAttr(name),
                                     operands)
      .getResult(0);
}

void CodeEmitter::callIntrinsic(StringRef name, ValueRange operands) {
  b.create<LLVM::CallIntrinsicOp>(loc, TypeRange(), b.getStringAttr(name),
                                  operands);
}

//===----------------------------------------------------------------------===//
// bf16: the upper half of an f32
//===----------------------------------------------------------------------===//

Value CodeEmitter::roundBf16(Value value) {
  VectorType halves = getVectorType(b.getI16Type()),
             bits = getVectorType(b.getI32Type());
  if (target.dotBf16) {
    Value rounded = intrinsic(getVectorType(b.getBF16Type()),
                              "llvm.x86.avx512bf16.cvtneps2bf16.512", {value});
    return b.create<arith::BitcastOp>(loc, halves, rounded);
  }
  // To round to nearest even, add 0x7fff, plus one if the last remaining bit is
  // odd: the carry increments that bit if the value must be rounded up.
  Value x = b.create<arith::BitcastOp>(loc, bits, value);
  Value half = splatI32(16);
  Value odd = b.create<arith::AndIOp>(
      loc, b.create<arith::ShRUIOp>(loc, x, half), splatI32(1));
  Value carry = b.create<arith::AddIOp>(loc, odd, splatI32(0x7fff));
  Value sum = b.createOrFold<arith::AddIOp>(loc, x, carry);
  Value quiet = b.create<arith::OrIOp>(loc, x, splatI32(0x400000));
  Value isNan =
      b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, value, value);
  Value upper = b.create<arith::ShRUIOp>(loc, select(isNan, quiet, sum), half);
  return b.create<arith::TruncIOp>(loc, halves, upper);
}
Value CodeEmitter::widenBf16(Value halves) {
  Value wide =
      b.create<arith::ExtUIOp>(loc, getVectorType(b.getI32Type()), halves);
  Value bits = b.create<arith::ShLIOp>(loc, wide, splatI32(16));
  return b.create<arith::BitcastOp>(loc, f32Vector(), bits);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void CodeEmitter::forLoop(Index from, Index to, int64_t step, LoopBody body) {
  forLoop(from, to, step, {}, [&](Index i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value> CodeEmitter::forLoop(Index from, Index to, int64_t step,
                                        ValueRange init, CarryBody body,
                                        bool keepRolled) {
  auto loop = b.create<scf::ForOp>(
      loc, from, to, i64(step), init,
      [&](OpBuilder &, Location, Value i, ValueRange carried) {
        SmallVector<Value> next = body({*this, i}, carried);
        b.create<scf::YieldOp>(loc, next);
      });
  if (keepRolled) {
    // Unrolling at run time would spill the accumulators.
    MLIRContext *context = b.getContext();
    auto disable = b.getBoolAttr(true);
    auto unroll =
        LLVM::LoopUnrollAttr::get(context, disable, {}, {}, {}, {}, {}, {});
    auto annotation =
        LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                      {}, {}, {}, {}, {}, {}, {}, {});
    loop->setAttr("llvm.loop_annotation", annotation);
  }
  return SmallVector<Value>(loop.getResults());
}

Value CodeEmitter::foldLoop(Index from, Index to, int64_t step, Value init,
                            function_ref<Value(Index, Value)> body) {
  return forLoop(from, to, step, init, [&](Index i, ValueRange carried) {
    return SmallVector<Value>{body(i, carried[0])};
  })[0];
}

Index CodeEmitter::foldRange(Index from, Index to, Index init,
                             function_ref<Index(Index, Index)> body) {
  return {*this, foldLoop(from, to, 1, init, [&](Index i, Value carried) {
            return body(i, {*this, carried});
          })};
}

IndexPair
CodeEmitter::foldRange(Index count, IndexPair init,
                       function_ref<IndexPair(Index, IndexPair)> body) {
  SmallVector<Value> last =
      forLoop(i64(0), count, 1, {init.first, init.second},
              [&](Index i, ValueRange carried) {
                IndexPair next =
                    body(i, {toIndex(carried[0]), toIndex(carried[1])});
                return SmallVector<Value>{next.first, next.second};
              });
  return {toIndex(last[0]), toIndex(last[1])};
}

Value CodeEmitter::choose(Value condition, function_ref<Value()> then,
                          function_ref<Value()> otherwise) {
  auto build = [&](function_ref<Value()> code) {
    return [&, code](OpBuilder &, Location) {
      b.create<scf::YieldOp>(loc, code());
    };
  };
  return b.create<scf::IfOp>(loc, condition, build(then), build(otherwise))
      .getResult(0);
}

void CodeEmitter::ifThen(Value condition, function_ref<void()> then,
                         function_ref<void()> otherwise) {
  auto build = [&](function_ref<void()> code) {
    return [&, code](OpBuilder &, Location) {
      code();
      b.create<scf::YieldOp>(loc);
    };
  };
  if (otherwise)
    b.create<scf::IfOp>(loc, condition, build(then), build(otherwise));
  else
    b.create<scf::IfOp>(loc, condition, build(then));
}
