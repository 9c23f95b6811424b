// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules for explanation tests.
#pragma once
#include "compiler/pipeline/Register.h"
#include "dialects/kern/Kern.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace transom::test {

/// A module parsed from a string, in its own context.
class ExplainModule {
public:
  explicit ExplainModule(const char *text) {
    mlir::DialectRegistry registry;
    registerTransomDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
  }

  mlir::ModuleOp get() { return *module; }

  /// Returns the first operation with that name.
  kern::BufferOp find(llvm::StringRef name) {
    mlir::Operation *found = nullptr;
    module->walk([&](mlir::Operation *op) {
      if (!found && op->getName().getStringRef() == name)
        found = op;
    });
    EXPECT_TRUE(found) << "no " << name.str();
    return mlir::cast<kern::BufferOp>(found);
  }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace transom::test
