// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded model: the program that executors run, the tokenizer, and how texts
// use the program's entries. Immutable and shared by threads.
#pragma once
#include "runtime/execute/Program.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <optional>

namespace transom {

class Model : public Program {
public:
  /// Loads an artifact.
  static Result<std::unique_ptr<Model>> load(const std::string &path,
                                             const LoadOptions &options);
  /// A model over code that is in memory already; `code` outlives it.
  static Result<std::unique_ptr<Model>>
  fromCode(Manifest manifest, std::string manifestText,
           const transom_artifact_code &code, std::string_view tokenizerTables,
           const std::string &forcedIsa, const std::string &name);

  /// NULL if the artifact has none.
  const Tokenizer *tokenizer() const {
    return tokenizerValue ? &*tokenizerValue : nullptr;
  }

  /// The error of a model without a tokenizer, with the reason that its files
  /// gave.
  Error noTokenizer() const;

  /// Entry, argument and result indices that the text calls use.
  struct TextUse {
    const Entry *entry = nullptr;
    int ids = -1, mask = -1, types = -1;
    int pooled = -1;       ///< a mask of the tokens that are pooled
    int expansion = -1;    ///< a mask of tokens that expand a query
    bool attends = false;  ///< to tokens that expand a query; of a call
    int result = -1;       ///< last_hidden_state, logits or embeddings
    int64_t width = 0;     ///< its last dimension; 1 for [batch, seq]
    bool perToken = false; ///< [batch, seq, width] or [batch, seq], else
                           ///< [batch, width]
    size_t skipped =
        0; ///< first tokens of a text that are not pooled; of a call
  };
  /// How an entry gives a result for texts; nothing if there is no tokenizer or
  /// no such result of f32.
  std::optional<TextUse> findTextUse(const Entry *entry,
                                     const std::string &result) const;
  /// The same of the encoder.
  std::optional<TextUse> findTextUse(const std::string &result) const {
    return findTextUse(findEntry(EntryKind::Encode), result);
  }
  /// How texts are embedded or classified; NULL if the model cannot. Embeddings
  /// are those of the model's pipeline, which may refuse them, or hidden states
  /// to be pooled.
  const TextUse *embedding() const { return embed ? &*embed : nullptr; }
  const TextUse *classification() const {
    return classify ? &*classify : nullptr;
  }
  /// The states of tokens from which entities of types are found that a call
  /// gives; NULL if the model cannot.
  const TextUse *entityStates() const {
    return entities ? &*entities : nullptr;
  }
  /// How a pipeline scores pairs of texts, unless their labels do; NULL where
  /// no pipeline does.
  const TextUse *pairs() const { return pairUse ? &*pairUse : nullptr; }
  /// Texts are truncated to this many tokens; 0: never.
  size_t maxTextTokens() const;

private:
  Model() = default;
  Result<void> openTexts(std::string_view tables, const std::string &name);

  std::optional<Tokenizer> tokenizerValue;
  std::optional<TextUse> embed, classify, entities, pairUse;
};

} // namespace transom
