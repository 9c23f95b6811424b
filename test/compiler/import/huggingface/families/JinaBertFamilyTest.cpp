// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BERT's table entry for JinaBERT, by config and files.
#include "dialects/common/Location.h"
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

TEST(JinaBertFamily, alibi) {
  const std::string alibi = "\"position_embedding_type\": \"alibi\"";
  FromConfig model(config("bert", alibi));
  ASSERT_TRUE(model.module) << model.error.message;
  ASSERT_EQ(model.attentions().size(), 3u);
  for (attn::SdpaOp op : model.attentions())
    EXPECT_TRUE(op.getSlopes());
  size_t positions = 0;
  model.module->walk([&](attn::PositionOp) { ++positions; });
  EXPECT_EQ(positions, 0u);
  for (const char *name : {"JinaBertModel", "BertModel"})
    EXPECT_TRUE(FromConfig(config("bert", alibi + ", \"architectures\": [\"" +
                                              name + "\"]"))
                    .module)
        << name;
  expectConfigError(
      config("bert", alibi + ", \"feed_forward_type\": \"swiglu\""),
      Status::Unsupported, {"'feed_forward_type'", "'swiglu'", "original"});
  expectConfigError(
      config("bert", "\"position_embedding_type\": \"relative_key\""),
      Status::Unsupported, {"'relative_key'", "absolute"});
}

TEST(JinaBertFamily, second_sums_where_the_files_have_their_norms) {
  auto getNorms = [](const std::string &folder) {
    Imported result(sourceFolder() + "/test/goldens/" + folder);
    std::vector<std::string> norms;
    if (result.module)
      result.module->walk([&](attn::LayerNormOp op) {
        const std::string module = getModulePath(op->getLoc());
        if (module.find("layer.1.") != std::string::npos)
          norms.push_back(module.substr(module.find("layer.1.") + 8));
      });
    return norms;
  };
  using Norms = std::vector<std::string>;
  EXPECT_EQ(getNorms("jina-v2"),
            (Norms{"attention.output.LayerNorm", "mlp.layernorm"}));
  EXPECT_EQ(getNorms("heads/jina-v2-plain"),
            (Norms{"attention.output.LayerNorm", "output.LayerNorm"}));
  for (const char *folder : {"heads/jina-v2-code", "heads/jina-v2-code-mlm"})
    EXPECT_EQ(
        getNorms(folder),
        (Norms{"attention.self.layer_norm_q", "attention.self.layer_norm_k",
               "attention.output.LayerNorm", "layer_norm_1", "layer_norm_2"}));
}

} // namespace
