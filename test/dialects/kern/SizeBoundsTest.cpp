// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Properties of bounded sizes that are known before a call, and their uses in
// operations.
#include "dialects/kern/SizeBounds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

using Names = std::vector<std::string>;

namespace {

constexpr const char *text = R"mlir(
kern.bounded_size @n bound "2*rows"
kern.bounded_size @m bound "rows+7"
func.func @f(%g: !kern.buffer<[rows, 2] x i64>, %t: !kern.buffer<[n] x i64>, %o: !kern.buffer<[9] x i64>,
             %p: !kern.buffer<[rows, 2] x i64>, %x: !kern.buffer<[m*n, 8] x f32>) {
  kern.group_tokens %g outs(%t, %o, %p) size @n : !kern.buffer<[rows, 2] x i64>, !kern.buffer<[n] x i64>,
      !kern.buffer<[9] x i64>, !kern.buffer<[rows, 2] x i64>
  kern.softmax %x outs(%x) : !kern.buffer<[m*n, 8] x f32>, !kern.buffer<[m*n, 8] x f32>
  return
}
)mlir";

Polynomial poly(const char *text) { return *Polynomial::parse(text); }

/// Reads a module.
class SizeBounds : public ::testing::Test {
protected:
  OwningOpRef<ModuleOp> parse(const char *text) {
    context.loadDialect<kern::KernDialect, func::FuncDialect>();
    return parseSourceString<ModuleOp>(text, &context);
  }
  MLIRContext context;
};

} // namespace

TEST_F(SizeBounds, replacesSizesByTheirBounds) {
  OwningOpRef<ModuleOp> module = parse(text);
  ASSERT_TRUE(module);
  kern::SizeBounds bounds(*module);
  EXPECT_FALSE(bounds.isEmpty());
  EXPECT_EQ(bounds.getBound(poly("4*rows+3")), poly("4*rows+3"));
  EXPECT_EQ(bounds.getBound(poly("3*n+rows")), poly("7*rows"));
  EXPECT_EQ(bounds.getBound(poly("m*n")), poly("2*rows*rows+14*rows"));
}

TEST_F(SizeBounds, listsWhatAnOperationUses) {
  OwningOpRef<ModuleOp> module = parse(text);
  ASSERT_TRUE(module);
  kern::SizeBounds bounds(*module);
  std::vector<Names> used;
  module->walk([&](kern::BufferOp op) { used.push_back(bounds.getUsed(op)); });
  // The sort uses nothing: it writes its list size.
  EXPECT_EQ(used, (std::vector<Names>{{}, {"m", "n"}}));
}

TEST_F(SizeBounds, isEmptyWithoutDeclarations) {
  OwningOpRef<ModuleOp> module = parse("func.func private @f()");
  ASSERT_TRUE(module);
  kern::SizeBounds bounds(*module);
  EXPECT_TRUE(bounds.isEmpty());
  EXPECT_EQ(bounds.getBound(poly("n")), poly("n"));
}
