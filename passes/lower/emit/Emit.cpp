// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shorthands for emitting scalar, vector and loop code.
#include "passes/lower/emit/Emit.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace transom::lower;

Type Emitter::ptrType() { return LLVM::LLVMPointerType::get(b.getContext()); }
VectorType Emitter::vectorOf(Type element) {
  return VectorType::get({kLanes}, element);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value Emitter::i64(int64_t value) {
  return b.create<arith::ConstantIntOp>(loc, value, 64);
}
Value Emitter::f32(double value) {
  return b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(value));
}
Value Emitter::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}
Value Emitter::sub(Value x, Value y) {
  return b.createOrFold<arith::SubIOp>(loc, x, y);
}
Value Emitter::mul(Value x, Value y) {
  return b.createOrFold<arith::MulIOp>(loc, x, y);
}
Value Emitter::div(Value x, Value y) {
  return b.createOrFold<arith::DivUIOp>(loc, x, y);
}
Value Emitter::rem(Value x, Value y) {
  return b.createOrFold<arith::RemUIOp>(loc, x, y);
}
Value Emitter::min(Value x, Value y) {
  return b.createOrFold<arith::MinSIOp>(loc, x, y);
}
Value Emitter::max(Value x, Value y) {
  return b.createOrFold<arith::MaxSIOp>(loc, x, y);
}
Value Emitter::less(Value x, Value y) {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
}
Value Emitter::equal(Value x, Value y) {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y);
}
Value Emitter::both(Value x, Value y) {
  return b.create<arith::AndIOp>(loc, x, y);
}
Value Emitter::inverse(Value x) {
  Value ones = b.create<arith::ConstantOp>(
      loc, isa<VectorType>(x.getType())
               ? TypedAttr(DenseElementsAttr::get(cast<ShapedType>(x.getType()),
                                                  true))
               : TypedAttr(b.getBoolAttr(true)));
  return b.create<arith::XOrIOp>(loc, x, ones);
}
Value Emitter::select(Value condition, Value x, Value y) {
  return b.create<arith::SelectOp>(loc, condition, x, y);
}
Value Emitter::toI64(Value i32) {
  return b.create<arith::ExtSIOp>(loc, b.getI64Type(), i32);
}

Value Emitter::toF32(Value integer) {
  return b.create<arith::SIToFPOp>(loc, f32Type(), integer);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Emitter::advance(Value pointer, Value bytes) {
  return b.create<LLVM::GEPOp>(loc, ptrType(), b.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{bytes},
                               /*inbounds=*/true);
}
Value Emitter::advance(Value pointer, int64_t bytes) {
  return bytes == 0 ? pointer : advance(pointer, i64(bytes));
}
static unsigned alignmentOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<LLVM::LLVMPointerType>(element))
    return 8;
  return std::max(1u, element.getIntOrFloatBitWidth() / 8);
}
Value Emitter::load(Type type, Value pointer) {
  return b.create<LLVM::LoadOp>(loc, type, pointer, alignmentOf(type));
}
void Emitter::store(Value value, Value pointer) {
  b.create<LLVM::StoreOp>(loc, value, pointer, alignmentOf(value.getType()));
}
Value Emitter::stackBuffer(int64_t bytes) {
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
void Emitter::prefetch(Value pointer) {
  b.create<LLVM::Prefetch>(loc, pointer, /*rw=*/0, /*locality=*/2,
                           /*cache=data*/ 1);
}
Value Emitter::loadVector(Type element, Value pointer, Value mask) {
  VectorType type = vectorOf(element);
  if (!mask)
    return load(type, pointer);
  Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(type));
  return b.create<LLVM::MaskedLoadOp>(loc, type, pointer, mask, zero,
                                      alignmentOf(type));
}
void Emitter::storeVector(Value value, Value pointer, Value mask) {
  if (!mask)
    return store(value, pointer);
  b.create<LLVM::MaskedStoreOp>(loc, value, pointer, mask,
                                alignmentOf(value.getType()));
}

/// The pointers of 16 lanes a stride apart.
static Value lanePointers(Emitter &e, Value pointer, Value strideBytes) {
  OpBuilder &b = e.builder();
  SmallVector<int64_t> lanes;
  for (int64_t i = 0; i < kLanes; ++i)
    lanes.push_back(i);
  Value iota =
      b.create<arith::ConstantOp>(e.location(), b.getI64VectorAttr(lanes));
  Value stride = b.create<vector::BroadcastOp>(
      e.location(), e.vectorOf(b.getI64Type()), strideBytes);
  Value offsets = b.create<arith::MulIOp>(e.location(), iota, stride);
  Type pointers = LLVM::getFixedVectorType(e.ptrType(), kLanes);
  return b.create<LLVM::GEPOp>(e.location(), pointers, b.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{offsets});
}

static Value allLanes(Emitter &e) {
  OpBuilder &b = e.builder();
  return b.create<arith::ConstantOp>(
      e.location(), DenseElementsAttr::get(e.vectorOf(b.getI1Type()), true));
}

Value Emitter::gather(Value pointer, Value strideBytes, Value mask) {
  Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(f32Vector()));
  return b.create<LLVM::masked_gather>(
      loc, f32Vector(), lanePointers(*this, pointer, strideBytes),
      mask ? mask : allLanes(*this), ValueRange{zero}, 4);
}
void Emitter::scatter(Value value, Value pointer, Value strideBytes,
                      Value mask) {
  b.create<LLVM::masked_scatter>(loc, value,
                                 lanePointers(*this, pointer, strideBytes),
                                 mask ? mask : allLanes(*this), 4);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value Emitter::splat(Value scalar) {
  return b.create<vector::BroadcastOp>(loc, vectorOf(scalar.getType()), scalar);
}
Value Emitter::splat(double value) {
  return b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(f32Vector(), static_cast<float>(value)));
}
Value Emitter::splatI32(int32_t value) {
  return b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(vectorOf(b.getI32Type()), value));
}
Value Emitter::widenInt8(Value bytes) {
  Value words = b.create<arith::ExtSIOp>(loc, vectorOf(b.getI32Type()), bytes);
  return b.create<arith::SIToFPOp>(loc, f32Vector(), words);
}

/// In 1.5 * 2^23 + x the last bits are x rounded to an integer.
Value Emitter::roundInt8(Value value) {
  Value shifted = addF(value, splat(12582912.0));
  Value bits =
      b.create<arith::BitcastOp>(loc, vectorOf(b.getI32Type()), shifted);
  return b.create<arith::TruncIOp>(loc, vectorOf(b.getI8Type()), bits);
}

Value Emitter::absF(Value x) {
  VectorType words = vectorOf(b.getI32Type());
  Value bits = b.create<arith::AndIOp>(
      loc, b.create<arith::BitcastOp>(loc, words, x), splatI32(0x7fffffff));
  return b.create<arith::BitcastOp>(loc, f32Vector(), bits);
}

Value Emitter::laneNumbers() {
  SmallVector<float> numbers;
  for (int64_t i = 0; i < kLanes; ++i)
    numbers.push_back(static_cast<float>(i));
  return b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(f32Vector(), ArrayRef(numbers)));
}

Value Emitter::laneMask(Value count) {
  SmallVector<int32_t> lanes;
  for (int32_t i = 0; i < kLanes; ++i)
    lanes.push_back(i);
  Value iota = b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(vectorOf(b.getI32Type()), ArrayRef(lanes)));
  Value bounded = min(max(count, i64(0)), i64(kLanes));
  Value narrow = b.create<arith::TruncIOp>(loc, b.getI32Type(), bounded);
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, iota,
                                 splat(narrow));
}
Value Emitter::addF(Value x, Value y) {
  return b.create<arith::AddFOp>(loc, x, y);
}
Value Emitter::subF(Value x, Value y) {
  return b.create<arith::SubFOp>(loc, x, y);
}
Value Emitter::mulF(Value x, Value y) {
  return b.create<arith::MulFOp>(loc, x, y);
}
Value Emitter::divF(Value x, Value y) {
  return b.create<arith::DivFOp>(loc, x, y);
}
Value Emitter::negF(Value x) { return b.create<arith::NegFOp>(loc, x); }

Value Emitter::fma(Value x, Value y, Value z) {
  return b.create<LLVM::FMAOp>(loc, x, y, z);
}
Value Emitter::lessF(Value x, Value y) {
  return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, x, y);
}
Value Emitter::maxF(Value x, Value y) { return select(lessF(y, x), x, y); }
Value Emitter::minF(Value x, Value y) { return select(lessF(x, y), x, y); }
Value Emitter::sqrtF(Value x) { return b.create<LLVM::SqrtOp>(loc, x); }
Value Emitter::extract(Value vector, int64_t lane) {
  return b.create<vector::ExtractOp>(loc, vector, lane);
}

/// Folds a vector by halves: lane i with lane i + n/2, down to one.
static Value foldLanes(Emitter &e, Value vector,
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

Value Emitter::sumLanes(Value vector) {
  return foldLanes(*this, vector, [&](Value x, Value y) { return addF(x, y); });
}
Value Emitter::maxLanes(Value vector) {
  return foldLanes(*this, vector, [&](Value x, Value y) { return maxF(x, y); });
}

Value Emitter::intrinsic(Type result, StringRef name, ValueRange operands) {
  return b
      .create<LLVM::CallIntrinsicOp>(loc, result, b.getStringAttr(name),
                                     operands)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// bf16: the upper half of an f32
//===----------------------------------------------------------------------===//

Value Emitter::roundBf16(Value value) {
  VectorType halves = vectorOf(b.getI16Type()), bits = vectorOf(b.getI32Type());
  if (target.dotBf16) {
    Value rounded = intrinsic(vectorOf(b.getBF16Type()),
                              "llvm.x86.avx512bf16.cvtneps2bf16.512", {value});
    return b.create<arith::BitcastOp>(loc, halves, rounded);
  }
  // Adding just less than half a unit, or half of one where the last bit that
  // stays is odd, carries into it when the value has to be rounded up.
  Value x = b.create<arith::BitcastOp>(loc, bits, value);
  Value half = splatI32(16);
  Value odd = b.create<arith::AndIOp>(
      loc, b.create<arith::ShRUIOp>(loc, x, half), splatI32(1));
  Value sum =
      add(x, b.create<arith::AddIOp>(loc, odd, splatI32(0x7fff)).getResult());
  Value quiet = b.create<arith::OrIOp>(loc, x, splatI32(0x400000));
  Value isNan =
      b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, value, value);
  Value upper = b.create<arith::ShRUIOp>(loc, select(isNan, quiet, sum), half);
  return b.create<arith::TruncIOp>(loc, halves, upper);
}
Value Emitter::widenBf16(Value halves) {
  Value wide = b.create<arith::ExtUIOp>(loc, vectorOf(b.getI32Type()), halves);
  Value bits = b.create<arith::ShLIOp>(loc, wide, splatI32(16));
  return b.create<arith::BitcastOp>(loc, f32Vector(), bits);
}
Value Emitter::loadBf16(Value pointer, Value mask) {
  return widenBf16(loadVector(b.getI16Type(), pointer, mask));
}
void Emitter::storeBf16(Value value, Value pointer, Value mask) {
  storeVector(roundBf16(value), pointer, mask);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void Emitter::forLoop(Value from, Value to, int64_t step, Body body) {
  forLoop(from, to, step, {}, [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value> Emitter::forLoop(Value from, Value to, int64_t step,
                                    ValueRange init, CarryBody body,
                                    bool keepRolled) {
  auto loop = b.create<scf::ForOp>(
      loc, from, to, i64(step), init,
      [&](OpBuilder &, Location, Value i, ValueRange carried) {
        SmallVector<Value> next = body(i, carried);
        b.create<scf::YieldOp>(loc, next);
      });
  if (keepRolled) {
    // Unrolled at run time the accumulators would spill.
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

void Emitter::ifThen(Value condition, function_ref<void()> then,
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
