// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates all GEMMs with norms.
#include "passes/kernel/NormJoiner.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace transom;

/// Allocates words that are zero after the function's first phase.
static Value makeCounters(kern::GemmOp gemm) {
  OpBuilder b = OpBuilder::atBlockBegin(gemm->getBlock());
  auto product = cast<kern::BufferType>(gemm.getOuts()[0].getType());
  auto type = kern::BufferType::get(b.getContext(), {product.getRowCount()},
                                    b.getI64Type());
  Value counters = b.create<kern::AllocOp>(gemm.getLoc(), type, IntegerAttr());
  auto clear =
      b.create<kern::ElementwiseOp>(gemm.getLoc(), ValueRange(), counters);
  b.createBlock(&clear.getBody());
  Value zero = b.create<arith::ConstantIntOp>(gemm.getLoc(), 0, 64);
  b.create<kern::YieldOp>(gemm.getLoc(), zero);
  return counters;
}

kern::GemmOp transom::withNorm(OpBuilder &b, kern::GemmOp gemm,
                               kern::NormOp norm) {
  Value out = norm.getOuts(), copy = norm.getCopy();
  if (!getBufferType(out).isF32())
    std::swap(out, copy);
  Location location =
      fuseLocations(gemm.getContext(), {gemm.getLoc(), norm.getLoc()});
  auto joined = b.create<kern::GemmOp>(
      location, gemm.getInput(), gemm.getWeight(), gemm.getInputScales(),
      gemm.getBias(), gemm.getResidual(), gemm.getRagged(), norm.getGamma(),
      norm.getBeta(), out, copy, norm.getScales(), makeCounters(gemm),
      /*summary=*/ValueRange(), gemm.getOuts(), /*columns=*/Value(),
      /*panels=*/Value(),
      kern::EpilogueAttr::addNorm(gemm.getEpilogueAttr(),
                                  norm.getRms() ? kern::NormKind::RmsNorm
                                                : kern::NormKind::LayerNorm,
                                  norm.getEpsAttr()));
  gemm.erase();
  return joined;
}
