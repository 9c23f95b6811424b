// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GLiNER entries, and incomplete folders;
// test/tools/commands/text/test_entities.py checks their results.
#include "compiler/import/huggingface/gliner/Gliner.h"
#include "compiler/import/huggingface/TextConfig.h"
#include "dialects/attn/Attn.h"
#include "test/compiler/import/Fixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

/// A copy of a golden model to modify.
class GlinerFolder : public ModelFolder {
public:
  explicit GlinerFolder(const std::string &name) {
    namespace fs = std::filesystem;
    fs::copy(sourceFolder() + "/test/goldens/gliner/" + name, path,
             fs::copy_options::recursive |
                 fs::copy_options::overwrite_existing);
  }
  std::string read(const std::string &name) const {
    std::ifstream file(path + "/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void replace(const std::string &from, const std::string &to) const {
    std::string text = read("gliner_config.json");
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write("gliner_config.json", text.replace(at, from.size(), to));
  }
};

/// Returns the sizes of an entry's only result.
std::string getResult(Imported &model, const std::string &name) {
  EXPECT_TRUE(model.module) << model.error.message;
  auto entry = model.module
                   ? model.module->lookupSymbol<mlir::func::FuncOp>(name)
                   : mlir::func::FuncOp();
  if (!entry || entry.getNumResults() != 1)
    return "none";
  std::string text;
  for (const Polynomial &dim :
       attn::getSymbolicShape(entry.getResultTypes()[0]))
    text += (text.empty() ? "" : " x ") + dim.str();
  return text;
}

} // namespace

TEST(Gliner, scores_spans_by_both_ends) {
  Imported model(GlinerFolder("bert-span").path);
  EXPECT_EQ(getResult(model, "encode"), "batch x seq x 16");
  EXPECT_EQ(getResult(model, "score_entities"), "words x words x types");
  EXPECT_EQ(model.info.architecture, "UniEncoderSpanGLiNER");
  ASSERT_TRUE(model.info.entities);
  EXPECT_EQ(model.info.entities->maxWidth, 4);
}

TEST(Gliner, projects_to_the_width_of_the_head) {
  Imported model(GlinerFolder("deberta-span").path);
  EXPECT_EQ(getResult(model, "encode"), "batch x seq x 12");
}

TEST(Gliner, scores_words_as_parts_of_entities) {
  Imported model(GlinerFolder("deberta-token").path);
  EXPECT_EQ(getResult(model, "score_entities"), "words x types x 3");
  EXPECT_EQ(model.info.architecture, "UniEncoderTokenGLiNER");
}

TEST(Gliner, points_to_the_config_of_the_encoder) {
  GlinerFolder folder("bert-span");
  folder.replace("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3");
  Imported model(folder.path);
  EXPECT_EQ(model.error.status, Status::Rejected);
  EXPECT_NE(model.error.message.find("gliner_config.json"), std::string::npos)
      << model.error.message;
  EXPECT_NE(model.error.message.find("/encoder_config/num_hidden_layers"),
            std::string::npos)
      << model.error.message;
}

TEST(Gliner, refuses_encoders_that_are_none) {
  GlinerFolder folder("bert-span");
  folder.replace("\"model_type\": \"bert\"", "\"model_type\": \"llama\"");
  Imported model(folder.path);
  EXPECT_EQ(model.error.status, Status::Unsupported) << model.error.message;
}

TEST(Gliner, asks_for_the_config_of_the_encoder) {
  GlinerFolder folder("bert-span");
  folder.write("gliner_config.json", R"({"num_rnn_layers": 0,
    "model_name": "some/encoder", "hidden_size": 16, "vocab_size": 99})");
  Imported model(folder.path);
  EXPECT_EQ(model.error.status, Status::Unavailable);
  EXPECT_NE(model.error.message.find("add config.json of 'some/encoder'"),
            std::string::npos)
      << model.error.message;
}

TEST(Gliner, needs_a_tokenizer_with_the_token_before_types) {
  GlinerFolder folder("bert-span");
  ManifestEntities entities;
  entities.typeToken = "<<ENT>>";
  entities.typeTokenId = -1;
  auto read = [&] {
    return readTextConfig(folder.path, 64, true, {}, nullptr, &entities);
  };
  auto found = read();
  ASSERT_TRUE(bool(found)) << found.error().message;
  const int64_t id = found->manifest.entities->typeTokenId;
  EXPECT_GT(id, 0);
  entities.typeTokenId = id - 1;
  EXPECT_EQ(read().error().status, Status::Rejected);
  entities = {};
  entities.typeToken = "<<TYPE>>";
  EXPECT_EQ(read().error().status, Status::Rejected);
  std::filesystem::remove(folder.path + "/tokenizer.json");
  EXPECT_EQ(read().error().status, Status::Unavailable);
}
