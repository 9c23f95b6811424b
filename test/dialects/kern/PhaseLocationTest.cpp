// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operation that identifies a phase, and the symbol derived from it.
#include "dialects/kern/PhaseLocation.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

constexpr const char *text = R"mlir(
!x = !kern.buffer<[rows, 8] x f32>
!y = !kern.buffer<[rows, 512] x f32>
func.func @f(%x: !x, %y: !y) {
  kern.phase "f.0.softmax" {
    kern.softmax %x outs(%x) : !x, !x loc(fused<"layer.{0-2,5}.small">["config.json"])
    kern.softmax %y outs(%y) : !y, !y loc(fused<"layer.{0-2,5}.large">["config.json"])
  } loc(fused<"layer.{0-2,5}">["config.json"])
  kern.phase "f.1.copy" {
    kern.copy %x outs(%x) axis 1 from "0" to "0" size "8" : !x, !x loc(fused<"inner">["config.json"])
  } loc(fused<"outer">["config.json"])
  kern.phase "f.2.copy" {
    kern.copy %x outs(%x) axis 1 from "0" to "0" size "8" : !x, !x
  }
  return
}
)mlir";

/// Reads a module of phases.
class PhaseLocation : public ::testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<kern::KernDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    module->walk([&](kern::PhaseOp phase) { phases.push_back(phase); });
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SmallVector<kern::PhaseOp> phases;
};

} // namespace

TEST_F(PhaseLocation, IsThatOfTheOperationThatComputesMost) {
  EXPECT_EQ(getModulePath(kern::findHeaviestOp(phases[0])->getLoc()),
            "layer.{0-2,5}.large");
  EXPECT_EQ(getModulePath(kern::getPhaseLocation(phases[0])),
            "layer.{0-2,5}.large");
}

TEST_F(PhaseLocation, IsThatOfThePhaseWhereNothingIsComputed) {
  EXPECT_FALSE(kern::findHeaviestOp(phases[1]));
  EXPECT_EQ(getModulePath(kern::getPhaseLocation(phases[1])), "outer");
}

TEST_F(PhaseLocation, IsInTheSymbol) {
  EXPECT_EQ(kern::getPhaseSymbol("avx2", phases[0]),
            "transom.p.avx2.f.0.softmax.layer.{0-2+5}.large");
  EXPECT_EQ(kern::getPhaseSymbol("neon", phases[2]), "transom.p.neon.f.2.copy");
}
