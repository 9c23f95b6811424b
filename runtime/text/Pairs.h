// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs of query and document for a cross-encoder: both texts with the special
// tokens for pairs, or one text built from a template.
#pragma once
#include "runtime/session/Session.h"
#include <string>
#include <vector>

namespace transom {

/// Encodes the pairs for one query. Keeps references to the model and to the
/// query bytes.
class PairEncoder {
public:
  /// An empty prompt means no prompt.
  static Result<PairEncoder> create(const Model &model, std::string prompt,
                                    const transom_text &query);

  /// Encodes the pair with a document, truncated to the model's maximum. The
  /// template's end, where a causal model answers, is preserved: it replaces
  /// the last tokens in a truncated text.
  Result<Encoding> encode(const transom_text &document) const;

private:
  PairEncoder(const Model &model, std::string prompt, const transom_text &query)
      : model(model), prompt(std::move(prompt)), query(query) {}
  std::string fill(std::string_view query, std::string_view document) const;
  Result<void> findEnd();

  const Model &model;
  std::string prompt;
  transom_text query;
  std::string prompted; ///< prompt and query, if there is no template
  const ManifestTemplate *pattern = nullptr;
  std::vector<int64_t> end; ///< last tokens that all filled templates share
};

} // namespace transom
