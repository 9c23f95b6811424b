// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The remark table, and remarks on a module: their order, their fields, their
// messages, and which are dropped.
#include "passes/Remarks.h"
#include "dialects/common/Location.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

class RemarksTest : public ::testing::Test {
protected:
  Location at(StringRef path) {
    return makeLocation(&context, path, "config.json", "/num_layers");
  }
  static RemarkReason headCounts(int64_t query) {
    return {RemarkId::HeadCountsDiffer,
            {{"query", query}, {"value", 8}, {"key", 8}}};
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
};

/// Kebab-case: words with letters and digits.
bool isKebabCase(StringRef name) {
  return !name.empty() && !name.starts_with("-") && !name.ends_with("-") &&
         !name.contains("--") && llvm::all_of(name, [](char c) {
           return llvm::isLower(c) || llvm::isDigit(c) || c == '-';
         });
}

TEST_F(RemarksTest, TheTableHasUniqueNamesAndHelp) {
  llvm::StringSet<> names;
  for (const RemarkInfo &info : getRemarkTable()) {
    std::string name = (info.category + "/" + info.name).str();
    EXPECT_TRUE(names.insert(name).second) << name << " is twice in the table";
    EXPECT_TRUE(isKebabCase(info.name)) << name;
    EXPECT_FALSE(info.text.empty()) << name;
    EXPECT_TRUE(info.help.ends_with(".")) << name << " has no sentence of help";
    EXPECT_EQ(info.text.count('{'), info.text.count('}')) << name;
    EXPECT_EQ(&getRemarkInfo(info.id), &info) << name;
    EXPECT_EQ(findRemarkInfo(info.category, info.name), &info) << name;
  }
  EXPECT_EQ(findRemarkInfo("attn-fuse-attention", "unknown"), nullptr);
}

TEST_F(RemarksTest, AreReadInTheOrderInWhichTheyWereMade) {
  {
    Remarks remarks(*module);
    remarks.report(at("layer.0"), nullptr,
                   {RemarkId::LayersOutlined, {{"layers", 2}}});
  }
  {
    Remarks remarks(*module);
    remarks.report(at("layer.1"), nullptr, headCounts(12));
  }
  std::vector<Remark> all = Remarks::readFrom(*module);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].category, "attn-outline-layers");
  EXPECT_EQ(all[0].name, "layers-outlined");
  EXPECT_EQ(all[0].location, "layer.0");
  EXPECT_EQ(all[0].kind, RemarkKind::Passed);
  EXPECT_EQ(all[0].getArgument("layers"), "2");
  EXPECT_EQ(all[1].category, "attn-fuse-attention");
  EXPECT_EQ(all[1].kind, RemarkKind::Missed);
}

TEST_F(RemarksTest, HaveOriginArgumentsAndMessage) {
  {
    Remarks remarks(*module);
    remarks.report(at("layer.1"), nullptr, headCounts(12));
  }
  Remark remark = Remarks::readFrom(*module).front();
  EXPECT_EQ(remark.file, "config.json");
  EXPECT_EQ(remark.pointer, "/num_layers");
  EXPECT_EQ(remark.function, "");
  ASSERT_EQ(remark.args.size(), 3u);
  EXPECT_EQ(remark.args[0], RemarkArgument("key", 8));
  EXPECT_EQ(remark.args[1], RemarkArgument("query", 12));
  EXPECT_EQ(remark.getMessage(),
            "attention is not fused: the query has 12 heads, the key 8, the "
            "value 8");
}

TEST_F(RemarksTest, EqualRemarksAreKeptOnce) {
  for (int i = 0; i < 2; ++i) {
    Remarks remarks(*module);
    remarks.report(at("layer.0"), nullptr, headCounts(12));
    remarks.report(at("layer.0"), nullptr, headCounts(12));
    remarks.report(at("layer.0"), nullptr, headCounts(10));
  }
  EXPECT_EQ(Remarks::readFrom(*module).size(), 2u);
}

TEST_F(RemarksTest, OfAnUnknownNameHaveItAsMessage) {
  Builder builder(&context);
  Attribute entry = builder.getDictionaryAttr(
      {builder.getNamedAttr("kind", builder.getStringAttr("failure")),
       builder.getNamedAttr("category", builder.getStringAttr("my-pass")),
       builder.getNamedAttr("name", builder.getStringAttr("too-wide"))});
  (*module)->setAttr(Remarks::attributeName, builder.getArrayAttr(entry));
  std::vector<Remark> all = Remarks::readFrom(*module);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, RemarkKind::Failure);
  EXPECT_EQ(all[0].getMessage(), "too-wide");
}

TEST_F(RemarksTest, TextsOfValues) {
  Polynomial seq = Polynomial::symbol("seq");
  EXPECT_EQ(getRemarkText(0.125), "0.125");
  EXPECT_EQ(getRemarkText(64), "64");
  EXPECT_EQ(getRemarkText({Polynomial(2), seq}), "[2, seq]");
  EXPECT_EQ(getRemarkText(module->getOperation()), "'builtin.module'");
  std::vector<Operation *> ops(6, *module);
  EXPECT_EQ(getRemarkText(ArrayRef<Operation *>(ops).take_front(1)),
            "'builtin.module'");
  EXPECT_TRUE(StringRef(getRemarkText(ArrayRef<Operation *>(ops)))
                  .ends_with(", 2 more"));
  EXPECT_EQ(getRemarkText(ArrayRef<Operation *>()), "none");
}

TEST_F(RemarksTest, APassWithoutRemarksSetsNoAttribute) {
  {
    Remarks remarks(*module);
  }
  EXPECT_FALSE((*module)->hasAttr(Remarks::attributeName));
}

} // namespace
