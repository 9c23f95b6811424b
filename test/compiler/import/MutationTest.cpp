// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nearly valid files: seeded mutations of the examples' descriptions import or
// return a one-line error with an input-related status, and never crash or
// report a tool bug.
#include "test/compiler/import/Fixture.h"
#include <cstring>
#include <random>

using namespace transom;
using namespace transom::testing;

namespace {

/// Returns positions and lengths of the strings and numbers in a JSON document.
std::vector<std::pair<size_t, size_t>> getTokens(const std::string &text) {
  std::vector<std::pair<size_t, size_t>> tokens;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t begin = i;
    if (text[i] == '"') {
      i = text.find('"', i + 1);
      if (i == std::string::npos)
        break;
      tokens.push_back({begin, i + 1 - begin});
    } else if (isdigit(static_cast<unsigned char>(text[i]))) {
      while (i < text.size() && std::strchr("0123456789.eE+-", text[i]))
        ++i;
      tokens.push_back({begin, i - begin});
      --i;
    }
  }
  return tokens;
}

/// Makes one change: replaces a token by another or by an unusual one, or
/// removes bytes.
std::string mutate(std::string text, std::mt19937 &random) {
  static const char *odd[] = {"0",
                              "-1",
                              "1",
                              "2",
                              "3",
                              "2147483648",
                              "1e9",
                              "0.5",
                              "null",
                              "true",
                              "[]",
                              "{}",
                              "\"\"",
                              "[1]",
                              "\"seq\"",
                              "\"batch*seq\"",
                              "\"seq-1\"",
                              "\"x\"",
                              "99999999999999999999",
                              "\"a/b\"",
                              "[\"batch\", \"seq\"]",
                              "4096"};
  auto tokens = getTokens(text);
  auto pick = [&](size_t n) { return random() % n; };
  auto [at, length] = tokens[pick(tokens.size())];
  switch (pick(4)) {
  case 0: {
    auto [from, size] = tokens[pick(tokens.size())];
    return text.replace(at, length, text.substr(from, size));
  }
  case 1:
    return text.replace(at, length, odd[pick(std::size(odd))]);
  case 2:
    return text.erase(at, 1 + pick(2 * length));
  default:
    text[pick(text.size())] = static_cast<char>(random());
    return text;
  }
}

void expectNoCrash(const std::string &example, const std::string &file,
                   int rounds, bool configOnly = false) {
  // Copy the model with links, except for the mutated file.
  std::string folder = sourceFolder() + "/" + example;
  Result<std::string> original = readSmallFile(folder + "/" + file, 1 << 20);
  ASSERT_TRUE(original) << original.error().message;
  ModelFolder copy;
  std::filesystem::create_symlink(
      std::filesystem::absolute(folder + "/model.safetensors"),
      copy.path + "/model.safetensors");
  // Import mutated files and check status and message.
  std::mt19937 random(4711);
  int imported = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string text = *original;
    for (unsigned change = 0; change <= random() % 2; ++change)
      text = mutate(text, random);
    copy.write(file, text);
    Imported result(copy.path, configOnly);
    imported += bool(result.module);
    if (result.module)
      continue;
    int status = int(result.error.status);
    ASSERT_TRUE(status == 3 || status == 4 || status == 6)
        << status << ": " << result.error.message << "\n"
        << text;
    ASSERT_EQ(result.error.message.find('\n'), std::string::npos)
        << result.error.message;
    ASSERT_FALSE(result.error.message.empty());
  }
  // Some mutations must be harmless, and some not.
  EXPECT_GT(imported, 0) << "no mutation was harmless";
  EXPECT_LT(imported, rounds);
}

TEST(Mutations, of_configs) {
  expectNoCrash("test/goldens/heads/bert-pretraining", "config.json", 400);
  expectNoCrash("test/goldens/heads/distilbert-classify", "config.json", 200);
}
TEST(Mutations, of_configs_of_decoders) {
  for (const char *name : {"llama-yarn", "llama-scaled", "gemma2", "qwen2-tied",
                           "gpt-neox", "opt-post-norm", "bloom-six-heads"})
    expectNoCrash(std::string("test/goldens/") + name, "config.json", 200);
}
TEST(Mutations, of_configs_of_encoder_decoders) {
  for (const char *name : {"bart-classify", "m2m-odd", "t5-gated-untied"})
    expectNoCrash(std::string("test/goldens/encoder-decoders/") + name,
                  "config.json", 200);
}
TEST(Mutations, of_configs_alone) {
  expectNoCrash("test/goldens/phi3", "config.json", 200, /*configOnly=*/true);
  expectNoCrash("test/goldens/bert-mlm", "config.json", 100,
                /*configOnly=*/true);
}
TEST(Mutations, of_decoders) {
  expectNoCrash("examples/decoder", "graph.json", 600);
}
TEST(Mutations, of_decomposed_attention) {
  expectNoCrash("examples/decomposed-attention", "graph.json", 600);
}
TEST(Mutations, of_blocks) {
  expectNoCrash("examples/transformer-encoder", "graph.json", 600);
}
TEST(Mutations, of_encoder_decoders) {
  expectNoCrash("examples/transformer", "graph.json", 600);
}
TEST(Mutations, of_additive_masks) {
  expectNoCrash("examples/pre-norm", "graph.json", 600);
}

} // namespace
