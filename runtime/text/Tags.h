// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Labelled spans in a text, from label probabilities per token, with the rules
// of transformers' token classification pipeline.
#pragma once
#include "runtime/session/Session.h"
#include <string>
#include <vector>

namespace transom {

/// A label, split into its `B-` or `I-` prefix and its name.
struct TagName {
  bool begins; ///< `B-`: a span starts here
  std::string_view name;
};
TagName splitTag(std::string_view label);

/// A token that is not special, as input for spans.
struct TaggedToken {
  size_t index;      ///< token index in the text
  size_t begin, end; ///< byte range in the text
  /// It continues the preceding token's word.
  bool continues;
  const float *scores; ///< [labels]
};

/// Returns an encoded text's tokens. If the model marks tokens that continue a
/// word (`##ing`), a token continues a word if its spelling is longer than its
/// text; otherwise if there is no space before it or at its start. The unknown
/// token never continues a word. `scores` is [tokens, labels].
std::vector<TaggedToken> getTaggedTokens(const Tokenizer &tokenizer,
                                         std::string_view text,
                                         const Encoding &encoding,
                                         const std::vector<float> &scores,
                                         size_t labels);

/// Merges tokens into spans, including spans with labels that mean 'none'. A
/// span has the mean score of its tokens or words and the label of its first
/// one. Spans end where the name after `B-` or `I-` changes, and before `B-`.
std::vector<transom_span> mergeTokens(const std::vector<TaggedToken> &tokens,
                                      const std::vector<std::string> &labels,
                                      transom_span_merge merge);

/// Tags one text, as transom_session_tag().
Result<std::vector<transom_span>> tagText(Session &session,
                                          const transom_text &text,
                                          transom_span_merge merge, bool &cut);

} // namespace transom
