// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emitter's memory and loops. VectorMathTest.cpp and ../ops test vector
// arithmetic by its results.
#include "test/passes/lower/emit/EmitFunction.h"

using namespace transom::lower;
using namespace transom::test;

namespace {

TEST(CodeEmitter, MasksMakeMaskedAccesses) {
  EmitFunction f;
  CodeEmitter &e = f.e;
  mlir::Value pointer = e.stackBuffer(64);
  mlir::Value whole = e.loadVector(e.f32Type(), pointer);
  mlir::Value some =
      e.loadVector(e.f32Type(), pointer, e.laneMask(f.argument(0)));
  EXPECT_TRUE(whole.getDefiningOp<mlir::LLVM::LoadOp>());
  EXPECT_TRUE(some.getDefiningOp<mlir::LLVM::MaskedLoadOp>());
}

TEST(CodeEmitter, StackBuffersAreAtTheTopOfTheFunction) {
  EmitFunction f;
  f.e.forRange(f.argument(0), [](Index) {});
  mlir::Operation &loop = f.function.getBody().front().back();
  ASSERT_TRUE(mlir::isa<mlir::scf::ForOp>(loop));
  EXPECT_TRUE(f.e.stackBuffer(64).getDefiningOp()->isBeforeInBlock(&loop));
}

TEST(CodeEmitter, FoldsCarryValues) {
  EmitFunction f;
  CodeEmitter &e = f.e;
  IndexPair found = e.foldRange(f.argument(0), {e.i64(1), e.i64(2)},
                                [&](Index i, IndexPair sums) -> IndexPair {
                                  return {sums.first + i, sums.second * 2};
                                });
  f.finish(found.first + found.second);
  auto loop = mlir::Value(found.first).getDefiningOp<mlir::scf::ForOp>();
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop.getNumResults(), 2u);
}

TEST(CodeEmitter, LoopsMayBeKeptRolled) {
  EmitFunction f;
  CodeEmitter &e = f.e;
  auto add = [&](Index, mlir::ValueRange sums) {
    return llvm::SmallVector<mlir::Value>{sums[0]};
  };
  auto loop = [&](bool keepRolled) {
    return e
        .forLoop(e.i64(0), f.argument(0), 1, e.splat(0.0), add, keepRolled)[0]
        .getDefiningOp();
  };
  EXPECT_FALSE(loop(false)->hasAttr("llvm.loop_annotation"));
  EXPECT_TRUE(loop(true)->hasAttr("llvm.loop_annotation"));
}

} // namespace
