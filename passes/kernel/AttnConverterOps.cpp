// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conversion of single operations, one member a group.
#include "passes/kernel/AttnConverter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace transom;

LogicalResult AttnConverter::convertOp(Operation &op) {
  ++count;
  Location loc = op.getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](attn::GetWeightOp o) {
        lowered[o.getResult()] = b.create<kern::GetWeightOp>(
            loc, getWeightType(o.getType()), o.getWeightAttr());
        return success();
      })
      .Case([&](attn::ConstantOp o) { return convertConstant(o), success(); })
      .Case([&](attn::LinearOp o) { return convertLinear(o), success(); })
      .Case([&](attn::MatmulOp o) { return convertMatmul(o), success(); })
      .Case([&](attn::TransposeOp o) {
        b.create<kern::TransposeOp>(loc, buffer(o.getInput()),
                                    outBuffer(o.getResult()),
                                    o.getPermutationAttr());
        return success();
      })
      .Case([&](attn::ReshapeOp o) {
        lowered[o.getResult()] = b.create<kern::ViewOp>(
            loc, bufferType(o.getType()), buffer(o.getInput()));
        return success();
      })
      .Case([&](attn::ConcatOp o) { return convertConcat(o), success(); })
      .Case([&](attn::SliceOp o) { return convertSlice(o), success(); })
      .Case([&](attn::GatherOp o) {
        b.create<kern::GatherOp>(loc, buffer(o.getTable()),
                                 buffer(o.getIndices()),
                                 outBuffer(o.getResult()));
        return success();
      })
      .Case([&](attn::EmbeddingOp o) { return convertEmbedding(o), success(); })
      .Case([&](attn::PositionOp o) { return convertPosition(o), success(); })
      .Case([&](attn::SoftmaxOp o) {
        b.create<kern::SoftmaxOp>(loc, buffer(o.getInput()),
                                  outBuffer(o.getResult()));
        return success();
      })
      .Case<attn::LayerNormOp, attn::RmsNormOp>(
          [&](Operation *o) { return convertNorm(*o); })
      .Case([&](attn::PoolOp o) { return convertPool(o), success(); })
      .Case([&](attn::SdpaOp o) { return convertSdpa(o); })
      .Case([&](attn::LayersOp o) { return convertLayers(o); })
      .Case<attn::AddOp, attn::SubOp, attn::MulOp, attn::DivOp, attn::AndOp,
            attn::OrOp, attn::NotOp, attn::CastOp, attn::ScaleOp,
            attn::ActivationOp, attn::WhereOp, attn::MaskOp>([&](Operation *o) {
        convertElementwise(*o);
        return success();
      })
      .Default([&](Operation *other) { return convertRagged(*other); });
}

LogicalResult AttnConverter::convertRagged(Operation &op) {
  Location loc = op.getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](attn::RaggedBatchOp o) { return convertRaggedBatch(o); })
      .Case([&](attn::DecodeBatchOp o) { return convertDecodeBatch(o); })
      .Case([&](attn::GetCacheOp o) {
        lowered[o.getResult()] = b.create<kern::GetCacheOp>(
            loc, getCacheType(o.getType()), o.getCacheAttr());
        return success();
      })
      .Case([&](attn::RopeTableOp o) { return convertRopeTable(o), success(); })
      .Case([&](attn::RopeOp o) {
        b.create<kern::RopeOp>(
            loc, buffer(o.getInput()), buffer(o.getRopeTable()),
            outBuffer(o.getResult()), o.getHeadsAttr(), o.getInterleavedAttr());
        return success();
      })
      .Case([&](attn::GatherRowsOp o) {
        b.create<kern::GatherRowsOp>(loc, buffer(o.getInput()),
                                     getLowered(o.getRagged()),
                                     outBuffer(o.getResult()));
        return success();
      })
      .Case([&](attn::ScatterRowsOp o) {
        b.create<kern::ScatterRowsOp>(loc, buffer(o.getInput()),
                                      getLowered(o.getRagged()),
                                      outBuffer(o.getResult()));
        return success();
      })
      .Default(
          [](Operation *other) { return other->emitOpError("has no kernel"); });
}

/// True for a lowered value that is in the artifact.
static bool isWeight(Value lowered) {
  return isa<kern::WeightType>(lowered.getType());
}

void AttnConverter::convertEmbedding(attn::EmbeddingOp op) {
  double scale = op.getScale().convertToDouble();
  Value ids = buffer(op.getIds()), table = getLowered(op.getTable()),
        out = outBuffer(op.getResult());
  if (isWeight(table)) {
    b.create<kern::EmbeddingOp>(op.getLoc(), ids, table, out,
                                ArrayRef<double>{scale});
    return;
  }
  // A table that the graph computes.
  Value rows = scale == 1
                   ? out
                   : alloc(op.getLoc(), cast<kern::BufferType>(out.getType()));
  b.create<kern::GatherOp>(op.getLoc(), table, ids, rows);
  if (scale != 1)
    elementwise(op.getLoc(), rows, out,
                [&](OpBuilder &inner, ValueRange x) -> Value {
                  Value factor = inner.create<arith::ConstantOp>(
                      op.getLoc(), inner.getF32FloatAttr(scale));
                  return inner.create<arith::MulFOp>(op.getLoc(), x[0], factor);
                });
}

LogicalResult AttnConverter::convertNorm(Operation &op) {
  auto layer = dyn_cast<attn::LayerNormOp>(op);
  Value gamma = getLowered(op.getOperand(1)),
        beta = layer && layer.getBeta() ? getLowered(layer.getBeta()) : Value();
  if (!isWeight(gamma) || (beta && !isWeight(beta)))
    return op.emitOpError("expects gamma and beta to be weights");
  auto eps = op.getAttrOfType<FloatAttr>("eps");
  b.create<kern::NormOp>(op.getLoc(), buffer(op.getOperand(0)), gamma, beta,
                         outBuffer(op.getResult(0)), Value(), eps,
                         layer ? UnitAttr() : b.getUnitAttr());
  return success();
}

void AttnConverter::convertLinear(attn::LinearOp op) {
  Value input = buffer(op.getInput());
  if (!isWeight(getLowered(op.getWeight())) ||
      (op.getBias() && !isWeight(getLowered(op.getBias())))) {
    // The graph computes the weight: a product of two activations.
    Value out = outBuffer(op.getResult());
    Value product =
        op.getBias() ? alloc(op.getLoc(), cast<kern::BufferType>(out.getType()))
                     : out;
    b.create<kern::BatchMatmulOp>(
        op.getLoc(), input, transposeLast(op.getLoc(), buffer(op.getWeight())),
        product);
    if (op.getBias())
      elementwise(op.getLoc(), {product, getLowered(op.getBias())}, out,
                  [&](OpBuilder &inner, ValueRange x) -> Value {
                    return inner.create<arith::AddFOp>(op.getLoc(), x[0], x[1]);
                  });
    return;
  }
  Value bias = op.getBias() ? getLowered(op.getBias()) : Value();
  b.create<kern::GemmOp>(op.getLoc(), input, getLowered(op.getWeight()), bias,
                         outBuffer(op.getResult()));
}

void AttnConverter::convertMatmul(attn::MatmulOp op) {
  Value lhs = buffer(op.getLhs()), rhs = buffer(op.getRhs());
  if (op.getTransposeLhs())
    lhs = transposeLast(op.getLoc(), lhs);
  if (op.getTransposeRhs())
    rhs = transposeLast(op.getLoc(), rhs);
  b.create<kern::BatchMatmulOp>(op.getLoc(), lhs, rhs,
                                outBuffer(op.getResult()));
}

void AttnConverter::convertElementwise(Operation &op) {
  SmallVector<Value> inputs;
  for (Value operand : op.getOperands())
    inputs.push_back(getLowered(operand));
  elementwise(op.getLoc(), inputs, outBuffer(op.getResult(0)),
              [&](OpBuilder &inner, ValueRange scalars) {
                return emitScalarOp(inner, op, scalars);
              });
}

void AttnConverter::convertConcat(attn::ConcatOp op) {
  Value out = outBuffer(op.getResult());
  Polynomial at;
  for (Value input : op.getInputs()) {
    Value source = buffer(input);
    Polynomial size =
        cast<kern::BufferType>(source.getType()).getDims()[op.getAxis()];
    b.create<kern::CopyOp>(op.getLoc(), source, out, op.getAxis(), "0",
                           at.str(), size.str());
    at = at + size;
  }
}

void AttnConverter::convertSlice(attn::SliceOp op) {
  b.create<kern::CopyOp>(
      op.getLoc(), buffer(op.getInput()), outBuffer(op.getResult()),
      op.getAxis(), std::to_string(op.getStart()), "0", op.getSize().str());
}

void AttnConverter::convertPosition(attn::PositionOp op) {
  Value out = outBuffer(op.getResult());
  if (op.getKind() == attn::PositionKind::NonpadRank) {
    b.create<kern::PositionsOp>(op.getLoc(), buffer(op.getIds()), out,
                                b.getI64IntegerAttr(op.getPad()));
    return;
  }
  Value ragged;
  if (op.getRagged()) {
    ragged = getLowered(op.getRagged());
  } else {
    SmallVector<Polynomial> dims = attn::getSymbolicShape(op.getType());
    ragged = uniformBatch(op.getLoc(), dims[0], dims[1]);
  }
  b.create<kern::ColumnsOp>(op.getLoc(), ragged, out);
}

void AttnConverter::convertPool(attn::PoolOp op) {
  Value ragged, mask = op.getMask() ? buffer(op.getMask()) : Value();
  if (op.getRagged()) {
    ragged = getLowered(op.getRagged());
  } else {
    SmallVector<Polynomial> dims =
        attn::getSymbolicShape(op.getInput().getType());
    ragged = uniformBatch(op.getLoc(), dims[0], dims[1]);
  }
  b.create<kern::PoolOp>(
      op.getLoc(), buffer(op.getInput()), ragged, mask,
      outBuffer(op.getResult()),
      *kern::symbolizePoolKind(attn::stringifyPoolKind(op.getKind())));
}

void AttnConverter::convertConstant(attn::ConstantOp op) {
  auto values = cast<DenseElementsAttr>(op.getValue());
  Value out = alloc(op.getLoc(), bufferType(op.getType()));
  lowered[op.getResult()] = out;
  if (values.isSplat()) {
    elementwise(
        op.getLoc(), {}, out, [&](OpBuilder &inner, ValueRange) -> Value {
          return inner.create<arith::ConstantOp>(
              op.getLoc(), cast<TypedAttr>(values.getSplatValue<Attribute>()));
        });
    return;
  }
  // Other constants are weights, converted where they are not f32.
  std::vector<double> data;
  Type element = values.getElementType();
  for (Attribute value : values.getValues<Attribute>())
    data.push_back(
        isa<FloatAttr>(value)
            ? cast<FloatAttr>(value).getValueAsDouble()
            : double(cast<IntegerAttr>(value).getValue().getSExtValue() != 0 &&
                             element.isInteger(1)
                         ? 1
                         : cast<IntegerAttr>(value).getValue().getSExtValue()));
  std::vector<int64_t> shape(values.getType().getShape());
  Value constant = makeWeight(op.getLoc(), "constant", shape,
                              WeightExpr::values(shape, data));
  elementwise(op.getLoc(), constant, out,
              [&](OpBuilder &inner, ValueRange scalars) -> Value {
                if (element.isF32())
                  return scalars[0];
                if (element.isInteger(1)) {
                  Value zero = inner.create<arith::ConstantOp>(
                      op.getLoc(), inner.getF32FloatAttr(0));
                  return inner.create<arith::CmpFOp>(
                      op.getLoc(), arith::CmpFPredicate::UNE, scalars[0], zero);
                }
                return inner.create<arith::FPToSIOp>(op.getLoc(), element,
                                                     scalars[0]);
              });
}

LogicalResult AttnConverter::convertRaggedBatch(attn::RaggedBatchOp op) {
  Value mask = op.getMask();
  while (auto cast = mask.getDefiningOp<attn::CastOp>())
    mask = cast.getInput();
  if (!isa<BlockArgument>(mask))
    return op.emitOpError("expects a mask that is an input of the entry");
  int64_t index = entry.raggedBatches++;
  attn::RaggedType names = op.getType();
  entry.symbols.insert({names.getRows().str(), names.getKeys().str()});
  auto type = kern::RaggedType::get(b.getContext(), index);
  lowered[op.getResult()] = b.create<kern::RaggedBatchOp>(
      op.getLoc(), type, getLowered(mask), b.getStringAttr(""),
      b.getStringAttr(""), names.getRows(), names.getKeys(),
      op.getKeepFirstAttr());
  return success();
}

AttnConverter::AttentionMemory
AttnConverter::attentionMemory(Location loc, attn::SdpaOp op, bool ownKeys,
                               int64_t valueSize) {
  auto forced =
      op->getParentOfType<ModuleOp>()->getAttrOfType<kern::ScheduleAttr>(
          "transom.attention_schedule");
  AttentionMemory memory;
  if (forced)
    memory.schedule = forced.getValue();
  kern::AttentionSchedule schedule = memory.schedule;
  auto perWorker = [&](int64_t count, Type element) {
    Polynomial dims[] = {Polynomial::symbol("parts"), count};
    return alloc(loc, kern::BufferType::get(b.getContext(), dims, element));
  };
  memory.scratch = perWorker(
      kern::getAttentionScratchFloats(schedule, valueSize), b.getF32Type());
  using Kind = kern::AttentionSchedule::Kind;
  // Where queries are the keys' rows, there are at least as many work items as
  // KV blocks, and nothing is gained by distributing the blocks.
  if (schedule.kind != Kind::SplitKv &&
      (schedule.kind != Kind::Auto || ownKeys))
    return memory;
  memory.partials =
      perWorker(kern::kSplitKvSlots * kern::getAttentionSlotFloats(valueSize),
                b.getF32Type());
  memory.counters = perWorker(kern::kSplitKvSlots, b.getI64Type());
  auto clear =
      b.create<kern::ElementwiseOp>(loc, ValueRange(), memory.counters);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&clear.getBody());
  Value zero = b.create<arith::ConstantIntOp>(loc, 0, 64);
  b.create<kern::YieldOp>(loc, zero);
  return memory;
}

LogicalResult AttnConverter::convertDecodeBatch(attn::DecodeBatchOp op) {
  if (entry.sequences)
    return op.emitOpError("expects to be the only one of its entry");
  attn::RaggedType names = op.getResult().getType();
  entry.symbols.insert({names.getRows().str(), names.getKeys().str()});
  auto type = kern::RaggedType::get(b.getContext(), entry.raggedBatches++);
  entry.sequences = b.create<kern::DecodeBatchOp>(
      op.getLoc(), type, names.getRows(), names.getKeys());
  lowered[op.getResult()] = entry.sequences;
  return success();
}

void AttnConverter::convertRopeTable(attn::RopeTableOp op) {
  int64_t limit = op.getLimit();
  ArrayRef<double> frequencies = op.getFrequencies();
  int64_t shape[] = {int64_t(llvm::divideCeil(limit, kvBlockSize)) +
                         kvBlockSize,
                     2 * int64_t(frequencies.size())};
  Value angles =
      makeWeight(op.getLoc(), "angles", shape,
                 WeightExpr::angles(limit, op.getFactor().convertToDouble(),
                                    {frequencies.begin(), frequencies.end()}));
  b.create<kern::RopeTableOp>(op.getLoc(), buffer(op.getPositions()), angles,
                              outBuffer(op.getResult()));
}

AttnConverter::AttentionRows AttnConverter::attentionRows(attn::SdpaOp op) {
  Location loc = op.getLoc();
  AttentionRows rows;
  if (op.getRagged()) {
    rows.queries = rows.keys = getLowered(op.getRagged());
  } else {
    SmallVector<Polynomial> queryDims =
                                attn::getSymbolicShape(op.getQuery().getType()),
                            keyDims =
                                attn::getSymbolicShape(op.getKey().getType());
    rows.queries = uniformBatch(loc, queryDims[0], queryDims[1]);
    rows.keys = uniformBatch(loc, keyDims[0], keyDims[1]);
  }
  if (!op.getMask())
    return rows;
  rows.mask = buffer(op.getMask());
  SmallVector<Polynomial> dims = attn::getSymbolicShape(op.getMask().getType());
  if (op.getMaskKind() == attn::MaskKind::Keys) {
    Polynomial wide[] = {dims[0], 1, 1, dims[1]};
    auto type = kern::BufferType::get(
        b.getContext(), wide,
        cast<kern::BufferType>(rows.mask.getType()).getElementType());
    rows.mask = b.create<kern::ViewOp>(loc, type, rows.mask);
  }
  return rows;
}

LogicalResult AttnConverter::convertSdpa(attn::SdpaOp op) {
  Location loc = op.getLoc();
  Value query = buffer(op.getQuery()), key = buffer(op.getKey()),
        value = buffer(op.getValue()), cache, slopes, relativeBias;
  if (op.getSlopes())
    slopes = getLowered(op.getSlopes());
  if (op.getRelativeBias())
    relativeBias = getLowered(op.getRelativeBias());
  if ((slopes && !isWeight(slopes)) ||
      (relativeBias && !isWeight(relativeBias)))
    return op.emitOpError("expects slopes and relative bias to be weights");
  AttentionRows rows = attentionRows(op);
  bool hasPast =
      entry.sequences && rows.keys.getType() == entry.sequences.getType();
  if (hasPast != bool(op.getCache()))
    return op.emitOpError("expects a cache exactly where its ragged are "
                          "those of 'attn.decode_batch'");
  // In a ragged batch of a mask some columns have no token.
  bool byColumn =
      op.getRagged() && !hasPast && (op.getWindow() || slopes || relativeBias);
  Value out = outBuffer(op.getResult());
  int64_t dv =
      *cast<kern::BufferType>(out.getType()).getDims().back().constant() /
      op.getHeads();
  bool ownKeys = !op.getCache() && rows.queries == rows.keys;
  AttentionMemory memory = attentionMemory(loc, op, ownKeys, dv);
  if (op.getCache()) {
    cache = getLowered(op.getCache());
    b.create<kern::AppendOp>(loc, key, value, rows.keys, cache);
    key = value = Value();
  } else {
    key = keyPanels(loc, key, rows.keys);
  }
  b.create<kern::AttentionOp>(
      loc, query, key, value, rows.queries, rows.keys, cache, slopes,
      relativeBias, rows.mask, memory.scratch, memory.partials, memory.counters,
      out, op.getHeadsAttr(), op.getKvHeadsAttr(), op.getScaleAttr(),
      op.getCausalAttr(), op.getWindowAttr(),
      byColumn ? b.getUnitAttr() : UnitAttr(), op.getSoftCapAttr(),
      op.getMaskValueAttr(),
      kern::ScheduleAttr::get(b.getContext(), memory.schedule));
  return success();
}
