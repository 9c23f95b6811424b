// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowering works on a copy and ends in the LLVM dialect.
#include "compiler/pipeline/LowerModule.h"
#include "compiler/pipeline/Register.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

const char kModule[] = R"(
func.func @f(%x: !kern.buffer<[n, 16] x f32>) attributes {kern.symbols = ["n"]} {
  kern.phase "softmax" {
    kern.softmax %x outs(%x) : !kern.buffer<[n, 16] x f32>, !kern.buffer<[n, 16] x f32>
  }
  return
}
)";

class LowerModule : public testing::Test {
protected:
  LowerModule() {
    mlir::DialectRegistry registry;
    registerTransomDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(kModule, &context);
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(LowerModule, LeavesTheModuleAsItWas) {
  ASSERT_TRUE(module);
  mlir::OperationFingerPrint before(*module);
  auto code = lowerModule(*module, "avx2");
  ASSERT_TRUE(mlir::succeeded(code));
  EXPECT_EQ(before, mlir::OperationFingerPrint(*module));
  EXPECT_TRUE(
      (*code)->lookupSymbol<mlir::LLVM::LLVMFuncOp>("transom.p.avx2.softmax"));
  (*code)->walk([](mlir::Operation *op) {
    EXPECT_TRUE(llvm::isa<mlir::ModuleOp>(op) ||
                op->getName().getDialectNamespace() == "llvm");
  });
}

TEST_F(LowerModule, FailsForAnUnknownInstructionSet) {
  ASSERT_TRUE(module);
  mlir::ScopedDiagnosticHandler quiet(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  EXPECT_TRUE(mlir::failed(lowerModule(*module, "sse2")));
}

} // namespace
