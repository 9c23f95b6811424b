// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts from generated tokens with real tokenizers: whole characters in the
// stream, the same text as decoding everything at once, stop strings.
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "runtime/base/File.h"
#include "runtime/base/Utf8.h"
#include "runtime/generate/Generator.h"
#include "test/runtime/generate/FakeSource.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

/// A tokenizer in the goldens.
struct Golden {
  explicit Golden(const std::string &name) {
    const std::string path = std::string(std::getenv("TRANSOM_SOURCE_DIR")) +
                             "/test/goldens/tokenizer/bpe/" + name + ".json";
    Result<std::string> json = readSmallFile(path, uint64_t(1) << 28);
    EXPECT_TRUE(bool(json)) << json.error().message;
    Result<ImportedTokenizer> imported = importTokenizer(*json, path);
    EXPECT_TRUE(bool(imported)) << imported.error().message;
    tables = std::move(imported->tables);
    Result<Tokenizer> opened = Tokenizer::open(tables);
    EXPECT_TRUE(bool(opened)) << opened.error().message;
    tokenizer.emplace(*opened);
  }
  std::vector<int64_t> ids(std::string_view text) const {
    EncodeOptions options;
    options.addSpecial = false;
    Result<Encoding> encoding = tokenizer->encode(text, options);
    EXPECT_TRUE(bool(encoding)) << encoding.error().message;
    return encoding->ids;
  }
  std::string tables;
  std::optional<Tokenizer> tokenizer;
};

/// The generated text if the model returns these tokens after a prompt.
struct Said {
  Said(const Golden &golden, const std::vector<int64_t> &prompt,
       const std::vector<int64_t> &tokens,
       const std::vector<std::string> &stops = {}) {
    FakeSource source(int64_t(golden.tokenizer->idEnd()), 2, 10);
    source.says = tokens;
    source.saysFrom = prompt.size();
    GenerationConfig config;
    config.maxNewTokens = int64_t(tokens.size());
    config.stopStrings = stops;
    EXPECT_TRUE(bool(config.resolve()));
    Result<void> done = generate(
        source, config, &*golden.tokenizer, {prompt},
        [&](const GenerationEvent &event) {
          EXPECT_TRUE(utf8::isValid(event.text)) << event.text;
          streamed += event.text;
          ++events;
          return true;
        },
        continuations);
    EXPECT_TRUE(bool(done)) << done.error().message;
    EXPECT_EQ(streamed, continuations[0].text);
  }
  const Continuation &continuation() const { return continuations[0]; }
  std::vector<Continuation> continuations;
  std::string streamed;
  size_t events = 0;
};

} // namespace

static const char *const texts[] = {
    " and so on, at 3.14!", "na\u00efve caf\u00e9 \u20ac5",
    "\U0001f600\U0001f468\u200d\U0001f469 \u4f60\u597d", "\n\n  x\ttab"};

TEST(GeneratorText, goes_on_where_the_prompt_ends) {
  for (const char *name :
       {"gpt2", "llama2", "llama3", "qwen2", "metaspace", "roberta"}) {
    Golden golden(name);
    const std::vector<int64_t> prompt = golden.ids("Once upon a time");
    Result<std::string> begin = golden.tokenizer->decode(prompt);
    for (const char *text : texts) {
      std::vector<int64_t> tokens = golden.ids(text), all = prompt;
      Said said(golden, prompt, tokens);
      all.insert(all.end(), tokens.begin(), tokens.end());
      Result<std::string> whole = golden.tokenizer->decode(all);
      ASSERT_TRUE(bool(whole));
      EXPECT_EQ(*begin + said.continuation().text, *whole)
          << name << ": " << text;
      EXPECT_EQ(said.events, tokens.size());
    }
  }
}

TEST(GeneratorText, stop_strings_across_tokens) {
  Golden golden("gpt2");
  const std::vector<int64_t> prompt = golden.ids("Q");
  const std::vector<int64_t> tokens =
      golden.ids("An answer.\n\nUser: more \u20ac");
  for (const char *stop : {"\n\nUser:", "User", "r: m", "more", "\u20ac"}) {
    Said said(golden, prompt, tokens, {"never", stop});
    std::string expected = "An answer.\n\nUser: more \u20ac";
    EXPECT_EQ(said.continuation().text,
              expected.substr(0, expected.find(stop)));
    EXPECT_EQ(said.continuation().finish, FinishReason::Stop) << stop;
  }
  Said said(golden, prompt, tokens, {"\u20ac\u20ac"});
  EXPECT_EQ(said.continuation().text, "An answer.\n\nUser: more \u20ac");
  EXPECT_EQ(said.continuation().finish, FinishReason::Length);
}

TEST(GeneratorText, half_a_character) {
  Golden golden("gpt2");
  // One token per byte: the character is in no merge.
  std::vector<int64_t> bytes = golden.ids("\U0001f6f8");
  ASSERT_GT(bytes.size(), 1u);
  std::vector<int64_t> first(bytes.begin(), bytes.end() - 1);
  EXPECT_EQ(Said(golden, golden.ids("Q"), first).continuation().text, "\ufffd");
  // The prompt ends inside a character; the text completes it.
  EXPECT_EQ(Said(golden, first, {bytes.back()}).continuation().text,
            "\U0001f6f8");
}
