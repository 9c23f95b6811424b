// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lines in a listing, and its operation locations.
#include "compiler/driver/CodeListing.h"
#include "dialects/common/Location.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

constexpr const char *text = R"mlir(
!x = !kern.buffer<[rows, 8] x f32>
func.func @f(%x: !x) {
  kern.phase "f.0.softmax" {
    kern.softmax %x outs(%x) : !x, !x loc(fused<"layer.{0-2}.a\nb">["/size"("config.json":0:0)])
    kern.copy %x outs(%x) axis 1 from "0" to "0" size "8" : !x, !x loc("only.a.path")
  } loc(fused<"layer.{0-2}">["/size"("config.json":0:0)])
  return
}
)mlir";

/// Reads a module and lists it.
class ListedModule : public ::testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<kern::KernDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    listing = makeListing(*module, "m.kern.mlir");
    for (StringRef line : llvm::split(listing.text, '\n'))
      lines.push_back(line.str());
  }
  /// Returns the line that contains `what`, starting at 1.
  size_t findLine(StringRef what) const {
    for (auto [i, line] : llvm::enumerate(lines))
      if (StringRef(line).contains(what))
        return i + 1;
    return 0;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  CodeListing listing;
  std::vector<std::string> lines;
};

} // namespace

TEST_F(ListedModule, NamesTheLocationOfEachOperation) {
  const size_t phase = findLine("kern.phase"),
               softmax = findLine("kern.softmax");
  ASSERT_TRUE(phase && softmax);
  EXPECT_TRUE(StringRef(lines[phase - 1])
                  .ends_with("{  // layer.{0-2} (config.json: /size)"))
      << lines[phase - 1];
  // A module name may be any string.
  EXPECT_TRUE(StringRef(lines[softmax - 1])
                  .ends_with("  // layer.{0-2}.a\\nb (config.json: /size)"))
      << lines[softmax - 1];
  EXPECT_EQ(listing.notes[phase - 1], "kern.phase f.0.softmax layer.{0-2}");
  EXPECT_EQ(listing.notes[softmax - 1], "kern.softmax layer.{0-2}.a\\nb");
}

TEST_F(ListedModule, ReadsBack) {
  OwningOpRef<ModuleOp> read =
      parseSourceString<ModuleOp>(listing.text, &context);
  ASSERT_TRUE(read);
  EXPECT_EQ(makeListing(*read, "x").notes.size(), listing.notes.size());
}

TEST_F(ListedModule, OperationsAreAtTheirLinesUnderTheirPaths) {
  size_t count = 0;
  listing.module->walk([&](kern::BufferOp op) {
    auto named = dyn_cast<NameLoc>(op->getLoc());
    ASSERT_TRUE(named);
    auto line = dyn_cast<FileLineColLoc>(named.getChildLoc());
    ASSERT_TRUE(line);
    EXPECT_EQ(line.getFilename(), "m.kern.mlir");
    EXPECT_EQ(line.getLine(), findLine(op->getName().getStringRef()));
    ++count;
  });
  EXPECT_EQ(count, 2u);
  // The listed module still has its locations.
  module->walk([&](kern::PhaseOp phase) {
    EXPECT_EQ(getOrigin(phase.getLoc()), "config.json: /size");
  });
}
