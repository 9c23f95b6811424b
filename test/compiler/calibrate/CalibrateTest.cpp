// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input mean squares for the first GEMMs in examples/tiny-llama against the
// mean squares of normalized embedding rows.
#include "compiler/calibrate/Calibrate.h"
#include "compiler/driver/CompileModule.h"
#include "compiler/import/huggingface/TextConfig.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "test/runtime/base/TestSupport.h"
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

class Calibrated : public ::testing::Test {
protected:
  void SetUp() override {
    prepareContext(context);
    const char *root = std::getenv("TRANSOM_SOURCE_DIR");
    ASSERT_TRUE(root);
    folder = std::string(root) + "/examples/tiny-llama";
    ImportOptions options;
    options.path = folder;
    auto imported = importModel(context, options, info);
    ASSERT_TRUE(bool(imported)) << imported.error().message;
    module = std::move(*imported);
    auto config = readTextConfig(info.getSmallFiles(), 256, true);
    ASSERT_TRUE(bool(config));
    tables = config->tokenizer;
    file = testing::TempDir() + "calibrate-test.txt";
  }
  void TearDown() override { std::remove(file.c_str()); }

  Result<Importance> run(const std::string &texts, int64_t maxTokens = 256) {
    std::ofstream(file, std::ios::binary) << texts;
    return calibrate(*module, info, tables, maxTokens, file);
  }

  /// All elements in a file tensor.
  std::vector<float> read(const std::string &name) {
    auto shape = info.files.shape(name);
    EXPECT_TRUE(bool(shape));
    int64_t count = 1;
    for (int64_t size : *shape)
      count *= size;
    std::vector<float> values(count);
    EXPECT_TRUE(bool(info.files.read(name, std::vector<int64_t>(shape->size()),
                                     *shape, values.data())));
    return values;
  }

  MLIRContext context;
  std::string folder, file, tables;
  ImportInfo info;
  OwningOpRef<ModuleOp> module;
};

} // namespace

TEST_F(Calibrated, MeanSquaresAreThoseOfTheInputs) {
  const std::vector<std::string> texts = {"Once upon a time",
                                          "A transom is the beam above a door"};
  auto importance = run("\n" + texts[0] + "\n\n  " + texts[1] + "  \r\n");
  ASSERT_TRUE(bool(importance)) << importance.error().message;

  const std::vector<float> embedding = read("model.embed_tokens.weight"),
                           gamma =
                               read("model.layers.0.input_layernorm.weight");
  const size_t width = gamma.size();
  std::vector<double> squares(width);
  auto tokenizer = Tokenizer::open(tables);
  ASSERT_TRUE(bool(tokenizer));
  size_t tokens = 0;
  for (const std::string &text : texts) {
    auto encoding = tokenizer->encode(text);
    ASSERT_TRUE(bool(encoding));
    for (int64_t id : encoding->ids) {
      const float *row = &embedding[id * width];
      double sum = 0;
      for (size_t i = 0; i < width; ++i)
        sum += double(row[i]) * row[i];
      for (size_t i = 0; i < width; ++i)
        squares[i] += row[i] * double(row[i]) * gamma[i] * gamma[i] /
                      (sum / double(width) + 1e-6);
      ++tokens;
    }
  }
  for (const char *name : {"q_proj", "k_proj", "v_proj"}) {
    const float *found = importance->find(
        {"model.layers.0.self_attn." + std::string(name) + ".weight"},
        int64_t(width));
    ASSERT_TRUE(found) << name;
    // bf16 has eight bits.
    for (size_t i = 0; i < width; ++i)
      EXPECT_NEAR(found[i], squares[i] / double(tokens),
                  squares[i] / double(tokens) / 250)
          << i;
  }
  // The head's weight is the embedding table.
  EXPECT_TRUE(importance->find({"model.embed_tokens.weight"}, int64_t(width)));
  EXPECT_TRUE(
      importance->find({"none", "model.layers.1.mlp.down_proj.weight"}, 128));
  EXPECT_FALSE(importance->find({"model.layers.1.mlp.down_proj.weight"}, 64));
  EXPECT_FALSE(importance->find({"model.norm.weight"}, int64_t(width)));
}

TEST_F(Calibrated, TextsAreCutToTheMaximum) {
  auto whole = run("Once upon a time", 2), cut = run("Once upon a door", 2);
  ASSERT_TRUE(bool(whole) && bool(cut));
  auto first = whole->find({"model.layers.0.self_attn.q_proj.weight"}, 64),
       second = cut->find({"model.layers.0.self_attn.q_proj.weight"}, 64);
  EXPECT_TRUE(std::equal(first, first + 64, second));
}

TEST_F(Calibrated, FilesWithoutTexts) {
  for (const char *texts : {"", "\n \n\r\n"}) {
    auto importance = run(texts);
    ASSERT_FALSE(bool(importance));
    EXPECT_EQ(importance.error().status, Status::Rejected);
    EXPECT_EQ(importance.error().message,
              file + ": no texts; expected one a line");
  }
  auto importance = run("fine\n\xff");
  ASSERT_FALSE(bool(importance));
  EXPECT_EQ(importance.error().status, Status::Rejected);
  EXPECT_EQ(importance.error().message.rfind(file + ":2: ", 0), 0u)
      << importance.error().message;
}
