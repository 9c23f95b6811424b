// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules accept equal mutants and no near misses.
#include "test/mutation/EqualMutants.h"
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

class EqualMutants : public ::testing::Test {
protected:
  EqualMutants() {
    context.loadDialect<attn::AttnDialect, kern::KernDialect,
                        arith::ArithDialect, func::FuncDialect>();
  }

  /// A function with these operations, `%x` and three weights.
  OwningOpRef<ModuleOp> parse(const std::string &operations) {
    std::string text = R"mlir(
!x = tensor<1x4x8xf32>
!w = tensor<8x8xf32>
!b = tensor<8xf32>
attn.weight @b : !b = #weight.expr<file("b")>
func.func @f(%x: !x, %w: !w) -> !x {
  %b = attn.get_weight @b : !b
)mlir" + operations + "\n  return %y : !x\n}\n";
    return parseSourceString<ModuleOp>(text, &context);
  }

  template <typename OpT> OpT find(ModuleOp module) {
    OpT found;
    module.walk([&](OpT op) { found = op; });
    return found;
  }

  /// The rule for a changed key bias in this attention.
  std::string getRuleOfBias(const std::string &operands,
                            const std::string &attributes = "") {
    auto module = parse("%k = attn.linear %x, %w, %b : !x, !w, !b\n"
                        "%y = attn.sdpa " +
                        operands + " heads 2 kv_heads 2 scale 0.5 <none> " +
                        attributes + " : !x");
    if (!module)
      return "no module";
    auto weight = find<attn::WeightOp>(*module);
    return getEquality(*module, {"attn.weight scaled", weight, {}, {}});
  }

  /// The same for a score offset that goes through these operations.
  std::string getRuleOfOffset(const std::string &operations) {
    auto module = parse(
        "%s = attn.scale %x by 0.5 {offset = 1.0 : f64} : !x\n" + operations);
    if (!module)
      return "no module";
    auto scale = find<attn::ScaleOp>(*module);
    return getEquality(*module, {"attn.scale offset", scale, {}, {}});
  }

  MLIRContext context;
  const std::string shift = "a shift that softmax does not see";
};

} // namespace

TEST_F(EqualMutants, haveTheBiasOfKeys) {
  EXPECT_EQ(getRuleOfBias("%x, %k, %x"), shift);
  EXPECT_EQ(getRuleOfBias("%x, %x, %k"), "") << "of values";
  EXPECT_EQ(getRuleOfBias("%k, %x, %x"), "") << "of queries";
  EXPECT_EQ(getRuleOfBias("%k, %k, %x"), "") << "of queries, too";
  EXPECT_EQ(getRuleOfBias("%x, %k, %x", "{soft_cap = 3.0 : f64}"), "");
}

TEST_F(EqualMutants, haveANumberAddedToScores) {
  EXPECT_EQ(getRuleOfOffset("%y = attn.softmax %s : !x"), shift);
  EXPECT_EQ(getRuleOfOffset("%t = attn.add %s, %x : !x, !x\n"
                            "%y = attn.softmax %t : !x"),
            shift);
  EXPECT_EQ(getRuleOfOffset("%t = attn.activation <tanh> %s : !x\n"
                            "%y = attn.softmax %t : !x"),
            "");
  EXPECT_EQ(getRuleOfOffset("%p = attn.softmax %s : !x\n"
                            "%y = attn.add %s, %p : !x, !x"),
            "")
      << "read beside the softmax";
}

TEST_F(EqualMutants, haveCommutedOperands) {
  auto isCommuted = [&](const std::string &operation) {
    auto module = parse(operation);
    return module &&
           isCommutative(find<attn::GetWeightOp>(*module)->getNextNode());
  };
  EXPECT_TRUE(isCommuted("%y = attn.add %x, %x : !x, !x"));
  EXPECT_FALSE(isCommuted("%y = attn.sub %x, %x : !x, !x"));
}

TEST_F(EqualMutants, haveCommutedInputsOfRegions) {
  auto isCommuted = [&](const std::string &body) {
    auto module =
        parseSourceString<ModuleOp>(
            R"mlir(
!b = !kern.buffer<[n, 4] x f32>
func.func @run(%x: !b, %y: !b) {
  kern.elementwise ins(%x, %x) outs(%y) {
  ^bb0(%a: f32, %b: f32):
)mlir" + body + R"mlir(
    kern.yield %r : f32
  } : (!b, !b) -> !b
  return
}
)mlir",
            &context);
    return module && isCommutative(find<kern::ElementwiseOp>(*module));
  };
  EXPECT_TRUE(isCommuted("%s = arith.addf %a, %b : f32\n"
                         "%r = kern.apply <gelu> %s"));
  EXPECT_TRUE(isCommuted("%s = arith.mulf %a, %a : f32\n"
                         "%t = arith.mulf %b, %b : f32\n"
                         "%r = arith.addf %t, %s : f32"));
  EXPECT_FALSE(isCommuted("%s = kern.apply <gelu> %a\n"
                          "%r = arith.mulf %s, %b : f32"));
  EXPECT_FALSE(isCommuted("%r = arith.subf %a, %b : f32"));
}
