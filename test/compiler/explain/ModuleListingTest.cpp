// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines, model locations and dependences in module listings.
#include "compiler/explain/ModuleListing.h"
#include "compiler/pipeline/Register.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

const char attnModule[] = R"mlir(
#file = loc("config.json":0:0)
#size = loc("/hidden_size"(#file))
#eps = loc("/eps"(#file))
module attributes {attn.remarks = [{kind = "passed", location = "a", pass = "p", reason = "r"}]} {
  attn.weight @w : [8, 8] f32 = #weight.expr<file("a name that is so long that the line of this weight is broken into several")>
  func.func @f(%x: tensor<?x8xf32, #attn.shape<[seq, 8]>>) -> tensor<?x8xf32, #attn.shape<[seq, 8]>> {
    %w = attn.get_weight @w : [8, 8] f32 loc(fused<"layer.0.dense">[#size])
    %y = attn.linear %x, %w : [seq, 8] f32, [8, 8] f32 loc(fused<"layer.0.dense">[#size, #eps])
    %z = attn.add %y, %y : [seq, 8] f32
    return %z : tensor<?x8xf32, #attn.shape<[seq, 8]>>
  }
}
)mlir";

const char kernModule[] = R"mlir(
kern.weight @g : !kern.weight<[16] x f32, rows> = #weight.expr<file("g")>
func.func @f(%x: !kern.buffer<[n, 16] x f32>) attributes {kern.symbols = ["n"]} {
  %a = kern.alloc : !kern.buffer<[n, 16] x f32>
  %g = kern.get_weight @g : !kern.weight<[16] x f32, rows>
  kern.phase "one" {
    kern.softmax %x outs(%a) : !kern.buffer<[n, 16] x f32>, !kern.buffer<[n, 16] x f32>
  }
  kern.phase "two" {
    kern.norm %a, %g outs(%x) eps 1.0e-5 : !kern.buffer<[n, 16] x f32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[n, 16] x f32>
  }
  return
}
)mlir";

class ModuleListingTest : public testing::Test {
protected:
  ModuleListingTest() {
    DialectRegistry registry;
    registerTransomDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  ModuleListing list(const char *text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return listModule(*module);
  }

  /// Returns the index of the first operation with that name.
  static int find(const ModuleListing &listing, llvm::StringRef name) {
    for (size_t i = 0; i < listing.operations.size(); ++i)
      if (listing.operations[i].name == name)
        return static_cast<int>(i);
    ADD_FAILURE() << "no " << name.str();
    return 0;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(ModuleListingTest, LinesAreThoseOfTheOperations) {
  for (const char *text : {attnModule, kernModule}) {
    const ModuleListing listing = list(text);
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(listing.text).split(lines, '\n');
    for (const ListedOperation &op : listing.operations) {
      // `module`, `func.func` and `return` are printed without their dialects.
      llvm::StringRef name = op.name;
      if (name == "builtin.module" || name == "func.return")
        name = name.split('.').second;
      ASSERT_LT(op.line, lines.size());
      EXPECT_TRUE(lines[op.line].contains(name))
          << lines[op.line].str() << " of " << op.name;
    }
  }
}

TEST_F(ModuleListingTest, OriginsAreThoseOfAllChildrenOfALocation) {
  const ModuleListing listing = list(attnModule);
  const ListedOperation &op = listing.operations[find(listing, "attn.linear")];
  EXPECT_EQ(op.location, "layer.0.dense");
  EXPECT_EQ(op.origins, (std::vector<std::string>{"config.json: /hidden_size",
                                                  "config.json: /eps"}));
  EXPECT_EQ(listing.operations[op.parent].name, "func.func");
}

TEST_F(ModuleListingTest, OperandsAreOperationsOnce) {
  const ModuleListing listing = list(attnModule);
  const int linear = find(listing, "attn.linear");
  EXPECT_EQ(listing.operations[linear].operands,
            (std::vector<int>{find(listing, "attn.get_weight")}));
  EXPECT_EQ(listing.operations[find(listing, "attn.add")].operands,
            (std::vector<int>{linear}));
}

TEST_F(ModuleListingTest, ReadersDependOnTheLastWriterOfABuffer) {
  const ModuleListing listing = list(kernModule);
  const int softmax = find(listing, "kern.softmax");
  EXPECT_EQ(listing.operations[softmax].operands, (std::vector<int>{}));
  EXPECT_EQ(listing.operations[find(listing, "kern.norm")].operands,
            (std::vector<int>{find(listing, "kern.get_weight"), softmax}));
}

TEST_F(ModuleListingTest, RemarksAreNotPartOfTheText) {
  const ModuleListing listing = list(attnModule);
  EXPECT_FALSE(llvm::StringRef(listing.text).contains("attn.remarks"));
  EXPECT_TRUE((*module)->hasAttr("attn.remarks"));
  EXPECT_FALSE(llvm::StringRef(listing.text).contains("loc("));
}

TEST_F(ModuleListingTest, JsonHasTablesAndRows) {
  std::string text;
  JsonWriter json(text);
  ModuleListing listing;
  listing.text = "module {\n}\n";
  listing.operations.push_back({0, "builtin.module", "m", {"f: /a"}, -1, {}});
  listing.operations.push_back({1, "attn.add", "m", {"f: /a", "f"}, 0, {0}});
  writeListing(json, listing);
  EXPECT_EQ(text, R"({"text":"module {\n}\n","operations":[[0,0,0,[0],-1,[]],)"
                  R"([1,1,0,[0,1],0,[0]]],"names":["builtin.module",)"
                  R"("attn.add"],"locations":["m"],"origins":["f: /a","f"]})");
}

} // namespace
