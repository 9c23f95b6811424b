// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Size symbols have no values yet, so costs are compared by coefficient sums.
#include "dialects/kern/PhaseLocation.h"
#include "dialects/common/Location.h"
#include "runtime/base/CodeSymbols.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;

static int64_t getWeight(const Polynomial &flops) {
  int64_t sum = 0;
  for (const auto &[monomial, coefficient] : flops.terms())
    sum += coefficient;
  return sum;
}

BufferOp kern::findHeaviestOp(PhaseOp phase) {
  BufferOp heaviest;
  int64_t most = 0;
  for (auto op : phase.getBody().getOps<BufferOp>())
    if (int64_t weight = getWeight(op.flops()); weight > most) {
      most = weight;
      heaviest = op;
    }
  return heaviest;
}

Location kern::getPhaseLocation(PhaseOp phase) {
  BufferOp heaviest = findHeaviestOp(phase);
  return heaviest ? heaviest->getLoc() : phase.getLoc();
}

std::string kern::getPhaseSymbol(StringRef isa, PhaseOp phase) {
  return transom::getPhaseSymbol(isa, phase.getName(),
                                 getModulePath(getPhaseLocation(phase)));
}
