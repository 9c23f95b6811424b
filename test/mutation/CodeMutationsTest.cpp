// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks which code is live, and how each fault kind changes a small kernel.
#include "test/mutation/CodeMutations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

constexpr const char *text = R"mlir(
llvm.mlir.global internal constant @kernels() : !llvm.array<1 x ptr> {
  %0 = llvm.mlir.undef : !llvm.array<1 x ptr>
  %1 = llvm.mlir.addressof @transom.k.two : !llvm.ptr
  %2 = llvm.insertvalue %1, %0[0] : !llvm.array<1 x ptr>
  llvm.return %2 : !llvm.array<1 x ptr>
}
llvm.mlir.global internal constant @transom.positions.4.0(dense<[3, 2, 1, 0, 0]> : tensor<5xi32>) : !llvm.array<5 x i32>
llvm.func internal @transom.k.two(%a: !llvm.ptr, %c: !llvm.ptr, %ahead: !llvm.ptr, %n: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %line = arith.constant 64 : i64
  %cst = arith.constant dense<0.0> : vector<16xf32>
  %half = arith.constant dense<0.5> : vector<16xf32>
  %lanes = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi32>
  %tile:2 = scf.for %i = %zero to %n step %one iter_args(%x = %cst, %y = %cst) -> (vector<16xf32>, vector<16xf32>) : i64 {
    %offset = arith.muli %i, %line : i64
    %next = llvm.getelementptr inbounds %ahead[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    "llvm.intr.prefetch"(%next) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()
    %at = llvm.getelementptr inbounds %a[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %v = llvm.load %at {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
    %p = llvm.intr.fma(%v, %v, %x) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %q = llvm.intr.fma(%p, %half, %y) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    scf.yield %p, %q : vector<16xf32>, vector<16xf32>
  }
  %rest = arith.remui %n, %line : i64
  %word = arith.trunci %rest : i64 to i32
  %all = vector.broadcast %word : i32 to vector<16xi32>
  %mask = arith.cmpi sgt, %all, %lanes : vector<16xi32>
  %scaled = arith.mulf %tile#0, %half : vector<16xf32>
  %shifted = arith.addf %scaled, %tile#1 : vector<16xf32>
  %turned = vector.shuffle %shifted, %shifted [1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] : vector<16xf32>, vector<16xf32>
  %sums = llvm.mlir.constant(0 : i8) : i8
  %lhs = llvm.mlir.constant(4 : i8) : i8
  %rhs = llvm.mlir.constant(6 : i8) : i8
  llvm.call_intrinsic "llvm.x86.ldtilecfg"(%c) : (!llvm.ptr) -> ()
  llvm.call_intrinsic "llvm.x86.tileloadd64"(%lhs, %a, %line) : (i8, !llvm.ptr, i64) -> ()
  llvm.call_intrinsic "llvm.x86.tdpbf16ps"(%sums, %lhs, %rhs) : (i8, i8, i8) -> ()
  llvm.call_intrinsic "llvm.x86.tilestored64"(%sums, %a, %line) : (i8, !llvm.ptr, i64) -> ()
  %positions = llvm.mlir.addressof @transom.positions.4.0 : !llvm.ptr
  %position = llvm.load %positions {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.store %position, %c {alignment = 4 : i64} : i32, !llvm.ptr
  %count = llvm.atomicrmw add %c, %one acq_rel : !llvm.ptr, i64
  llvm.store %zero, %c {alignment = 8 : i64} : i64, !llvm.ptr
  %below = llvm.getelementptr inbounds %a[64] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.intr.masked.store %tile#1, %a, %mask {alignment = 4 : i32} : vector<16xf32>, vector<16xi1> into !llvm.ptr
  llvm.intr.masked.store %turned, %below, %mask {alignment = 4 : i32} : vector<16xf32>, vector<16xi1> into !llvm.ptr
  llvm.return
}
llvm.func @transom.p.first(%frame: !llvm.ptr, %n: i64) {
  %table = llvm.mlir.addressof @kernels : !llvm.ptr
  %used = llvm.getelementptr inbounds %frame[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %unused = llvm.getelementptr inbounds %frame[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %kernel = llvm.load %table : !llvm.ptr -> !llvm.ptr
  llvm.call %kernel(%used, %frame, %unused, %n) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return
}
llvm.func @transom.p.second(%frame: !llvm.ptr) {
  llvm.return
}
)mlir";

class CodeMutations : public ::testing::Test {
protected:
  CodeMutations() {
    context.loadDialect<LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect,
                        vector::VectorDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
  }

  /// Operations of one kind, in textual order.
  template <typename OpT> std::vector<OpT> find() {
    std::vector<OpT> found;
    module->walk([&](OpT op) { found.push_back(op); });
    return found;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(CodeMutations, prefetchedAddressesAreNotLive) {
  ASSERT_TRUE(module);
  LiveCode live(*module);
  auto addresses = find<LLVM::GEPOp>();
  ASSERT_EQ(addresses.size(), 5u);
  EXPECT_FALSE(live.contains(addresses[0]));
  EXPECT_TRUE(live.contains(addresses[1]));
  EXPECT_TRUE(live.contains(addresses[2]));
}

TEST_F(CodeMutations, argumentsOfKernelsInTablesAreLiveWhereTheyAreUsed) {
  LiveCode live(*module);
  auto addresses = find<LLVM::GEPOp>();
  EXPECT_TRUE(live.contains(addresses[3]));
  EXPECT_FALSE(live.contains(addresses[4]));
}

TEST_F(CodeMutations, eachKindHasAPlaceAndLeavesValidCode) {
  for (const CodeMutationKind &kind : getCodeMutationKinds())
    for (uint64_t seed = 0; seed < 20; ++seed) {
      OwningOpRef<ModuleOp> mutant(module->clone());
      Random random(seed);
      auto fault = plantFault(*mutant, kind, random);
      ASSERT_TRUE(fault) << kind.name;
      EXPECT_TRUE(succeeded(verify(*mutant))) << kind.name;
      EXPECT_FALSE(OperationEquivalence::isEquivalentTo(
          *mutant, *module, OperationEquivalence::IgnoreLocations))
          << kind.name << ": " << fault->edit.what;
    }
}

TEST_F(CodeMutations, aFaultOfAKernelIsOneOfThePhasesThatCallIt) {
  Random random(1);
  auto fault = plantFault(*module, getCodeMutationKinds()[2], random);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->function, "transom.k.two");
  EXPECT_EQ(fault->phases,
            (std::set<std::string>{"transom.k.two", "transom.p.first"}));
}

TEST_F(CodeMutations, aTrapIsWhereTheFaultIs) {
  Random random(3);
  plantTrap(*module, getCodeMutationKinds()[5], random); // prefetches
  auto traps = find<LLVM::Trap>();
  ASSERT_EQ(traps.size(), 1u);
  EXPECT_TRUE(isa<LLVM::Prefetch>(traps[0]->getNextNode()));
}

TEST_F(CodeMutations, onlyNumbersThatAFaultChangesAreReplaced) {
  // A shuffle uses another lane; the choice is between both results.
  Random random(3);
  ASSERT_TRUE(plantNumber(*module, getCodeMutationKinds()[9], random, 1e30));
  EXPECT_EQ(find<vector::ShuffleOp>().size(), 2u);
  auto choices = find<arith::SelectOp>();
  ASSERT_EQ(choices.size(), 1u);
  EXPECT_TRUE(isa<LLVM::MaskedStoreOp>(*choices[0]->user_begin()));
  EXPECT_TRUE(succeeded(verify(*module)));
}

} // namespace
