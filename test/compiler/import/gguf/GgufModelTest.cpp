// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Complete files, and how config errors name their source.
#include "test/compiler/import/gguf/TinyGguf.h"

using namespace transom;
using namespace transom::test;

TEST(GgufModel, reads_a_file) {
  TempFolder folder;
  Result<gguf::Model> model = readGguf(folder, tinyLlama());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(*model->config.root().find("model_type")->asString(), "llama");
  EXPECT_EQ(model->files.names().size(), 11u);
  EXPECT_EQ(model->files.fileNames(), std::vector<std::string>{"m.gguf"});
  EXPECT_EQ(model->files.folder(), folder.path());
  EXPECT_TRUE(model->notes.empty());
}

TEST(GgufModel, errors_of_the_config_name_the_metadata) {
  TempFolder folder;
  Result<gguf::Model> model = readGguf(folder, tinyLlama());
  ASSERT_TRUE(model);
  const JsonValue root = model->config.root();
  EXPECT_EQ(root.find("hidden_size")->where(),
            folder / "m.gguf" + ": 'llama.embedding_length'");
  EXPECT_EQ(root.find("vocab_size")->where(),
            folder / "m.gguf" + ": 'token_embd.weight'");
  EXPECT_EQ(root.where(), folder / "m.gguf");
}

TEST(GgufModel, tells_files_apart) {
  TempFolder folder;
  EXPECT_TRUE(gguf::isGguf(folder.write("a.gguf", "")));
  EXPECT_TRUE(gguf::isGguf(folder.write("b", "GGUF")));
  EXPECT_FALSE(gguf::isGguf(folder.write("c.json", "{}")));
  EXPECT_FALSE(gguf::isGguf(folder.path()));
  EXPECT_FALSE(gguf::isGguf(folder / "none"));
}
