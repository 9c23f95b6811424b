// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module string, and the same with parts replaced, as a faulty pass would
// leave it.
#pragma once
#include "compiler/verify/VerifyPasses.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace transom::testing {

/// File tensors that only provide shapes.
struct Shapes : TensorSource {
  explicit Shapes(std::map<std::string, std::vector<int64_t>> shapes)
      : shapes(std::move(shapes)) {}

  Result<std::vector<int64_t>> shape(const std::string &name) const override {
    auto found = shapes.find(name);
    return found == shapes.end()
               ? Result<std::vector<int64_t>>(rejected("no '" + name + "'"))
               : found->second;
  }
  Result<void> read(const std::string &name, const std::vector<int64_t> &,
                    const std::vector<int64_t> &, float *) const override {
    return rejected("'" + name + "' is read");
  }

  std::map<std::string, std::vector<int64_t>> shapes;
};

/// Substrings and their replacements.
struct Replacement {
  const char *name;
  std::vector<std::pair<std::string, std::string>> texts;
};

class ReplacementTest : public ::testing::Test {
protected:
  ReplacementTest(const char *text, Shapes files)
      : text(text), files(std::move(files)) {
    context.loadDialect<attn::AttnDialect, mlir::func::FuncDialect>();
    options.source = &this->files;
  }

  /// Parses a string with substrings replaced.
  mlir::OwningOpRef<mlir::ModuleOp> parse(std::string source,
                                          const Replacement &replacement) {
    for (const auto &[from, to] : replacement.texts) {
      size_t at = source.find(from);
      EXPECT_NE(at, std::string::npos) << "no '" << from << "'";
      if (at != std::string::npos)
        source.replace(at, from.size(), to);
    }
    return mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  }
  mlir::OwningOpRef<mlir::ModuleOp> parse(const Replacement &replacement) {
    return parse(text, replacement);
  }

  /// Returns the check's error for a pass that turns `source` into `target`;
  /// empty if it accepts the pass.
  std::string check(mlir::ModuleOp source, mlir::ModuleOp target) {
    if (!source || !target)
      return "no module";
    PassVerifier verifier(options, cases);
    Result<void> started = verifier.start(source);
    if (!started)
      return started.error().message;
    auto difference = verifier.check(target, "the-pass");
    return difference ? difference->str() : "";
  }
  /// The same for a pass that does the replacement.
  std::string check(const Replacement &replacement) {
    auto source = parse({"nothing", {}}), target = parse(replacement);
    return check(source.get(), target.get());
  }

  mlir::MLIRContext context;
  const char *text;
  Shapes files;
  PassVerifierOptions options;
  std::vector<VerifyCase> cases;
};

} // namespace transom::testing
