// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes added to the pipeline run at their extension point, in order.
#include "compiler/pipeline/ExtensionPoints.h"
#include "compiler/pipeline/Pipeline.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace transom;

namespace {

/// Appends a letter to an attribute of the module, or fails.
struct AppendLetter : PassWrapper<AppendLetter, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AppendLetter)
  explicit AppendLetter(std::string letter) : letter(std::move(letter)) {}
  StringRef getArgument() const override { return "append-letter"; }

  void runOnOperation() override {
    Builder builder(&getContext());
    auto before = getOperation()->getAttrOfType<StringAttr>("test.letters");
    getOperation()->setAttr(
        "test.letters",
        builder.getStringAttr((before ? before.str() : "") + letter));
    if (letter == "!")
      signalPassFailure();
  }

  std::string letter;
};

ExtensionBuilder append(const char *letter) {
  return [letter](OpPassManager &manager) {
    manager.addPass(std::make_unique<AppendLetter>(letter));
  };
}

/// Runs the pass at an extension point on a new module; returns the letters, or
/// nullopt on failure.
std::optional<std::string> run(MLIRContext &context, StringRef flag) {
  context.allowUnregisteredDialects();
  OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
  PassManager manager(&context);
  manager.addPass(createExtensionPass(flag));
  if (failed(manager.run(*module)))
    return std::nullopt;
  auto letters = (*module)->getAttrOfType<StringAttr>("test.letters");
  return letters ? letters.str() : std::string();
}

TEST(ExtensionPoints, allAreInTheTableOfPassesInTheirOrder) {
  std::vector<StringRef> passes, points;
  for (const transom::PassInfo &info : getPasses())
    if (info.flag.starts_with("extension-"))
      passes.push_back(info.flag);
  for (const ExtensionPoint &point : getExtensionPoints())
    points.push_back(point.flag);
  EXPECT_EQ(passes, points);
}

TEST(ExtensionPoints, runsWhatIsRegisteredForThePlaceInOrder) {
  MLIRContext context;
  EXPECT_EQ(run(context, "extension-attn-fused"), "");
  EXPECT_TRUE(
      succeeded(registerExtension("extension-attn-fused", append("a"))));
  EXPECT_TRUE(
      succeeded(registerExtension("extension-attn-fused", append("b"))));
  EXPECT_TRUE(
      succeeded(registerExtension("extension-attn-shaped", append("c"))));
  EXPECT_EQ(run(context, "extension-attn-fused"), "ab");
  EXPECT_EQ(run(context, "extension-attn-shaped"), "c");
  EXPECT_EQ(run(context, "extension-kern-fused"), "");
}

TEST(ExtensionPoints, failsWithAPassThatFails) {
  MLIRContext context;
  EXPECT_TRUE(
      succeeded(registerExtension("extension-kern-fused", append("!"))));
  EXPECT_EQ(run(context, "extension-kern-fused"), std::nullopt);
}

TEST(ExtensionPoints, refusesUnknownPlaces) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(failed(registerExtension("extension-attn", append("d"))));
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "unknown extension point 'extension-attn'; supported: "
                "extension-attn-shaped, extension-attn-fused, "
                "extension-kern-fused"),
            std::string::npos);
}

} // namespace
