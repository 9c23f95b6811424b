// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of caches and of rope; numbers are those of
// the rules in the operations' descriptions.
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t heads, int64_t key, int64_t value,
                                int64_t window, Type element) {
  bool fits = heads > 0 && key > 0 && value > 0 && key <= INT32_MAX &&
              value <= INT32_MAX && key + value <= INT32_MAX / heads;
  if (!fits || window < 0) // (1)
    return emitError() << "cache of " << heads << " heads with keys of " << key
                       << " and values of " << value << ", window " << window;
  if (!element.isF32() && !element.isBF16() &&
      !element.isSignlessInteger(8)) // (2)
    return emitError() << "cache of " << element
                       << "; supported: f32, bf16, i8";
  return success();
}

LogicalResult CacheOp::verify() {
  if (!llvm::isa<CacheType>(getType())) // (1)
    return emitOpError("expects a cache type, got ") << getType();
  if (getGroup().has_value() != getOffset().has_value()) // (2)
    return emitOpError("expects 'group' and 'offset' together");
  if (getGroup() && (int64_t(*getGroup()) < 0 || int64_t(*getOffset()) < 0 ||
                     *getOffset() % 64))
    return emitOpError("expects a group and an offset that is a multiple of "
                       "64, got ")
           << int64_t(*getGroup()) << " and " << int64_t(*getOffset());
  return success();
}

LogicalResult GetCacheOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto cache = symbols.lookupNearestSymbolFrom<CacheOp>(*this, getCacheAttr());
  if (!cache) // (1)
    return emitOpError("expects a cache, got '") << getCache() << "'";
  if (cache.getType() != getType()) // (2)
    return emitOpError("expects the cache's type ")
           << cache.getType() << ", got " << getType();
  return success();
}

LogicalResult DecodeBatchOp::verify() {
  if (getRows().empty() || getKeys().empty()) // (1)
    return emitOpError("expects names for 'rows' and 'keys'");
  return success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// (2) of append: rows with so many columns.
static LogicalResult verifyColumns(AppendOp op, const char *name, Value buffer,
                                   int64_t columns) {
  Sizes sizes = getSizes(buffer);
  if (!getBufferType(buffer).getKeyPanels() && !sizes.empty() &&
      sizes.back() == Polynomial(columns))
    return success();
  return op.emitOpError("expects ") << name << " in rows of " << columns
                                    << " columns, got " << buffer.getType();
}

LogicalResult AppendOp::verify() {
  CacheType cache = getCache().getType();
  Type key = getBufferType(getKey()).getElementType(),
       value = getBufferType(getValue()).getElementType();
  if (key != value || !(key.isF32() || key.isBF16()) ||
      (key.isBF16() && key != cache.getElementType())) // (1)
    return emitOpError("expects key and value of f32, or of bf16 beside a "
                       "cache of bf16, got ")
           << key << ", " << value << " and a cache of "
           << cache.getElementType();
  if (failed(verifyColumns(*this, "the key", getKey(),
                           cache.getHeads() * cache.getKey())) ||
      failed(verifyColumns(*this, "the value", getValue(),
                           cache.getHeads() * cache.getValue())))
    return failure();
  if (getBufferType(getKey()).getRowCount() !=
      getBufferType(getValue()).getRowCount()) // (2)
    return emitOpError("expects key and value of equal rows, got ")
           << text(getSizes(getKey())) << " and " << text(getSizes(getValue()));
  return success();
}

LogicalResult RopeTableOp::verify() {
  if (failed(verifyRowsOfF32(*this, "outs", getOuts())))
    return failure();
  if (!getBufferType(getPositions()).getElementType().isInteger(64) ||
      product(getSizes(getPositions())) !=
          getBufferType(getOuts()).getRowCount()) // (1)
    return emitOpError("expects an i64 position for each row of outs, got ")
           << getPositions().getType();
  WeightType angles = getAngles().getType();
  Sizes sizes = getSizes(getAngles()), outs = getSizes(getOuts());
  if (angles.isBf16() || sizes.size() != 2 ||
      angles.getShape()[0] <= kKvBlock || angles.getShape()[1] % 2 ||
      outs.empty() || sizes[1] != outs.back()) // (2)
    return emitOpError("expects angles of f32 with more than ")
           << kKvBlock << " rows as wide as outs, an even width, got " << angles
           << " and " << text(outs);
  return verifyLayout(*this, "the angles", getAngles(), WeightLayout::Rows);
}

LogicalResult RopeOp::verify() {
  if (failed(verifyRowsOfF32(*this, "the input", getInput())) ||
      failed(verifyRowsOfFloat(*this, "outs", getOuts())) ||
      failed(verifySameSizes(*this, "input and outs", getInput(), getOuts())) ||
      failed(verifyRowsOfF32(*this, "the rope table", getRopeTable())))
    return failure();
  Sizes sizes = getSizes(getInput()), angles = getSizes(getRopeTable());
  int64_t heads = getHeads();
  std::optional<int64_t> width =
      sizes.empty() ? std::nullopt : sizes.back().constant();
  if (!width || heads <= 0 || *width % heads) // (1)
    return emitOpError("expects a last size that is a multiple of ")
           << heads << " heads, got " << text(sizes);
  std::optional<int64_t> rotated =
      angles.empty() ? std::nullopt : angles.back().constant();
  if (!rotated || *rotated % 2 || *rotated > *width / heads ||
      getBufferType(getRopeTable()).getRowCount() !=
          getBufferType(getInput()).getRowCount()) // (2)
    return emitOpError("expects a rope table with the input's rows and an even "
                       "number of columns, at most ")
           << *width / heads << ", got " << text(angles);
  if (isBf16(getOuts()) &&
      getStorage(getOuts()) == getStorage(getInput())) // (3)
    return emitOpError("expects rounded outs in other memory than the input");
  return success();
}
