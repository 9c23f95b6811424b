// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An LLVM dialect function with two i64 arguments, and an emitter positioned in
// its body.
#pragma once
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/emit/CodeEmitter.h"
#include <gtest/gtest.h>

namespace transom::test {

struct EmitFunction {
  EmitFunction() : context(registry()), builder(&context), e(start()) {}

  lower::Index argument(unsigned i) {
    return e.toIndex(function.getArgument(i));
  }
  void finish(mlir::Value result) {
    builder.create<mlir::LLVM::ReturnOp>(builder.getUnknownLoc(), result);
  }
  /// The operation names in the body, in order.
  std::string operations() {
    std::string names;
    for (mlir::Operation &op : function.getBody().front())
      names += (names.empty() ? "" : " ") + op.getName().getStringRef().str();
    return names;
  }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::LLVM::LLVMFuncOp function;
  lower::CodeEmitter e;

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registry.insert<mlir::arith::ArithDialect, mlir::LLVM::LLVMDialect,
                    mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
    return registry;
  }
  lower::CodeEmitter start() {
    context.loadAllAvailableDialects();
    mlir::Location loc = builder.getUnknownLoc();
    module = mlir::ModuleOp::create(loc);
    builder.setInsertionPointToStart(module->getBody());
    mlir::Type word = builder.getI64Type();
    function = builder.create<mlir::LLVM::LLVMFuncOp>(
        loc, "f", mlir::LLVM::LLVMFunctionType::get(word, {word, word}));
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
    return lower::CodeEmitter(builder, loc, *findInstructionSet("avx2"));
  }
};

} // namespace transom::test
