// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests which functions calls may run, and which arguments count: calls by
// name, by function address, through a table, and to unknown functions.
#include "test/mutation/LiveCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom::testing;

namespace {

constexpr const char *text = R"mlir(
llvm.mlir.global internal constant @table() : !llvm.array<2 x ptr> {
  %0 = llvm.mlir.undef : !llvm.array<2 x ptr>
  %1 = llvm.mlir.addressof @storesFirst : !llvm.ptr
  %2 = llvm.insertvalue %1, %0[0] : !llvm.array<2 x ptr>
  %3 = llvm.mlir.addressof @storesSecond : !llvm.ptr
  %4 = llvm.insertvalue %3, %2[1] : !llvm.array<2 x ptr>
  llvm.return %4 : !llvm.array<2 x ptr>
}
llvm.func @external(!llvm.ptr, i64, i64)
llvm.func internal @storesFirst(%to: !llvm.ptr, %a: i64, %b: i64) {
  llvm.store %a, %to {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.return
}
llvm.func internal @storesSecond(%to: !llvm.ptr, %a: i64, %b: i64) {
  llvm.store %b, %to {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.return
}
llvm.func @byName(%to: !llvm.ptr, %x: i64, %y: i64) {
  %a = arith.addi %x, %y : i64
  %b = arith.muli %x, %y : i64
  llvm.call @storesFirst(%to, %a, %b) : (!llvm.ptr, i64, i64) -> ()
  llvm.return
}
llvm.func @byAddress(%to: !llvm.ptr, %x: i64, %y: i64) {
  %a = arith.addi %x, %y : i64
  %b = arith.muli %x, %y : i64
  %f = llvm.mlir.addressof @storesSecond : !llvm.ptr
  llvm.call %f(%to, %a, %b) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  llvm.return
}
llvm.func @byTable(%to: !llvm.ptr, %x: i64, %y: i64) {
  %a = arith.addi %x, %y : i64
  %b = arith.muli %x, %y : i64
  %t = llvm.mlir.addressof @table : !llvm.ptr
  %i = llvm.getelementptr inbounds %t[%x] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %f = llvm.load %i : !llvm.ptr -> !llvm.ptr
  llvm.call %f(%to, %a, %b) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  llvm.return
}
llvm.func @byPointer(%f: !llvm.ptr, %to: !llvm.ptr, %x: i64, %y: i64) {
  %a = arith.addi %x, %y : i64
  %b = arith.muli %x, %y : i64
  llvm.call %f(%to, %a, %b) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  llvm.return
}
llvm.func @outside(%to: !llvm.ptr, %x: i64, %y: i64) {
  %a = arith.addi %x, %y : i64
  %b = arith.muli %x, %y : i64
  %f = llvm.mlir.addressof @external : !llvm.ptr
  llvm.call %f(%to, %a, %b) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  llvm.return
}
llvm.func @caller(%to: !llvm.ptr, %x: i64) {
  %f = llvm.mlir.addressof @byAddress : !llvm.ptr
  llvm.call %f(%to, %x, %x) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  llvm.return
}
)mlir";

class LiveCalls : public ::testing::Test {
protected:
  LiveCalls() {
    context
        .loadDialect<LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    live.emplace(*module);
  }

  LLVM::LLVMFuncOp getFunction(StringRef name) {
    return module->lookupSymbol<LLVM::LLVMFuncOp>(name);
  }
  /// The only operation of this kind in a function.
  template <typename OpT> OpT find(StringRef function) {
    auto found = getFunction(function).getBody().front().getOps<OpT>();
    EXPECT_TRUE(llvm::hasSingleElement(found));
    return *found.begin();
  }
  std::vector<std::string> getCallees(StringRef function) {
    std::vector<std::string> names;
    for (LLVM::LLVMFuncOp callee :
         live->getCallees(find<LLVM::CallOp>(function)))
      names.push_back(callee.getName().str());
    return names;
  }
  /// Returns whether the first and the second value that a function passes
  /// count.
  std::pair<bool, bool> getLiveNumbers(StringRef function) {
    return {live->contains(find<arith::AddIOp>(function)),
            live->contains(find<arith::MulIOp>(function))};
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<LiveCode> live;
};

using Names = std::vector<std::string>;
using Both = std::pair<bool, bool>;

TEST_F(LiveCalls, byNameRunTheFunction) {
  EXPECT_EQ(getCallees("byName"), Names{"storesFirst"});
  EXPECT_EQ(getLiveNumbers("byName"), Both(true, false));
}

TEST_F(LiveCalls, byAddressRunTheFunctionOfTheAddress) {
  EXPECT_EQ(getCallees("byAddress"), Names{"storesSecond"});
  EXPECT_EQ(getLiveNumbers("byAddress"), Both(false, true));
  // The address decides which function runs.
  EXPECT_TRUE(live->contains(find<LLVM::AddressOfOp>("byAddress")));
}

TEST_F(LiveCalls, throughATableMayRunAllOfIt) {
  EXPECT_EQ(getCallees("byTable"), (Names{"storesFirst", "storesSecond"}));
  EXPECT_EQ(getLiveNumbers("byTable"), Both(true, true));
}

TEST_F(LiveCalls, ofUnknownFunctionsUseAllArguments) {
  EXPECT_EQ(getCallees("byPointer"), Names());
  EXPECT_EQ(getLiveNumbers("byPointer"), Both(true, true));
}

TEST_F(LiveCalls, ofFunctionsWithoutABodyUseAllArguments) {
  EXPECT_EQ(getCallees("outside"), Names{"external"});
  EXPECT_EQ(getLiveNumbers("outside"), Both(true, true));
}

TEST_F(LiveCalls, areFollowedBackThroughAddresses) {
  std::set<std::string> names;
  for (Operation *caller : live->getCallers(getFunction("storesSecond")))
    names.insert(cast<LLVM::LLVMFuncOp>(caller).getName().str());
  EXPECT_EQ(names, (std::set<std::string>{"storesSecond", "byAddress",
                                          "byTable", "caller"}));
}

} // namespace
