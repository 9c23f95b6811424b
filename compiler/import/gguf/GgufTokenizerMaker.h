// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code shared by all tokenizer kinds: token roles and parts of a
// tokenizer.json. Each kind has its own source.
#pragma once
#include "compiler/import/gguf/GgufTokenizer.h"
#include "compiler/import/gguf/GgufTokens.h"
#include "runtime/json/Json.h"
#include <map>
#include <set>

namespace transom::gguf {

/// The space mark in pieces.
inline constexpr std::string_view spaceMark = "\xE2\x96\x81";

/// Word splitting for byte-level BPE.
struct Splits {
  std::vector<const char *> names; ///< `tokenizer.ggml.pre`
  /// Each pattern splits the output of the previous ones.
  std::vector<const char *> patterns;
  bool ignoresMerges = false; ///< words that are tokens are not merged
  bool addsBos = false;       ///< default if the file does not specify it
  bool separatesPairs = false;
  bool composes = false; ///< NFC normalization first, as in training
};

/// Writes the files for one tokenizer.
class TokenizerMaker {
public:
  TokenizerMaker(const File &file, int64_t vocabulary)
      : reader(file), vocabulary(vocabulary), json(text) {}

  Result<TokenizerTexts> run();

private:
  Result<void> makeModel(const std::string &model);

  //===--- Roles ---------------------------------------------------------===//

  Result<void> readRole(const char *name, const char *key,
                        std::optional<int64_t> absent);
  Result<void> readRoles(const std::string &model);
  std::optional<int64_t> getRole(const char *name) const;
  /// Reads the tokens around texts: `begins` and `ends` are defaults.
  Result<void> readBoundaries(bool begins, bool ends);
  Result<void> readBoundary(const char *key, const char *role, bool absent,
                            std::optional<int64_t> &id);

  //===--- Parts of tokenizer.json ---------------------------------------===//

  void beginFile();
  /// Returns true for tokens that are matched before words are split.
  bool isAdded(size_t id) const;
  bool isRole(int64_t id) const;
  void writeAdded(size_t id);
  void writeVocabulary();
  void writeItem(const char *kind, const char *id, int type);
  void writeToken(std::optional<int64_t> id, int type);
  /// `between`: token before the second text of a pair.
  void writeTemplate(std::optional<int64_t> between, int secondType);
  void writePattern(const char *kind, const std::string &pattern);

  //===--- Byte-level BPE ------------------------------------------------===//

  Result<void> makeByteLevel();
  void writeByteLevel(const char *key);
  void writeSplits(const Splits &splits);
  Result<void> writeGivenMerges();

  //===--- Pieces with scores --------------------------------------------===//

  Result<void> makePieces();
  /// Writes a normalizer that prepends the mark.
  void writePrepend();
  void writeReplace(std::string_view from, std::string_view to);
  void writePieceDecoder(bool prefix);
  /// Writes piece pairs in SentencePiece's merge order: by the score of the
  /// merged piece; pairs with the same merged piece are ordered by both
  /// lengths, as in transformers.
  void writeMergesOfScores();

  //===--- Unigram -------------------------------------------------------===//

  Result<void> makeUnigram();
  /// Returns the normalizer's character map; nullopt if the file has none.
  Result<void> writeCharacterMap();
  /// Writes a pre-tokenizer that splits at spaces and prepends the mark to each
  /// word.
  void writeWords();
  /// Writes a Metaspace as a key's value or as an element.
  void writeMetaspace(const char *key);
  void writeScores();

  //===--- WordPiece -----------------------------------------------------===//

  Result<void> makeWordPiece();
  void writeTyped(const char *key, const char *type);
  /// Converts a WordPiece token: GGUF marks pieces that start a word,
  /// tokenizer.json those that continue one. Tokens with a role and control
  /// tokens are unchanged.
  std::string getWordPiece(const Token &token) const;
  Result<void> checkWordPieces(const std::vector<std::string> &stored) const;
  /// Returns true if vocabulary words contain capital letters.
  bool hasUpperCase() const;

  //===--- The other files -----------------------------------------------===//

  std::string writeSettings(const std::string &model) const;
  /// Generation ends at each end token.
  std::string writeGeneration() const;

  const TokenReader reader;
  const int64_t vocabulary;
  std::vector<Token> tokens;
  std::map<std::string, int64_t> roles;
  std::set<std::string> ignored;      ///< roles whose id is not a token
  std::optional<int64_t> first, last; ///< around a text
  std::vector<std::string> notes;
  std::string text; ///< the tokenizer.json content
  JsonWriter json;
};

} // namespace transom::gguf
