// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizers from the golden data as in GGUF files, and their import results.
#pragma once
#include "compiler/import/gguf/GgufTokenizer.h"
#include "compiler/import/tokenizer/ImportFolder.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "test/compiler/import/gguf/TinyGguf.h"
#include "test/runtime/tokenizer/Fixture.h"
#include <algorithm>
#include <map>
#include <memory>

namespace transom::test {

/// A tokenizer.json taken apart into tokens by id and their types.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::map<std::string, int64_t> ids;
  std::vector<std::string> merges; ///< `left right`
  std::string pieceScores;         ///< unigram scores in file format

  explicit Vocabulary(JsonValue root) {
    // Model tokens: a BPE lists ids, a Unigram model pieces with scores.
    JsonValue model = *root.find("model");
    for (JsonValue::Member member : model.find("vocab")->members())
      add(*member.value.asInt(), std::string(member.key), 1);
    for (JsonValue piece : model.find("vocab")->elements()) {
      add(static_cast<int64_t>(tokens.size()),
          std::string(*piece[0].asString()), 1);
      pieceScores += ggufNumber(static_cast<float>(*piece[1].asDouble()));
    }
    // Added tokens and merges.
    for (JsonValue token : root.find("added_tokens")->elements())
      add(*token.find("id")->asInt(),
          std::string(*token.find("content")->asString()),
          *token.find("special")->asBool() ? 3 : 4);
    if (auto list = model.find("merges"))
      for (JsonValue merge : list->elements())
        merges.push_back(merge.isString()
                             ? std::string(*merge.asString())
                             : std::string(*merge[0].asString()) + " " +
                                   std::string(*merge[1].asString()));
    // Byte tokens, scores for added tokens, and the unknown token have
    // defaults.
    for (size_t i = 0; i < tokens.size(); ++i)
      if (tokens[i].size() == 6 && tokens[i].substr(0, 3) == "<0x")
        types[i] = 6;
    while (pieceScores.size() < tokens.size() * sizeof(float))
      pieceScores += ggufNumber(-1000.0f);
    if (auto unknown = model.find("unk_id"))
      types[*unknown->asInt()] = 2;
  }
  void add(int64_t id, const std::string &text, int32_t type) {
    if (static_cast<size_t>(id) >= tokens.size()) {
      tokens.resize(id + 1);
      types.resize(id + 1, 5);
    }
    tokens[id] = text;
    types[id] = type;
    ids[text] = id;
  }
  /// Earlier tokens have higher scores.
  std::string getScores() const {
    std::map<std::string, float> made;
    for (size_t i = 0; i < merges.size(); ++i) {
      const size_t space = merges[i].find(' ');
      made.emplace(merges[i].substr(0, space) + merges[i].substr(space + 1),
                   -static_cast<float>(i));
    }
    std::string scores;
    for (const std::string &token : tokens)
      scores += ggufNumber(made.count(token) ? made[token] : -1e6f);
    return scores;
  }
};

inline GgufWriter writeVocabulary(const Vocabulary &vocabulary,
                                  const std::string &model,
                                  const std::string &pre) {
  GgufWriter writer;
  writer.set("tokenizer.ggml.model", model);
  if (!pre.empty())
    writer.set("tokenizer.ggml.pre", pre);
  writer.set("tokenizer.ggml.tokens", vocabulary.tokens);
  std::string types;
  for (int32_t type : vocabulary.types)
    types += ggufNumber(type);
  writer.setBytes("tokenizer.ggml.token_type",
                  ggufArray(5, vocabulary.types.size(), types));
  if (model == "gpt2")
    writer.set("tokenizer.ggml.merges", vocabulary.merges);
  if (model == "llama")
    writer.setBytes(
        "tokenizer.ggml.scores",
        ggufArray(6, vocabulary.tokens.size(), vocabulary.getScores()));
  if (model == "t5")
    writer.setBytes(
        "tokenizer.ggml.scores",
        ggufArray(6, vocabulary.tokens.size(), vocabulary.pieceScores));
  return writer;
}

inline Result<gguf::TokenizerTexts> makeTexts(const GgufWriter &writer,
                                              int64_t vocabulary = 1 << 20) {
  TempFolder folder;
  Result<gguf::File> file =
      gguf::File::open(folder.write("m.gguf", writer.bytes()));
  if (!file)
    return file.takeError();
  return gguf::makeTokenizer(*file, vocabulary);
}

/// A tokenizer and the tables that it reads.
struct Opened {
  std::string tables;
  std::optional<Tokenizer> tokenizer;
};

inline std::unique_ptr<Opened> openTokenizer(const GgufWriter &writer) {
  auto opened = std::make_unique<Opened>();
  Result<gguf::TokenizerTexts> made = makeTexts(writer);
  EXPECT_TRUE(made) << made.error().message;
  if (!made)
    return opened;
  EXPECT_TRUE(made->notes.empty()) << made->notes[0];
  auto imported = importTokenizerFolder(SmallFiles("m.gguf", made->texts));
  EXPECT_TRUE(imported && *imported)
      << (imported ? "no tokenizer" : imported.error().message);
  if (!imported || !*imported)
    return opened;
  opened->tables = (*imported)->tokenizer.tables;
  Result<Tokenizer> tokenizer = Tokenizer::open(opened->tables);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  if (tokenizer)
    opened->tokenizer = std::move(*tokenizer);
  return opened;
}

inline JsonDocument parseGolden(const std::string &name) {
  Result<JsonDocument> document = parseJson(golden(name), name);
  EXPECT_TRUE(document) << document.error().message;
  return *document;
}

/// Compares with a tokenizer's cases in test/goldens/tokenizer, except cases
/// with the id `without`.
inline void expectCases(const GgufWriter &writer, const std::string &name,
                        int64_t without = -1) {
  std::unique_ptr<Opened> opened = openTokenizer(writer);
  ASSERT_TRUE(opened->tokenizer);
  JsonDocument cases = parseGolden(name + ".cases.json");
  ASSERT_GE(cases.root().size(), 80u);
  for (JsonValue expected : cases.root().elements()) {
    const std::vector<int64_t> ids =
        *expected.find("ids")->asIntArray(0, INT32_MAX);
    if (expected.find("pair") ||
        std::find(ids.begin(), ids.end(), without) != ids.end())
      continue;
    SCOPED_TRACE(utf8::printable(*expected.find("text")->asString()));
    auto encoding =
        opened->tokenizer->encode(*expected.find("text")->asString(), {}, {});
    ASSERT_TRUE(encoding) << encoding.error().message;
    EXPECT_EQ(encoding->ids, ids);
    EXPECT_EQ(*opened->tokenizer->decode(encoding->ids, false),
              *expected.find("decoded")->asString());
  }
}

inline GgufWriter ofGolden(const std::string &name, const std::string &model,
                           const std::string &pre) {
  return writeVocabulary(Vocabulary(parseGolden(name + ".json").root()), model,
                         pre);
}

/// A byte-level BPE with a few tokens.
inline GgufWriter smallBpe() {
  GgufWriter writer;
  writer.set("tokenizer.ggml.model", "gpt2");
  writer.set("tokenizer.ggml.pre", "gpt-2");
  writer.set("tokenizer.ggml.tokens",
             std::vector<std::string>{"a", "b", "ab", "<s>", "</s>"});
  writer.set("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  return writer;
}

} // namespace transom::test
