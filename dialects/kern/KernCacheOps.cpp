// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches and rope: reads, writes and verifiers. Constraint numbers refer to the
// op descriptions.
#include "dialects/kern/KernBufferOp.h"
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

bool RopeOp::acceptsStride() { return true; }
bool RopeTableOp::gathersWeight() { return true; }

BUFFER_OP(RopeTableOp, (ValueRange{getPositions()}), getRows(getOuts()),
          Polynomial(3) * getElementCount(getOuts()))
BUFFER_OP(RopeOp, (ValueRange{getInput(), getRopeTable()}), getRows(getOuts()),
          Polynomial(3) * getElementCount(getOuts()))

SmallVector<Value> AppendOp::readBuffers() { return {getKey(), getValue()}; }
SmallVector<Value> AppendOp::writtenBuffers() { return {}; }
bool AppendOp::acceptsStride() { return true; }
Value AppendOp::getAccessedCache() { return getCache(); }
bool AppendOp::writesCache() { return true; }
std::optional<Polynomial> AppendOp::ownedRows() { return getRows(getKey()); }
Polynomial AppendOp::flops() { return Polynomial(); }

bool RopeOp::canRoundOutput(Value out, const RoundedBuffer &rounded,
                            bool onlyRounded, RoundObstacle &obstacle) {
  return replacesOut(getOuts(), out, rounded, onlyRounded, obstacle);
}

// ===----------------------------------------------------------------------===//
// Storage verifiers
// ===----------------------------------------------------------------------===//

LogicalResult CacheOp::verify() {
  if (getGroup().has_value() != getOffset().has_value())
    return Constraint{*this, 1}.expects() << "'group' and 'offset' together";
  if (getGroup() && (int64_t(*getGroup()) < 0 || int64_t(*getOffset()) < 0 ||
                     *getOffset() % 64))
    return Constraint{*this, 2}.expects()
           << "a group and an offset that is a multiple of 64, got "
           << int64_t(*getGroup()) << " and " << int64_t(*getOffset());
  return success();
}

LogicalResult GetCacheOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto cache = symbols.lookupNearestSymbolFrom<CacheOp>(*this, getCacheAttr());
  if (!cache)
    return Constraint{*this, 1}.expects()
           << "'" << getCache() << "' to be a 'kern.cache'";
  if (cache.getType() != getType())
    return Constraint{*this, 2}.expects()
           << "the cache's type " << cache.getType() << ", got " << getType();
  return success();
}

LogicalResult DecodeBatchOp::verify() {
  if (getRows().empty() || getKeys().empty())
    return Constraint{*this, 1}.expects() << "names for 'rows' and 'keys'";
  return success();
}

LogicalResult CacheBatchOp::verify() {
  if (getKeys().empty())
    return Constraint{*this, 1}.expects() << "a name for 'keys'";
  return success();
}

LogicalResult CacheBatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto cache = symbols.lookupNearestSymbolFrom<CacheOp>(*this, getCacheAttr());
  if (!cache || !llvm::cast<CacheType>(cache.getType()).isReadOnly())
    return Constraint{*this, 2}.expects()
           << "a read-only cache, got '" << getCache() << "'";
  return success();
}

// ===----------------------------------------------------------------------===//
// Row operation verifiers
// ===----------------------------------------------------------------------===//

/// Constraint 2 in append: rows with this many columns.
static LogicalResult verifyColumns(AppendOp op, const char *name, Value buffer,
                                   int64_t columns) {
  Sizes sizes = getSizes(buffer);
  if (!getBufferType(buffer).getKeyPanels() && !sizes.empty() &&
      sizes.back() == Polynomial(columns))
    return success();
  return Constraint{op, 2}.expects() << name << " in rows of " << columns
                                     << " columns, got " << buffer.getType();
}

LogicalResult AppendOp::verify() {
  CacheType cache = getCache().getType();
  Type key = getBufferType(getKey()).getElementType(),
       value = getBufferType(getValue()).getElementType();
  if (key != value || !(key.isF32() || key.isBF16()) ||
      (key.isBF16() && key != cache.getElementType()))
    return Constraint{*this, 1}.expects()
           << "key and value of f32, or of bf16 beside a cache of bf16, got "
           << key << ", " << value << " and a cache of "
           << cache.getElementType();
  if (failed(verifyColumns(*this, "the key", getKey(),
                           cache.getHeads() * cache.getKey())) ||
      failed(verifyColumns(*this, "the value", getValue(),
                           cache.getHeads() * cache.getValue())))
    return failure();
  if (getBufferType(getKey()).getRowCount() !=
      getBufferType(getValue()).getRowCount())
    return Constraint{*this, 3}.expects()
           << "key and value of equal rows, got " << text(getSizes(getKey()))
           << " and " << text(getSizes(getValue()));
  return success();
}

LogicalResult RopeTableOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "outs", getOuts())))
    return failure();
  if (!getBufferType(getPositions()).getElementType().isInteger(64) ||
      product(getSizes(getPositions())) !=
          getBufferType(getOuts()).getRowCount())
    return Constraint{*this, 2}.expects()
           << "an i64 position for each row of outs, got "
           << getPositions().getType();
  WeightType angles = getAngles().getType();
  Sizes sizes = getSizes(getAngles()), outs = getSizes(getOuts());
  if (angles.isBf16() || sizes.size() != 2 ||
      angles.getShape()[0] <= kvBlockSize || angles.getShape()[1] % 2 ||
      outs.empty() || sizes[1] != outs.back())
    return Constraint{*this, 3}.expects()
           << "angles of f32 with more than " << kvBlockSize
           << " rows as wide as outs, an even width, got " << angles << " and "
           << text(outs);
  return verifyLayout({*this, 4}, "the angles", getAngles(),
                      WeightLayout::Rows);
}

LogicalResult RopeOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())) ||
      failed(verifyRowsOfFloat({*this, 1}, "outs", getOuts())) ||
      failed(verifySameSizes({*this, 2}, "input and outs", getInput(),
                             getOuts())) ||
      failed(verifyRowsOfF32({*this, 4}, "the rope table", getRopeTable())))
    return failure();
  Sizes sizes = getSizes(getInput()), angles = getSizes(getRopeTable());
  int64_t heads = getHeads();
  std::optional<int64_t> width =
      sizes.empty() ? std::nullopt : sizes.back().constant();
  if (!width || heads <= 0 || *width % heads)
    return Constraint{*this, 3}.expects()
           << "a last size that is a multiple of " << heads << " heads, got "
           << text(sizes);
  std::optional<int64_t> rotated =
      angles.empty() ? std::nullopt : angles.back().constant();
  if (!rotated || *rotated % 2 || *rotated > *width / heads ||
      getBufferType(getRopeTable()).getRowCount() !=
          getBufferType(getInput()).getRowCount())
    return Constraint{*this, 4}.expects()
           << "a rope table with the input's rows and an even number of "
              "columns, at most "
           << *width / heads << ", got " << text(angles);
  return success();
}
