// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded model: the program that executors run, the tokenizer, and the use of
// the program's entries for texts. Immutable and shared between threads.
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
  /// Creates a model for code that is already in memory; `code` must outlive
  /// it.
  static Result<std::unique_ptr<Model>>
  fromCode(Manifest manifest, std::string manifestText,
           const transom_artifact_code &code, std::string_view tokenizerTables,
           const std::string &forcedIsa, const std::string &name);

  /// NULL if the artifact has none.
  const Tokenizer *tokenizer() const {
    return tokenizerValue ? &*tokenizerValue : nullptr;
  }

  /// Returns the error for a model without a tokenizer, with the reason from
  /// its files.
  Error noTokenizer() const;

  /// Entry, argument and result indices for text calls.
  struct TextUse {
    const Entry *entry = nullptr;
    int ids = -1, mask = -1, types = -1;
    int pooled = -1;       ///< mask for pooled tokens
    int expansion = -1;    ///< mask for query expansion tokens
    bool attends = false;  ///< attends to query expansion tokens; set per call
    int result = -1;       ///< last_hidden_state, logits or embeddings
    int64_t width = 0;     ///< result's last dimension; 1 for [batch, seq]
    bool perToken = false; ///< [batch, seq, width] or [batch, seq]; otherwise
                           ///< [batch, width]
    size_t skipped =
        0; ///< first tokens in a text that are not pooled; set per call
  };
  /// Returns how an entry computes a result for texts; nullopt without a
  /// tokenizer or an f32 result with this name.
  std::optional<TextUse> findTextUse(const Entry *entry,
                                     const std::string &result) const;
  /// The same for the encoder.
  std::optional<TextUse> findTextUse(const std::string &result) const {
    return findTextUse(findEntry(EntryKind::Encode), result);
  }
  /// Entries for text embeddings and classification; NULL if the model does not
  /// support them. Embeddings are computed by the model's pipeline, which may
  /// reject them, or are hidden states to be pooled.
  const TextUse *embedding() const { return embed ? &*embed : nullptr; }
  const TextUse *classification() const {
    return classify ? &*classify : nullptr;
  }
  /// Token states for finding entities with given types; NULL if the model does
  /// not support this.
  const TextUse *entityStates() const {
    return entities ? &*entities : nullptr;
  }
  /// The pipeline entry that scores text pairs, for models without label
  /// scores; NULL without such a pipeline.
  const TextUse *pairs() const { return pairUse ? &*pairUse : nullptr; }
  /// Max token count, to which texts are truncated; 0: no limit.
  size_t maxTextTokens() const;

private:
  Model() = default;
  Result<void> openTexts(std::string_view tables, const std::string &name);

  std::optional<Tokenizer> tokenizerValue;
  std::optional<TextUse> embed, classify, entities, pairUse;
};

} // namespace transom
