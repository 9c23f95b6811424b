// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators on emitted integers: constants are folded, other operands give one
// operation each.
#include "mlir/IR/Matchers.h"
#include "test/passes/lower/emit/EmitFunction.h"

using namespace transom::lower;
using namespace transom::test;

namespace {

int64_t getConstant(mlir::Value index) {
  llvm::APInt value;
  EXPECT_TRUE(mlir::matchPattern(index, mlir::m_ConstantInt(&value)));
  return value.getSExtValue();
}

TEST(Index, ConstantsAreFolded) {
  EmitFunction f;
  Index seven = f.e.i64(7), two = f.e.i64(2);
  EXPECT_EQ(getConstant(seven + two * 3), 13);
  EXPECT_EQ(getConstant(seven - two), 5);
  EXPECT_EQ(getConstant(0 - two), -2);
  EXPECT_EQ(getConstant(seven / two), 3);
  EXPECT_EQ(getConstant(seven % two), 1);
  EXPECT_EQ(getConstant(ceilDiv(seven, two)), 4);
  EXPECT_EQ(getConstant(ceilDiv(seven, 7)), 1);
  EXPECT_EQ(getConstant(min(seven, two)), 2);
  EXPECT_EQ(getConstant(max(seven - 9, 0)), 0);
}

TEST(Index, OperatorsEmitOneOperationEach) {
  EmitFunction f;
  Index x = f.argument(0), y = f.argument(1);
  f.finish(select(x < y, x * 4, ceilDiv(x, y)));
  EXPECT_EQ(f.operations(),
            "arith.cmpi arith.constant arith.muli arith.constant arith.subi "
            "arith.addi arith.divui arith.select llvm.return");
}

TEST(Index, TimesOneEmitsNothing) {
  EmitFunction f;
  Index x = f.argument(0);
  EXPECT_EQ(mlir::Value(x * 1), mlir::Value(x));
}

TEST(Index, LessOrEqualIsNotGreater) {
  EmitFunction f;
  Index x = f.argument(0), y = f.argument(1);
  f.finish(select(logicalAnd(x <= y, x == 3), 1, 0));
  EXPECT_EQ(f.operations(),
            "arith.cmpi arith.constant arith.xori arith.constant arith.cmpi "
            "arith.andi arith.constant arith.constant arith.select "
            "llvm.return");
}

TEST(Index, IsNullByDefault) {
  EmitFunction f;
  EXPECT_FALSE(Index());
  EXPECT_TRUE(f.argument(0));
}

} // namespace
