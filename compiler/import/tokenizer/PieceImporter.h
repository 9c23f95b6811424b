// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates a tokenizer from SentencePiece pieces, with the parts shared by
// transformers' tokenizer classes.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/SentencePiece.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include <functional>

namespace transom::tokenizer {

/// The token that a class uses for a role. The flags also apply to a token that
/// a file names without flags.
struct RoleDefault {
  const char *key;
  const char *token;
  bool leftStrip = false, normalized = false;
};

/// RoBERTa's tokens, also used by BART, XLM-R, mBART and NLLB.
std::vector<RoleDefault> getRobertaRoles(RoleDefault mask);

/// DeBERTa's tokens; ALBERT uses the same `unknown` and `padding`.
std::vector<RoleDefault> getBertRoles(const char *unknown,
                                      const char *padding = "[PAD]");

/// Creates the draft for one tokenizer.
class PieceImporter {
public:
  PieceImporter(const SentencePieceModel &model,
                const TokenizerSettings &settings, Draft &draft,
                std::vector<std::string> &notes)
      : pieces(model.pieces), characterMap(model.characterMap),
        unknownPiece(model.unknownId), settings(settings), draft(draft),
        notes(notes) {}

  // tokenizer.json.

  /// Uses the vocabulary, character map and truncation from a tokenizer.json.
  /// Nothing can be added to such a vocabulary: the functions for it have no
  /// effect.
  Result<void> takeSerialized(JsonValue root);
  /// Returns true if it exists and has a template.
  bool hasTemplate() const;
  /// Uses its template.
  Result<void> takeTemplate();
  /// Adds its tokens before all others.
  Result<void> takeAddedTokens(JsonValue root);

  // The vocabulary.

  /// Returns the token with a role in the vocabulary.
  std::string getRole(const char *key, const char *fallback) const;
  void addToken(std::string text, double score);
  /// Adds the pieces starting at index `from`.
  void addPieces(size_t from);
  /// Adds fairseq's special tokens instead of the first three pieces; the first
  /// has the role `first`.
  void addFairseqTokens(const char *first);
  /// Returns the id of the first token with this string.
  size_t findEntry(std::string_view text, size_t fallback) const;
  /// Completes a Unigram model for the tokens.
  Result<void> finishUnigram(size_t unknownId);
  /// Creates a BPE model with the tokens `first` and all other pieces, in this
  /// order.
  Result<void> makeBpe(const std::vector<std::string> &first);

  // Steps.

  /// Appends the model file's character map, if it has one.
  Result<void> addMap();
  /// Appends a normalizer in tokenizer.json format.
  Result<void> addNormalizer(const char *json);
  /// Sets the pre-tokenizer and the decoder, in tokenizer.json format.
  Result<void> setSteps(const char *preTokenizer, const char *decoder);

  // Added tokens and templates.

  /// Sets the truncation side, if the settings specify it.
  Result<void> setTruncationSide();
  /// Adds control symbols and SentencePiece user-defined symbols.
  void addPieceTokens();
  /// Adds another special token for the class.
  void addSpecial(const std::string &text);
  /// Adds the additional tokens that the settings specify.
  void addFurther(const std::vector<TokenSetting> &tokens) {
    extra.insert(extra.end(), tokens.begin(), tokens.end());
  }
  /// Adds all tokens: tokens with ids in the settings, tokens with a role, then
  /// the settings' other tokens or else the tokens specified by class and model
  /// file.
  Result<void> addTokens(const std::vector<RoleDefault> &roles);
  /// Returns a token's id, or the unknown token's id.
  uint32_t getId(std::string_view text) const;
  uint32_t getRoleId(const char *key, const char *fallback) const {
    return getId(getRole(key, fallback));
  }
  /// Sets the token ids before, between and after the texts.
  void addTemplate(const std::vector<uint32_t> &before,
                   const std::vector<uint32_t> &between,
                   const std::vector<uint32_t> &after);
  /// Sets BERT's template: the tokens `begin` and `end` around a text; the
  /// second text in a pair and its end have type 1.
  void addTypedTemplate(uint32_t begin, uint32_t end);
  /// Sets the role bos before each text and the role eos after it, if
  /// requested.
  void addBoundaryTemplate(bool begins, bool ends);
  /// Adds a language whose token is in the vocabulary; the settings specify
  /// whether it is special.
  void addLanguage(const char *code);
  /// Sets end token and source language: the latter before the text, or after
  /// all. `fallback` is the language without `src_lang`.
  Result<void> addLanguageTemplate(const char *fallback, bool codeFirst);

  /// Completes the draft and writes the tables; `lowersCase` comes from the
  /// setting files.
  Result<std::string> finish(bool lowersCase);

  const std::vector<Piece> &pieces;
  std::string_view characterMap;
  size_t unknownPiece;                 ///< the model file's unknown token
  std::optional<JsonValue> serialized; ///< the tokenizer.json
  const TokenizerSettings &settings;
  Draft &draft;

private:
  void addMerges();
  void splitSpecial();
  std::vector<NamedToken> getNamed(const std::vector<RoleDefault> &roles) const;

  std::vector<std::string> &notes;
  std::vector<TokenSetting> extra; ///< specified by class and model file
  std::string serializedMap;
  std::vector<AddedElement> elements; ///< added before `extra`
};

/// Files in a folder whose tokenizer is defined by a transformers class.
struct ClassFiles {
  const SettingFiles &settings;
  const std::optional<JsonValue> &serialized; ///< tokenizer.json
  std::string_view vocabulary; ///< file name that starts error messages
};

/// Creates the tokenizer for a class. Without a tokenizer.json `read` adds the
/// vocabulary from other files to the draft, or returns the pieces; `make`
/// applies the class's rules.
Result<ImportedTokenizer>
importByClass(const ClassFiles &files, Draft &draft,
              const std::function<Result<SentencePieceModel>()> &read,
              const std::function<Result<void>(PieceImporter &)> &make);

} // namespace transom::tokenizer
