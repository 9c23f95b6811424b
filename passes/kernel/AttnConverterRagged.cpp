// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts ragged batches, and operations that read their tables.
#include "passes/kernel/AttnConverter.h"

using namespace mlir;
using namespace transom;

static LogicalResult convertRaggedBatch(attn::RaggedBatchOp op,
                                        AttnConverter &c) {
  Value mask = op.getMask();
  while (auto cast = mask.getDefiningOp<attn::CastOp>())
    mask = cast.getInput();
  if (!isa<BlockArgument>(mask))
    return op.emitOpError("expects a mask that is an input of the entry");
  int64_t index = c.entry.raggedBatches++;
  attn::RaggedType names = op.getType();
  c.entry.symbols.insert({names.getRows().str(), names.getKeys().str()});
  auto type = kern::RaggedType::get(c.b.getContext(), index);
  c.setLowered(op.getResult(),
               c.b.create<kern::RaggedBatchOp>(
                   op.getLoc(), type, c.getLowered(mask), c.b.getStringAttr(""),
                   c.b.getStringAttr(""), names.getRows(), names.getKeys(),
                   op.getKeepFirstAttr()));
  return success();
}

static LogicalResult convertDecodeBatch(attn::DecodeBatchOp op,
                                        AttnConverter &c) {
  if (c.entry.sequences)
    return op.emitOpError("expects to be the only one of its entry");
  attn::RaggedType names = op.getResult().getType();
  c.entry.symbols.insert({names.getRows().str(), names.getKeys().str()});
  auto type = kern::RaggedType::get(c.b.getContext(), c.entry.raggedBatches++);
  c.entry.sequences = c.b.create<kern::DecodeBatchOp>(
      op.getLoc(), type, names.getRows(), names.getKeys());
  c.setLowered(op.getResult(), c.entry.sequences);
  return success();
}

static LogicalResult convertPosition(attn::PositionOp op, AttnConverter &c) {
  Value out = c.outBuffer(op.getResult());
  if (op.getKind() == attn::PositionKind::NonpadRank) {
    c.b.create<kern::PositionsOp>(op.getLoc(), c.buffer(op.getIds()), out,
                                  c.b.getI64IntegerAttr(op.getPad()));
    return success();
  }
  Value ragged;
  if (op.getRagged()) {
    ragged = c.getLowered(op.getRagged());
  } else {
    SmallVector<Polynomial> dims = attn::getSymbolicShape(op.getType());
    ragged = c.uniformBatch(op.getLoc(), dims[0], dims[1]);
  }
  c.b.create<kern::ColumnsOp>(op.getLoc(), ragged, out);
  return success();
}

static LogicalResult convertGatherRows(attn::GatherRowsOp op,
                                       AttnConverter &c) {
  c.b.create<kern::GatherRowsOp>(op.getLoc(), c.buffer(op.getInput()),
                                 c.getLowered(op.getRagged()),
                                 c.outBuffer(op.getResult()));
  return success();
}

static LogicalResult convertScatterRows(attn::ScatterRowsOp op,
                                        AttnConverter &c) {
  c.b.create<kern::ScatterRowsOp>(op.getLoc(), c.buffer(op.getInput()),
                                  c.getLowered(op.getRagged()),
                                  c.outBuffer(op.getResult()));
  return success();
}

static LogicalResult convertPool(attn::PoolOp op, AttnConverter &c) {
  Value ragged, mask = op.getMask() ? c.buffer(op.getMask()) : Value();
  if (op.getRagged()) {
    ragged = c.getLowered(op.getRagged());
  } else {
    SmallVector<Polynomial> dims =
        attn::getSymbolicShape(op.getInput().getType());
    ragged = c.uniformBatch(op.getLoc(), dims[0], dims[1]);
  }
  c.b.create<kern::PoolOp>(
      op.getLoc(), c.buffer(op.getInput()), ragged, mask,
      c.outBuffer(op.getResult()),
      *kern::symbolizePoolKind(attn::stringifyPoolKind(op.getKind())));
  return success();
}

static LogicalResult convertNeighbors(attn::NeighborsOp op, AttnConverter &c) {
  Location loc = op.getLoc();
  Value input = c.buffer(op.getInput()), out = c.outBuffer(op.getResult()),
        mask = op.getMask() ? c.buffer(op.getMask()) : Value(), ragged;
  if (op.getRagged()) {
    ragged = c.getLowered(op.getRagged());
  } else {
    // The same memory as rows.
    SmallVector<Polynomial> dims =
        attn::getSymbolicShape(op.getInput().getType());
    ragged = c.uniformBatch(loc, dims[0], dims[1]);
    for (Value *buffer : {&input, &out}) {
      auto type = cast<kern::BufferType>(buffer->getType());
      Polynomial flat[] = {type.getRowCount(), type.getDims().back()};
      *buffer = c.b.create<kern::ViewOp>(
          loc,
          kern::BufferType::get(c.b.getContext(), flat, type.getElementType()),
          *buffer);
    }
  }
  c.b.create<kern::NeighborsOp>(loc, input, ragged, mask, out,
                                op.getReachAttr());
  return success();
}

void transom::addRaggedConversions(AttnConversions &conversions) {
  conversions.add<attn::RaggedBatchOp, convertRaggedBatch>();
  conversions.add<attn::DecodeBatchOp, convertDecodeBatch>();
  conversions.add<attn::PositionOp, convertPosition>();
  conversions.add<attn::GatherRowsOp, convertGatherRows>();
  conversions.add<attn::ScatterRowsOp, convertScatterRows>();
  conversions.add<attn::PoolOp, convertPool>();
  conversions.add<attn::NeighborsOp, convertNeighbors>();
}
