// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Making a tokenizer of the pieces of a SentencePiece model, with the parts
// that the tokenizer classes of transformers have in common.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/SentencePiece.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include <functional>

namespace transom::tokenizer {

/// The token that a class gives a role. The flags are those of a token that a
/// file names without flags, too.
struct RoleDefault {
  const char *key;
  const char *token;
  bool leftStrip = false, normalized = false;
};

/// The tokens of RoBERTa's class, which those of BART, XLM-R, mBART and NLLB
/// have too.
std::vector<RoleDefault> getRobertaRoles(RoleDefault mask);

/// The tokens of DeBERTa's classes; `unknown` and `padding` are those of
/// ALBERT, too.
std::vector<RoleDefault> getBertRoles(const char *unknown,
                                      const char *padding = "[PAD]");

/// Makes the draft of one tokenizer.
class PieceImporter {
public:
  PieceImporter(const SentencePieceModel &model,
                const TokenizerSettings &settings, Draft &draft,
                std::vector<std::string> &notes)
      : pieces(model.pieces), characterMap(model.characterMap),
        unknownPiece(model.unknownId), settings(settings), draft(draft),
        notes(notes) {}

  // tokenizer.json.

  /// Takes the vocabulary, the character map and the truncation of a
  /// tokenizer.json. Nothing can be added to such a vocabulary: the functions
  /// for it do nothing.
  Result<void> takeSerialized(JsonValue root);
  /// True where there is one and it has a template.
  bool hasTemplate() const;
  /// Takes its template.
  Result<void> takeTemplate();
  /// Adds its tokens before all others.
  Result<void> takeAddedTokens(JsonValue root);

  // The vocabulary.

  /// The token that has a role in the vocabulary.
  std::string getRole(const char *key, const char *fallback) const;
  void addToken(std::string text, double score);
  /// The pieces from some place on.
  void addPieces(size_t from);
  /// The special tokens of fairseq, instead of the first three pieces; the
  /// first has the role `first`.
  void addFairseqTokens(const char *first);
  /// The id of the first token with this text.
  size_t findEntry(std::string_view text, size_t fallback) const;
  /// Completes a Unigram model of the tokens.
  Result<void> finishUnigram(size_t unknownId);
  /// Makes a BPE model of the tokens `first` and all other pieces,
  /// in this order.
  Result<void> makeBpe(const std::vector<std::string> &first);

  // Steps.

  /// Appends the character map of the model file, if it has one.
  Result<void> addMap();
  /// Appends a normalizer as tokenizer.json has it.
  Result<void> addNormalizer(const char *json);
  /// Sets the pre-tokenizer and the decoder, as tokenizer.json has them.
  Result<void> setSteps(const char *preTokenizer, const char *decoder);

  // Added tokens and templates.

  /// The end at which texts are cut, where the settings say it.
  Result<void> setTruncationSide();
  /// Control symbols and those that the user of SentencePiece defined.
  void addPieceTokens();
  /// A further special token of the class.
  void addSpecial(const std::string &text);
  /// Further tokens that the settings name for the class.
  void addFurther(const std::vector<TokenSetting> &tokens) {
    extra.insert(extra.end(), tokens.begin(), tokens.end());
  }
  /// Adds all tokens: those of the settings with ids, those with a role, and of
  /// the others those of the settings or else those of class and model file.
  Result<void> addTokens(const std::vector<RoleDefault> &roles);
  /// The id of a token, or that of the unknown token.
  uint32_t getId(std::string_view text) const;
  uint32_t getRoleId(const char *key, const char *fallback) const {
    return getId(getRole(key, fallback));
  }
  /// Token ids before, between and after the texts.
  void addTemplate(const std::vector<uint32_t> &before,
                   const std::vector<uint32_t> &between,
                   const std::vector<uint32_t> &after);
  /// BERT's template: the tokens `begin` and `end` around a text, and the
  /// second of a pair and its end of type 1.
  void addTypedTemplate(uint32_t begin, uint32_t end);
  /// The role bos before each text and the role eos after it, if asked for.
  void addBoundaryTemplate(bool begins, bool ends);
  /// A language whose token is in the vocabulary; the settings say whether it
  /// is special.
  void addLanguage(const char *code);
  /// The end and the source language: the latter before the text, or after
  /// all. `fallback` is the language without `src_lang`.
  Result<void> addLanguageTemplate(const char *fallback, bool codeFirst);

  /// Completes the draft and lays the tables out; `lowersCase` is that of the
  /// setting files.
  Result<std::string> finish(bool lowersCase);

  const std::vector<Piece> &pieces;
  std::string_view characterMap;
  size_t unknownPiece;                 ///< the unknown token of the model file
  std::optional<JsonValue> serialized; ///< the tokenizer.json
  const TokenizerSettings &settings;
  Draft &draft;

private:
  void addMerges();
  void splitSpecial();
  std::vector<NamedToken> getNamed(const std::vector<RoleDefault> &roles) const;

  std::vector<std::string> &notes;
  std::vector<TokenSetting> extra; ///< of class and model file
  std::string serializedMap;
  std::vector<AddedElement> elements; ///< that are added before those
};

/// The files of a folder whose tokenizer a class of transformers makes.
struct ClassFiles {
  const SettingFiles &settings;
  const std::optional<JsonValue> &serialized; ///< tokenizer.json
  std::string_view vocabulary; ///< a file's name, which errors begin with
};

/// The tokenizer that a class makes. Without a tokenizer.json `read` adds the
/// vocabulary of other files to the draft, or gives the pieces that it is made
/// of; `make` does what the class does.
Result<ImportedTokenizer>
importByClass(const ClassFiles &files, Draft &draft,
              const std::function<Result<SentencePieceModel>()> &read,
              const std::function<Result<void>(PieceImporter &)> &make);

} // namespace transom::tokenizer
