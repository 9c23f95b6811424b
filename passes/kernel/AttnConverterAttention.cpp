// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts attention, caches and rope.
#include "passes/kernel/AttnConverter.h"

using namespace mlir;
using namespace transom;

namespace {

/// An attention's scratch memory and its schedule.
struct AttentionMemory {
  Value scratch, partials, counters; ///< the last two may be null
  kern::AttentionSchedule schedule;
};

/// The ragged batches for queries and keys, and the mask with four dimensions.
struct AttentionRows {
  Value queries, keys, mask; ///< the mask may be null
};

} // namespace

static AttentionMemory getAttentionMemory(AttnConverter &c, Operation *op,
                                          bool ownKeys, int64_t valueSize) {
  Location loc = op->getLoc();
  auto forced =
      op->getParentOfType<ModuleOp>()->getAttrOfType<kern::ScheduleAttr>(
          "transom.attention_schedule");
  AttentionMemory memory;
  if (forced)
    memory.schedule = forced.getValue();
  kern::AttentionSchedule schedule = memory.schedule;
  auto perWorker = [&](int64_t count, Type element) {
    Polynomial dims[] = {Polynomial::symbol("parts"), count};
    return c.alloc(loc, kern::BufferType::get(c.b.getContext(), dims, element));
  };
  memory.scratch = perWorker(
      kern::getAttentionScratchFloats(schedule, valueSize, /*suitsAmx=*/false),
      c.b.getF32Type());
  using Kind = kern::AttentionSchedule::Kind;
  // If queries and keys are the same rows, there are at least as many work
  // items as KV blocks, so distributing the blocks gains nothing.
  if (schedule.kind != Kind::SplitKv &&
      (schedule.kind != Kind::Auto || ownKeys))
    return memory;
  memory.partials =
      perWorker(kern::kSplitKvSlots *
                    kern::getAttentionSlotFloats(valueSize, /*suitsAmx=*/false),
                c.b.getF32Type());
  memory.counters = perWorker(kern::kSplitKvSlots, c.b.getI64Type());
  auto clear =
      c.b.create<kern::ElementwiseOp>(loc, ValueRange(), memory.counters);
  OpBuilder::InsertionGuard guard(c.b);
  c.b.createBlock(&clear.getBody());
  Value zero = c.b.create<arith::ConstantIntOp>(loc, 0, 64);
  c.b.create<kern::YieldOp>(loc, zero);
  return memory;
}

/// Vector lanes in generated code.
static constexpr int64_t vectorLanes = 16;
/// Minimum share of unused vector lanes that is reported, in percent.
static constexpr int64_t reportedWaste = 10;

/// The reason for an attention's schedule.
static std::string getScheduleReason(kern::AttentionSchedule schedule,
                                     bool ownKeys) {
  if (schedule.kind != kern::AttentionSchedule::Kind::Auto)
    return "option --attention-schedule asks for it";
  return ownKeys ? "there are as many work items as blocks of keys, so that "
                   "each item streams its blocks"
                 : "a call streams the blocks, or splits them over threads "
                   "where it has few queries";
}

/// Reports how an attention is computed.
static void reportAttention(AttnConverter &c, Operation *op, int64_t heads,
                            int64_t queryColumns, int64_t valueSize,
                            bool ownKeys, kern::AttentionSchedule schedule) {
  const int64_t lanes = llvm::alignTo(valueSize, vectorLanes);
  c.entry.remarks.report(op, {RemarkId::AttentionScheduled,
                              {{"heads", heads},
                               {"head_size", queryColumns / heads},
                               {"schedule", schedule.str()},
                               {"reason", getScheduleReason(schedule, ownKeys)},
                               {"queries", kern::kQueryBlock},
                               {"keys", kvBlockSize}}});
  if (100 * (lanes - valueSize) >= reportedWaste * lanes)
    c.entry.remarks.report(op, {RemarkId::HeadsPartlyFillVectors,
                                {{"head_size", valueSize},
                                 {"vectors", lanes / vectorLanes},
                                 {"lanes", vectorLanes},
                                 {"waste", 100 * (lanes - valueSize) / lanes},
                                 {"better", lanes}}});
}

static AttentionRows getAttentionRows(AttnConverter &c, attn::SdpaOp op) {
  Location loc = op.getLoc();
  AttentionRows rows;
  SmallVector<Polynomial> queryDims =
                              attn::getSymbolicShape(op.getQuery().getType()),
                          keyDims =
                              attn::getSymbolicShape(op.getKey().getType());
  const bool raggedQueries = queryDims.size() == 2;
  if (!raggedQueries)
    rows.queries = c.uniformBatch(loc, queryDims[0], queryDims[1]);
  rows.keys = op.getRagged() ? c.getLowered(op.getRagged())
                             : c.uniformBatch(loc, keyDims[0], keyDims[1]);
  if (raggedQueries)
    rows.queries = rows.keys;
  if (!op.getMask())
    return rows;
  rows.mask = c.buffer(op.getMask());
  SmallVector<Polynomial> dims = attn::getSymbolicShape(op.getMask().getType());
  if (op.getMaskKind() == attn::MaskKind::Keys) {
    Polynomial wide[] = {dims[0], 1, 1, dims[1]};
    auto type = kern::BufferType::get(
        c.b.getContext(), wide,
        cast<kern::BufferType>(rows.mask.getType()).getElementType());
    rows.mask = c.b.create<kern::ViewOp>(loc, type, rows.mask);
  }
  return rows;
}

/// Packs key rows into key panels.
static Value keyPanels(AttnConverter &c, Location loc, Value rows,
                       Value ragged) {
  auto type = cast<kern::BufferType>(rows.getType());
  std::string keys;
  for (auto op : c.entry.function.getOps<kern::RaggedBatchOp>())
    if (op.getType() == ragged.getType())
      keys = op.getKeys().str();
  Polynomial dims[] = {Polynomial::symbol(keys), type.getDims().back()};
  Value panels =
      c.alloc(loc, kern::BufferType::get(c.b.getContext(), dims,
                                         type.getElementType(), 0, true));
  c.b.create<kern::PackKeysOp>(loc, rows, ragged, panels);
  return panels;
}

/// Multiplies rows by the relative position table, separately for each head;
/// null without a table.
static Value scorePositions(AttnConverter &c, attn::SdpaOp op, Value rows,
                            Value ragged, Value table) {
  if (!table)
    return {};
  Location loc = op.getLoc();
  auto type = cast<kern::BufferType>(rows.getType());
  const int64_t heads = op.getHeads();
  Polynomial tokens = type.getRowCount();
  Polynomial flat[] = {tokens, type.getDims().back()};
  if (type.getRank() != 2)
    rows = c.b.create<kern::ViewOp>(
        loc,
        kern::BufferType::get(c.b.getContext(), flat, type.getElementType()),
        rows);
  Polynomial dims[] = {Polynomial(heads) * tokens,
                       op.getPositionBuckets()->positions};
  Value scores = c.alloc(loc, kern::BufferType::get(c.b.getContext(), dims,
                                                    type.getElementType()));
  c.b.create<kern::HeadGemmOp>(loc, rows, table, ragged, scores,
                               op.getHeadsAttr(), op.getMaxDistanceAttr());
  return scores;
}

static LogicalResult convertSdpa(attn::SdpaOp op, AttnConverter &c) {
  Location loc = op.getLoc();
  // Lower the operands; biases must be weights.
  Value query = c.buffer(op.getQuery()), key = c.buffer(op.getKey()),
        value = c.buffer(op.getValue()), cache, slopes, relativeBias,
        positionKeys, positionQueries;
  if (op.getSlopes())
    slopes = c.getLowered(op.getSlopes());
  if (op.getRelativeBias())
    relativeBias = c.getLowered(op.getRelativeBias());
  if (op.getPositionKeys())
    positionKeys = c.getLowered(op.getPositionKeys());
  if (op.getPositionQueries())
    positionQueries = c.getLowered(op.getPositionQueries());
  for (Value bias : {slopes, relativeBias, positionKeys, positionQueries})
    if (bias && !isWeight(bias))
      return op.emitOpError(
          "expects slopes, relative bias and positions to be weights");
  // Find the rows, and check the cache.
  AttentionRows rows = getAttentionRows(c, op);
  bool hasPast =
      c.entry.sequences && rows.keys.getType() == c.entry.sequences.getType();
  if (hasPast != bool(op.getCache()))
    return op.emitOpError("expects a cache exactly where its ragged are "
                          "those of 'attn.decode_batch'");
  // In a ragged batch with a mask, some columns have no token.
  bool byColumn =
      op.getRagged() && !hasPast &&
      (op.getWindow() || slopes || relativeBias || op.getPositionBuckets());
  // Allocate memory, and choose the schedule.
  Value out = c.outBuffer(op.getResult());
  int64_t dv =
      *cast<kern::BufferType>(out.getType()).getDims().back().constant() /
      op.getHeads();
  bool ownKeys = !op.getCache() && rows.queries == rows.keys;
  AttentionMemory memory = getAttentionMemory(c, op, ownKeys, dv);
  reportAttention(
      c, op, op.getHeads(),
      *attn::getSymbolicShape(op.getQuery().getType()).back().constant(), dv,
      ownKeys, memory.schedule);
  // Create the operations; without a cache, keys become panels.
  Value toPosition = scorePositions(c, op, query, rows.keys, positionKeys),
        fromPosition = scorePositions(c, op, key, rows.keys, positionQueries);
  if (op.getCache()) {
    cache = c.getLowered(op.getCache());
    c.b.create<kern::AppendOp>(loc, key, value, rows.keys, cache);
    key = value = Value();
  } else {
    key = keyPanels(c, loc, key, rows.keys);
  }
  c.b.create<kern::AttentionOp>(
      loc, query, key, value, rows.queries, rows.keys, cache, slopes,
      relativeBias, toPosition, fromPosition, rows.mask, memory.scratch,
      memory.partials, memory.counters, out, /*copy=*/Value(),
      /*scales=*/Value(), op.getHeadsAttr(), op.getKvHeadsAttr(),
      op.getScaleAttr(), op.getCausalAttr(), op.getWindowAttr(),
      byColumn ? c.b.getUnitAttr() : UnitAttr(), op.getSoftCapAttr(),
      op.getMaskValueAttr(), op.getMaxDistanceAttr(),
      kern::ScheduleAttr::get(c.b.getContext(), memory.schedule));
  return success();
}

/// True for a ragged batch that has rows without keys.
static bool keepsFirst(AttnConverter &c, Type ragged) {
  return llvm::any_of(c.entry.function.getOps<kern::RaggedBatchOp>(),
                      [&](kern::RaggedBatchOp op) {
                        return op.getType() == ragged && op.getKeepFirst();
                      });
}

static LogicalResult convertAppend(attn::AppendOp op, AttnConverter &c) {
  Value ragged = c.getLowered(op.getRagged());
  if (keepsFirst(c, ragged.getType()))
    return op.emitOpError("expects a ragged batch without 'keep_first'");
  c.b.create<kern::AppendOp>(op.getLoc(), c.buffer(op.getKey()),
                             c.buffer(op.getValue()), ragged,
                             c.getLowered(op.getCache()));
  c.setLowered(op.getResult(), c.getLowered(op.getState()));
  return success();
}

static LogicalResult convertCrossSdpa(attn::CrossSdpaOp op, AttnConverter &c) {
  Location loc = op.getLoc();
  Value query = c.buffer(op.getQuery()), rows = c.getLowered(op.getRagged()),
        cache = c.getLowered(op.getCache());
  if (!c.entry.sequences || rows.getType() != c.entry.sequences.getType())
    return op.emitOpError("expects the ragged batch of 'attn.decode_batch'");
  auto type = cast<kern::CacheType>(cache.getType());
  // The cache batch also defines the rows, grouped by source.
  Value table = c.cacheBatch(loc, type), out = c.outBuffer(op.getResult());
  AttentionMemory memory =
      getAttentionMemory(c, op, /*ownKeys=*/false, type.getValue());
  reportAttention(c, op, op.getHeads(), int64_t(op.getHeads()) * type.getKey(),
                  type.getValue(), /*ownKeys=*/false, memory.schedule);
  c.b.create<kern::AttentionOp>(
      loc, query, /*key=*/Value(), /*value=*/Value(), table, table, cache,
      /*slopes=*/Value(), /*relative_bias=*/Value(),
      /*content_to_position=*/Value(), /*position_to_content=*/Value(),
      /*mask=*/Value(), memory.scratch, memory.partials, memory.counters, out,
      /*copy=*/Value(), /*scales=*/Value(), op.getHeadsAttr(),
      c.b.getI64IntegerAttr(type.getHeads()), op.getScaleAttr(),
      /*causal=*/UnitAttr(), /*window=*/c.b.getI64IntegerAttr(0),
      /*by_column=*/UnitAttr(), op.getSoftCapAttr(), /*mask_value=*/FloatAttr(),
      /*max_distance=*/c.b.getI64IntegerAttr(0),
      kern::ScheduleAttr::get(c.b.getContext(), memory.schedule));
  return success();
}

static LogicalResult convertGetCache(attn::GetCacheOp op, AttnConverter &c) {
  c.setLowered(op.getResult(),
               c.b.create<kern::GetCacheOp>(
                   op.getLoc(), getCacheType(op.getType()), op.getCacheAttr()));
  return success();
}

static LogicalResult convertRopeTable(attn::RopeTableOp op, AttnConverter &c) {
  int64_t limit = op.getLimit();
  ArrayRef<double> frequencies = op.getFrequencies();
  int64_t shape[] = {int64_t(llvm::divideCeil(limit, kvBlockSize)) +
                         kvBlockSize,
                     2 * int64_t(frequencies.size())};
  Value angles = c.makeWeight(
      op.getLoc(), "angles", shape,
      WeightExpr::angles(limit, op.getFactor().convertToDouble(),
                         {frequencies.begin(), frequencies.end()}));
  c.b.create<kern::RopeTableOp>(op.getLoc(), c.buffer(op.getPositions()),
                                angles, c.outBuffer(op.getResult()));
  return success();
}

static LogicalResult convertRope(attn::RopeOp op, AttnConverter &c) {
  c.b.create<kern::RopeOp>(
      op.getLoc(), c.buffer(op.getInput()), c.buffer(op.getRopeTable()),
      c.outBuffer(op.getResult()), op.getHeadsAttr(), op.getInterleavedAttr());
  return success();
}

void transom::addAttentionConversions(AttnConversions &conversions) {
  conversions.add<attn::SdpaOp, convertSdpa>();
  conversions.add<attn::AppendOp, convertAppend>();
  conversions.add<attn::CrossSdpaOp, convertCrossSdpa>();
  conversions.add<attn::GetCacheOp, convertGetCache>();
  conversions.add<attn::RopeTableOp, convertRopeTable>();
  conversions.add<attn::RopeOp, convertRope>();
}
