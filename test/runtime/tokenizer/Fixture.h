// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tokenizer's tests share: the small tokenizer of the golden data and
// ways to change it.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace transom::test {

/// The path of a file of test/goldens/tokenizer.
std::string getGoldenPath(const std::string &name);

/// The bytes of a file of test/goldens/tokenizer.
std::string golden(const std::string &name);

/// A tokenizer and the tables it reads.
struct Loaded {
  std::shared_ptr<std::string> tables;
  std::optional<Tokenizer> tokenizer;
  std::vector<std::string> notes;
  const Tokenizer *operator->() const { return &*tokenizer; }
};

/// Compiles and opens a tokenizer.json, with a tokenizer_config.json beside it
/// unless that is empty; a failure fails the test.
Loaded load(const std::string &json, const std::string &config = "");

/// `text` with the only place of `from` replaced; a failure fails the test.
std::string replaceOnce(std::string text, const std::string &from,
                        const std::string &to);

/// A tokenizer.json of a dozen tokens, for tests that take it apart.
std::string smallJson();

/// A byte-level BPE of a dozen tokens, likewise.
std::string smallBpeJson();

/// A Unigram model of a dozen tokens, likewise.
std::string smallUnigramJson();

/// A precompiled character map of these texts to others, in SentencePiece's
/// format.
std::string
makeCharacterMap(const std::vector<std::pair<std::string, std::string>> &rules);

} // namespace transom::test
