// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared helpers for tokenizer tests: the small tokenizer in the golden data
// and ways to change it.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace transom::test {

/// The path to a file in test/goldens/tokenizer.
std::string getGoldenPath(const std::string &name);

/// The bytes in a file in test/goldens/tokenizer.
std::string golden(const std::string &name);

/// A tokenizer and the tables it reads.
struct Loaded {
  std::shared_ptr<std::string> tables;
  std::optional<Tokenizer> tokenizer;
  std::vector<std::string> notes;
  const Tokenizer *operator->() const { return &*tokenizer; }
};

/// Compiles and opens a tokenizer.json, with a tokenizer_config.json next to it
/// unless that is empty; a failure fails the test.
Loaded load(const std::string &json, const std::string &config = "");

/// `text` with the only occurrence of `from` replaced; a failure fails the
/// test.
std::string replaceOnce(std::string text, const std::string &from,
                        const std::string &to);

/// A tokenizer.json with a dozen tokens, for tests that modify it.
std::string smallJson();

/// A byte-level BPE with a dozen tokens, for the same purpose.
std::string smallBpeJson();

/// A Unigram model with a dozen tokens, for the same purpose.
std::string smallUnigramJson();

/// A precompiled character map between these texts, in SentencePiece's format.
std::string
makeCharacterMap(const std::vector<std::pair<std::string, std::string>> &rules);

} // namespace transom::test
