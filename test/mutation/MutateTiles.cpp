// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AMX tile registers: registers for other rows or columns, another row stride,
// tiles with fewer rows, and omitted loads, products and stores.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "test/mutation/CodeMutations.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace transom::testing {

namespace {

/// An instruction's effect on tiles.
enum class TileUse { None, Configure, Load, Multiply, Store };

} // namespace

static TileUse getTileUse(LLVM::CallIntrinsicOp op) {
  return llvm::StringSwitch<TileUse>(op.getIntrin())
      .Case("llvm.x86.ldtilecfg", TileUse::Configure)
      .Case("llvm.x86.tileloadd64", TileUse::Load)
      .Case("llvm.x86.tdpbf16ps", TileUse::Multiply)
      .Case("llvm.x86.tilestored64", TileUse::Store)
      .Default(TileUse::None);
}

/// Registers 0 to 3 hold the sums for two row tiles and two column tiles,
/// registers 4 and 5 the left operands for the rows, and registers 6 and 7 the
/// right operands for the columns.
static int64_t getOther(int64_t number, bool isOtherRow) {
  if (number < 4)
    return number ^ (isOtherRow ? 2 : 1);
  return number ^ 1;
}

static Value makeConstant(Operation *before, Type type, int64_t value) {
  OpBuilder b(before);
  auto attribute = b.getIntegerAttr(type, value);
  if (type.isInteger(8)) // an intrinsic's immediate operand
    return b.create<LLVM::ConstantOp>(before->getLoc(), type, attribute);
  return b.create<arith::ConstantOp>(before->getLoc(), attribute);
}

/// Replaces the register that an operand names.
static void addRegister(LLVM::CallIntrinsicOp op, unsigned index,
                        Edits &edits) {
  auto constant = op->getOperand(index).getDefiningOp<LLVM::ConstantOp>();
  auto attribute =
      constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
  if (!attribute)
    return;
  const int64_t number = attribute.getInt();
  for (bool isOtherRow : {true, false}) {
    // A row or column operand may have one tile only.
    if (number >= 4 && isOtherRow != (number < 6))
      continue;
    edits.push_back(
        {op, isOtherRow ? "a tile of other rows" : "a tile of other columns",
         [=]() mutable {
           op->setOperand(index, makeConstant(op, attribute.getType(),
                                              getOther(number, isOtherRow)));
           return op;
         }});
  }
}

/// The row stride for a load or store.
static void addStride(LLVM::CallIntrinsicOp op, Edits &edits) {
  for (int64_t bytes : {64, -4})
    edits.push_back({op, "rows at another stride", [=]() mutable {
                       OpBuilder b(op);
                       Value stride = op->getOperand(2);
                       op->setOperand(
                           2, b.create<arith::AddIOp>(
                                  op.getLoc(), stride,
                                  makeConstant(op, stride.getType(), bytes)));
                       return op;
                     }});
}

/// One row less in the registers for the first or second row tile, unless they
/// have a single one. Bytes 48 to 55 in the tile configuration are the row
/// counts.
static void addRows(LLVM::CallIntrinsicOp op, Edits &edits) {
  // Four row counts decrease by one with a single subtraction.
  constexpr int64_t first = 0x100000101, second = 0x10001010000;
  for (int64_t rows : {first, second})
    edits.push_back(
        {op, "a row less", [=]() mutable {
           OpBuilder b(op);
           Location loc = op.getLoc();
           Type word = b.getI64Type();
           // Change the configuration in memory before it is loaded.
           Value address = b.create<LLVM::GEPOp>(
               loc, LLVM::LLVMPointerType::get(op.getContext()), b.getI8Type(),
               op->getOperand(0), ArrayRef<LLVM::GEPArg>{48});
           Value own = b.create<LLVM::LoadOp>(loc, word, address);
           const int64_t shift = rows == first ? 0 : 16;
           Value count = b.create<arith::AndIOp>(
               loc,
               b.create<arith::ShRUIOp>(loc, own,
                                        makeConstant(op, word, shift)),
               makeConstant(op, word, 0xff));
           Value hasMore =
               b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, count,
                                       makeConstant(op, word, 1));
           Value fewer =
               b.create<arith::SubIOp>(loc, own, makeConstant(op, word, rows));
           b.create<LLVM::StoreOp>(
               loc, b.create<arith::SelectOp>(loc, hasMore, fewer, own),
               address);
           return op;
         }});
}

bool replaceTile(LLVM::CallIntrinsicOp op, double number) {
  const TileUse use = getTileUse(op);
  if (use == TileUse::None || use == TileUse::Configure)
    return false;
  // All rows hold this value, in f32 for sums and in bf16 for operands.
  OpBuilder b(op);
  Location loc = op.getLoc();
  const uint64_t word =
      APFloat(static_cast<float>(number)).bitcastToAPInt().getZExtValue();
  auto tile = op->getOperand(0).getDefiningOp<LLVM::ConstantOp>();
  const bool isSum = cast<IntegerAttr>(tile.getValue()).getInt() < 4;
  const uint64_t element = isSum ? word : (word >> 16 << 16 | word >> 16);
  auto type = VectorType::get({16}, b.getI32Type());
  Value row = b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(type, APInt(32, element)));
  Type pointer = LLVM::LLVMPointerType::get(op.getContext());
  Value memory = b.create<LLVM::AllocaOp>(
      loc, pointer, type, makeConstant(op, b.getI64Type(), 1), 64);
  b.create<LLVM::StoreOp>(loc, row, memory, 64);
  if (use != TileUse::Store)
    b.setInsertionPointAfter(op);
  Value none = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(0));
  b.create<LLVM::CallIntrinsicOp>(loc, TypeRange(),
                                  b.getStringAttr("llvm.x86.tileloadd64"),
                                  ValueRange{op->getOperand(0), memory, none});
  return true;
}

void changeTiles(ModuleOp code, const LiveCode &, Edits &edits) {
  code.walk([&](LLVM::CallIntrinsicOp op) {
    const TileUse use = getTileUse(op);
    if (use == TileUse::None)
      return;
    if (use == TileUse::Configure)
      return addRows(op, edits);
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      addRegister(op, i, edits);
    if (use != TileUse::Multiply)
      addStride(op, edits);
    edits.push_back({op, "left out", [=]() mutable -> Operation * {
                       op.erase();
                       return nullptr;
                     }});
  });
}

} // namespace transom::testing
