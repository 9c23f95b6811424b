// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded model: manifest, code of the chosen instruction set, entries ready
// to be called, tokenizer. Immutable and shared by threads.
#pragma once
#include "runtime/artifact/Artifact.h"
#include "runtime/execute/Entry.h"
#include "runtime/onednn/OneDnn.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transom {

class Model {
public:
  /// How an artifact is loaded.
  struct LoadOptions {
    std::string forcedIsa;      ///< name of an instruction set, or empty
    bool populate = false;      ///< read all weights now
    bool verifyWeights = false; ///< compare the weights with their sha256
  };
  /// Loads an artifact.
  static Result<std::unique_ptr<Model>> load(const std::string &path,
                                             const LoadOptions &options);
  /// A model over code that is in memory already; `code` outlives it.
  static Result<std::unique_ptr<Model>>
  fromCode(Manifest manifest, std::string manifestText,
           const transom_artifact_code &code, std::string_view tokenizerTables,
           const std::string &forcedIsa, const std::string &name);

  const Manifest &manifest() const { return contents; }
  const std::string &manifestText() const { return text; }
  const transom_artifact_code &code() const { return *artifact; }
  const transom_isa_code &isa() const { return *chosen; }
  const std::vector<Entry> &entries() const { return entryList; }
  /// NULL if no dispatch is oneDNN's.
  const OneDnnModel *oneDnn() const { return oneDnnModel.get(); }
  /// The entry of that name, or NULL.
  const Entry *findEntry(const char *name) const;
  /// The first entry of a kind, or NULL.
  const Entry *findEntry(EntryKind kind) const;
  /// NULL if the artifact has none.
  const Tokenizer *tokenizer() const {
    return tokenizerValue ? &*tokenizerValue : nullptr;
  }

  /// Entry, argument and result indices that the text calls use.
  struct TextUse {
    const Entry *entry = nullptr;
    int ids = -1, mask = -1, types = -1;
    int result = -1;       ///< last_hidden_state or logits
    int64_t width = 0;     ///< its last dimension
    bool perToken = false; ///< [batch, seq, width], else [batch, width]
  };
  /// How texts are embedded or classified; NULL if the model cannot.
  const TextUse *embedding() const { return embed ? &*embed : nullptr; }
  const TextUse *classification() const {
    return classify ? &*classify : nullptr;
  }
  /// Texts are truncated to this many tokens; 0: never.
  size_t maxTextTokens() const;

private:
  Model() = default;
  Result<void> resolve(std::string_view tokenizerTables,
                       const std::string &forcedIsa, const std::string &name);
  std::optional<TextUse> findTextUse(const char *result) const;

  ArtifactCode library; // destroyed last
  Manifest contents;
  std::string text;
  const transom_artifact_code *artifact = nullptr;
  const transom_isa_code *chosen = nullptr;
  std::vector<Entry> entryList;
  std::unique_ptr<OneDnnModel> oneDnnModel;
  std::optional<Tokenizer> tokenizerValue;
  std::optional<TextUse> embed, classify;
};

} // namespace transom
