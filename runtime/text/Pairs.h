// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs of query and document as a cross-encoder reads them: both texts with
// the special tokens of a pair, or one text that a template makes of them.
#pragma once
#include "runtime/session/Session.h"
#include <string>
#include <vector>

namespace transom {

/// Encodes the pairs of one query. It keeps references to the model and to the
/// bytes of the query.
class PairEncoder {
public:
  /// An empty prompt counts as no prompt.
  static Result<PairEncoder> create(const Model &model, std::string prompt,
                                    const transom_text &query);

  /// The tokens of the pair with a document, cut to the model's maximum. The
  /// end of a template, at which a causal model answers, is kept: it takes the
  /// place of the last tokens of a text that is cut.
  Result<Encoding> encode(const transom_text &document) const;

private:
  PairEncoder(const Model &model, std::string prompt, const transom_text &query)
      : model(model), prompt(std::move(prompt)), query(query) {}
  std::string fill(std::string_view query, std::string_view document) const;
  Result<void> findEnd();

  const Model &model;
  std::string prompt;
  transom_text query;
  std::string prompted; ///< the query after the prompt, without a template
  const ManifestTemplate *pattern = nullptr;
  std::vector<int64_t> end; ///< the tokens that end each text of the template
};

} // namespace transom
