// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces entry results back to the GEMMs that compute them.
#include "passes/kernel/OutputHead.h"
#include "passes/kernel/CastFuser.h"

using namespace mlir;
using namespace transom;

namespace {

/// Traces the results of one entry.
class HeadFinder {
public:
  HeadFinder(func::FuncOp entry, const WeightUses &uses,
             DenseSet<Operation *> &heads)
      : entry(entry), uses(uses), heads(heads) {}

  void run(unsigned inputs) {
    for (BlockArgument result : entry.getArguments().drop_front(inputs))
      if (isa<kern::BufferType>(result.getType()))
        follow(result);
  }

private:
  void follow(Value buffer) {
    Value storage = kern::getStorage(buffer);
    if (!seen.insert(storage).second)
      return; // visited already
    for (Operation &op : entry.getBody().front())
      if (writes(op, storage))
        followWriter(op);
  }

  void followWriter(Operation &op) {
    if (auto gemm = dyn_cast<kern::GemmOp>(op)) {
      // A GEMM with a residual or a norm ends a layer.
      if (!gemm.getResidual() && !gemm.getNormGamma())
        for (kern::WeightOp weight : uses.definitions(gemm.getWeight()))
          heads.insert(weight);
      return;
    }
    auto reader = dyn_cast<kern::BufferOp>(op);
    if (!reader || isa<kern::NormOp, kern::AttentionOp, kern::BatchMatmulOp,
                       kern::HeadGemmOp, kern::GroupGemmOp>(op))
      return; // other matmuls, norms and layers
    for (Value buffer : reader.readBuffers())
      follow(buffer);
  }

  func::FuncOp entry;
  const WeightUses &uses;
  DenseSet<Operation *> &heads;
  DenseSet<Value> seen;
};

} // namespace

DenseSet<Operation *> transom::findOutputHeads(ModuleOp module,
                                               const WeightUses &uses) {
  DenseSet<Operation *> heads;
  for (auto entry : module.getOps<func::FuncOp>())
    if (auto inputs = entry->getAttrOfType<IntegerAttr>("kern.inputs"))
      HeadFinder(entry, uses, heads).run(unsigned(inputs.getInt()));
  return heads;
}
