// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs count a layer body once for each layer that runs it; buffers and phases
// count it once, since all layers use the same ones.
#include "compiler/explain/ModuleSummary.h"
#include "compiler/statistics/ModelCost.h"
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "dialects/kern/SizeBounds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace transom;

namespace {

/// Accumulates one entry's costs.
class EntryCounter {
public:
  EntryCounter(SymbolTableCollection &symbols, const kern::SizeBounds &bounds)
      : symbols(symbols), bounds(bounds) {}

  /// Adds a function's operations, which `runs` layers run.
  void visit(func::FuncOp function, int64_t runs);

  Polynomial flops, bufferBytes;
  int64_t buffers = 0, phases = 0, barriers = 0;

private:
  template <typename LayersOp> void visitLayers(LayersOp layers);

  SymbolTableCollection &symbols;
  const kern::SizeBounds &bounds;
};

} // namespace

/// Returns GEMM and attention FLOPs, with the same convention as for attn.
static Polynomial getProductFlops(Operation &op) {
  if (auto call = dyn_cast<kern::OneDnnOp>(op))
    if (call.getPrimitive() != kern::OneDnnPrimitive::Matmul &&
        call.getPrimitive() != kern::OneDnnPrimitive::BatchMatmul)
      return {};
  if (isa<kern::GemmOp, kern::BatchMatmulOp, kern::GroupGemmOp,
          kern::HeadGemmOp, kern::AttentionOp, kern::OneDnnOp>(op))
    return cast<kern::BufferOp>(op).flops();
  return getFlops(&op);
}

void EntryCounter::visit(func::FuncOp function, int64_t runs) {
  auto addOperation = [&](Operation &op) {
    if (Polynomial cost = getProductFlops(op); cost != Polynomial())
      flops = flops + Polynomial(runs) * bounds.getBound(cost);
  };
  for (Operation &op : function.getBody().front()) {
    if (auto layers = dyn_cast<attn::LayersOp>(op)) {
      visitLayers(layers);
    } else if (auto layers = dyn_cast<kern::LayersOp>(op)) {
      visitLayers(layers);
    } else if (auto phase = dyn_cast<kern::PhaseOp>(op)) {
      ++phases;
      barriers += runs;
      llvm::for_each(phase.getBody().front(), addOperation);
    } else if (auto alloc = dyn_cast<kern::AllocOp>(op)) {
      ++buffers;
      bufferBytes =
          bufferBytes + bounds.getBound(alloc.getType().getByteSize());
    } else {
      addOperation(op);
    }
  }
}

/// Visit each body once, in layer order.
template <typename LayersOp> void EntryCounter::visitLayers(LayersOp layers) {
  llvm::MapVector<Operation *, int64_t> bodies;
  for (auto layer : layers.getLayerRange())
    ++bodies[layers.getBody(layer, symbols)];
  for (auto [body, runs] : bodies)
    visit(cast<func::FuncOp>(body), runs);
}

/// Returns an attn weight's size in bytes.
static int64_t getByteSize(attn::WeightOp weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// Returns true for model and code operations; false for definitions (weights,
/// buffers, sizes) and for operations inside an elementwise body.
static bool computes(Operation *op) {
  if (isa<kern::KernDialect>(op->getDialect()))
    return isa<kern::BufferOp>(op);
  return isa<attn::AttnDialect>(op->getDialect()) &&
         !isa<attn::WeightOp, attn::CacheOp, attn::GetWeightOp,
              attn::GetCacheOp, attn::ConstantOp, attn::RaggedBatchOp,
              attn::DecodeBatchOp, attn::LayersOp>(op);
}

ModuleSummary transom::summarizeModule(ModuleOp module) {
  ModuleSummary summary;
  SymbolTableCollection symbols;
  kern::SizeBounds bounds(module);
  // Terminators do not count.
  DenseMap<OperationName, int64_t> counts;
  module.walk([&](Operation *op) {
    if (op != module && !op->hasTrait<OpTrait::IsTerminator>())
      ++counts[op->getName()];
    summary.functions += isa<FunctionOpInterface>(op);
    summary.computing += computes(op);
  });
  for (auto [name, count] : counts)
    summary.operations[name.getStringRef().str()] = count;
  for (auto weight : module.getOps<attn::WeightOp>()) {
    ++summary.weights;
    summary.weightBytes += getByteSize(weight);
  }
  for (auto weight : module.getOps<kern::WeightOp>()) {
    ++summary.weights;
    summary.weightBytes += weight.getType().getByteSize();
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic())
      continue;
    EntryCounter counter(symbols, bounds);
    counter.visit(function, 1);
    summary.entries.push_back({function.getSymName().str(),
                               {counter.flops.str(), {}},
                               counter.buffers,
                               {counter.bufferBytes.str(), {}},
                               counter.phases,
                               counter.barriers});
  }
  return summary;
}
