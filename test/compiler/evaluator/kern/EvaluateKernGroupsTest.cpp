// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A size and a table that one phase writes and the next ones use: the result,
// and the errors without a barrier or beyond a bound.
#include "compiler/evaluator/Evaluator.h"
#include "compiler/pipeline/Register.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/kernel/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

constexpr const char *text = R"mlir(
!groups = !kern.buffer<[rows, 2] x i64>
!scales = !kern.buffer<[rows, 2] x f32>
!tokens = !kern.buffer<[routed] x i64>
!offsets = !kern.buffer<[4] x i64>
!x = !kern.buffer<[rows, 2] x f32>
!packed = !kern.buffer<[routed, 2] x f32>
kern.bounded_size @routed bound "2*rows"
func.func @run(%g: !groups {attn.name = "groups"}, %s: !scales {attn.name = "scales"}, %x: !x {attn.name = "x"},
               %o: !offsets {attn.name = "offsets"}, %y: !x {attn.name = "y"})
    attributes {kern.inputs = 3 : i64, kern.symbols = ["routed", "rows"]} {
  %t = kern.alloc : !tokens
  %p = kern.alloc : !groups
  kern.group_tokens %g outs(%t, %o, %p) size @routed : !groups, !tokens, !offsets, !groups
  %ones = kern.alloc : !packed
  kern.elementwise ins() outs(%ones) {
    %c = arith.constant 1.0 : f32
    kern.yield %c : f32
  } : () -> !packed
  %r = kern.alloc : !packed
  kern.gather %x, %t outs(%r) : !x, !tokens, !packed
  %q = kern.alloc : !packed
  kern.elementwise ins(%r, %ones) outs(%q) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    kern.yield %c : f32
  } : (!packed, !packed) -> !packed
  kern.combine_groups %q, %p, %s outs(%y) : !packed, !groups, !scales, !x
  return
}
)mlir";

class KernGroups : public ::testing::Test {
protected:
  void SetUp() override {
    DialectRegistry registry;
    registerTransomDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
  }

  void plan() {
    PassManager manager(&context);
    manager.addPass(createFormPhasesPass());
    manager.addPass(createPlanMemoryPass());
    ASSERT_TRUE(succeeded(manager.run(*module)));
    auto function = module->lookupSymbol<func::FuncOp>("run");
    phases = llvm::to_vector(function.getOps<kern::PhaseOp>());
    ASSERT_GE(phases.size(), 2u);
  }

  /// Runs three tokens with these groups; returns the error, or an empty
  /// string.
  std::string run(std::vector<int64_t> groups) {
    auto result = evaluate(
        *module, "run",
        {{"groups", Tensor::of({3, 2}, std::move(groups))},
         {"scales", Tensor::of({3, 2}, std::vector<double>{1, 2, 3, 4, 5, 6})},
         {"x", Tensor::of({3, 2}, std::vector<double>{0, 1, 2, 3, 4, 5})}});
    if (result)
      outputs = *result;
    return result ? "" : result.error().message;
  }

  void expectResult() {
    EXPECT_EQ(run({2, 0, -1, 2, 0, -1}), "");
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_EQ(outputs[0].tensor.getReals(), (std::vector<double>{0, 2, 2, 4}));
    EXPECT_EQ(outputs[1].tensor.getReals(),
              (std::vector<double>{3, 6, 12, 16, 25, 30}));
  }

  static bool says(const std::string &error, StringRef what) {
    return StringRef(error).contains("'kern.") &&
           StringRef(error).contains(what);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SmallVector<kern::PhaseOp> phases;
  std::vector<NamedTensor> outputs;
};

TEST_F(KernGroups, computesTheResult) { expectResult(); }

TEST_F(KernGroups, computesTheResultOnPlannedMemory) {
  plan();
  expectResult();
  EXPECT_EQ(run({-1, -1, -1, -1, -1, -1}), "");
  EXPECT_EQ(outputs[1].tensor.getReals(), std::vector<double>(6, 0));
}

TEST_F(KernGroups, findsAGroupThatDoesNotExist) {
  plan();
  std::string error = run({0, 1, 2, 3, 0, 1});
  EXPECT_TRUE(says(error, "group 3 of token 1, but there are 3 groups"))
      << error;
}

TEST_F(KernGroups, findsASizeOverItsBound) {
  plan();
  auto size = module->lookupSymbol<kern::BoundedSizeOp>("routed");
  size.setBoundAttr(StringAttr::get(&context, "rows+1"));
  EXPECT_EQ(run({0, 1, 2, -1, -1, 0}), "");
  std::string error = run({0, 1, 2, 0, 1, -1});
  EXPECT_TRUE(says(error, "size 'routed' is 5, over its bound 4")) << error;
}

TEST_F(KernGroups, findsAPositionOutOfTheRows) {
  // Nothing has written the rows after the size, though the bound includes
  // them.
  plan();
  module->walk([&](kern::CombineGroupsOp op) {
    op.getPositionsMutable().assign(
        op->getParentOfType<func::FuncOp>().getArgument(0));
  });
  std::string error = run({0, 1, 2, -1, -1, -1});
  EXPECT_EQ(error, "");
  error = run({2, 1, -1, -1, -1, -1});
  EXPECT_TRUE(says(error, "reads what nothing wrote")) << error;
}

TEST_F(KernGroups, findsAMissingBarrierAtTheTable) {
  plan();
  Block &first = phases[0].getBody().front();
  Block &second = phases[1].getBody().front();
  first.getOperations().splice(first.end(), second.getOperations());
  phases[1].erase();
  std::string error = run({0, 1, 2, -1, -1, 0});
  EXPECT_TRUE(says(error, "uses the size 'routed', which no phase before this "
                          "one writes"))
      << error;
}

TEST_F(KernGroups, findsATableThatNothingWrote) {
  plan();
  phases[0].erase();
  std::string error = run({0, 1, 2, -1, -1, 0});
  EXPECT_TRUE(says(error, "uses the size 'routed'")) << error;
}

} // namespace
