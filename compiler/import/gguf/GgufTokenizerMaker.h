// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kinds of tokenizers share: roles of tokens, and the parts of a
// tokenizer.json. Each kind writes its own in a file of its own.
#pragma once
#include "compiler/import/gguf/GgufTokenizer.h"
#include "compiler/import/gguf/GgufTokens.h"
#include "runtime/json/Json.h"
#include <map>
#include <set>

namespace transom::gguf {

/// The mark of a space in pieces.
inline constexpr std::string_view spaceMark = "\xE2\x96\x81";

/// How byte-level BPE splits texts into words.
struct Splits {
  std::vector<const char *> names; ///< `tokenizer.ggml.pre`
  /// Each splits what those before it left.
  std::vector<const char *> patterns;
  bool ignoresMerges = false; ///< a word that is a token is not merged
  bool addsBos = false;       ///< where the file does not say
  bool separatesPairs = false;
  bool composes = false; ///< texts are made NFC first, as the model's were
};

/// Writes the files of one tokenizer.
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
  /// The tokens around texts: `begins` and `ends` where the file does not say.
  Result<void> readBoundaries(bool begins, bool ends);
  Result<void> readBoundary(const char *key, const char *role, bool absent,
                            std::optional<int64_t> &id);

  //===--- Parts of tokenizer.json ---------------------------------------===//

  void beginFile();
  /// Tokens that are found in texts before words are.
  bool isAdded(size_t id) const;
  bool isRole(int64_t id) const;
  void writeAdded(size_t id);
  void writeVocabulary();
  void writeItem(const char *kind, const char *id, int type);
  void writeToken(std::optional<int64_t> id, int type);
  /// `between`: what begins the second text of a pair.
  void writeTemplate(std::optional<int64_t> between, int secondType);
  void writePattern(const char *kind, const std::string &pattern);

  //===--- Byte-level BPE ------------------------------------------------===//

  Result<void> makeByteLevel();
  void writeByteLevel(const char *key);
  void writeSplits(const Splits &splits);
  Result<void> writeGivenMerges();

  //===--- Pieces with scores --------------------------------------------===//

  Result<void> makePieces();
  /// A normalizer that puts the mark before a text.
  void writePrepend();
  void writeReplace(std::string_view from, std::string_view to);
  void writePieceDecoder(bool prefix);
  /// Pairs of pieces in the order in which SentencePiece joins them: by the
  /// score of what they make; those that make the same one as transformers
  /// orders them, by the lengths of both.
  void writeMergesOfScores();

  //===--- Unigram -------------------------------------------------------===//

  Result<void> makeUnigram();
  /// The character map of the normalizer; nothing where the file has none.
  Result<void> writeCharacterMap();
  /// Words between spaces, with a mark before each.
  void writeWords();
  /// A Metaspace as the value of a key, or as an element.
  void writeMetaspace(const char *key);
  void writeScores();

  //===--- WordPiece -----------------------------------------------------===//

  Result<void> makeWordPiece();
  void writeTyped(const char *key, const char *type);
  /// Where a piece begins a word the file marks it, where it goes on it does
  /// not. Tokens with a role and control tokens are as they are.
  std::string getWordPiece(const Token &token) const;
  Result<void> checkWordPieces(const std::vector<std::string> &stored) const;
  /// Whether words of the vocabulary have capital letters.
  bool hasUpperCase() const;

  //===--- The other files -----------------------------------------------===//

  std::string writeSettings(const std::string &model) const;
  /// Texts end at each of the tokens for it.
  std::string writeGeneration() const;

  const TokenReader reader;
  const int64_t vocabulary;
  std::vector<Token> tokens;
  std::map<std::string, int64_t> roles;
  std::set<std::string> ignored;      ///< roles whose id is no token
  std::optional<int64_t> first, last; ///< around a text
  std::vector<std::string> notes;
  std::string text; ///< of tokenizer.json
  JsonWriter json;
};

} // namespace transom::gguf
