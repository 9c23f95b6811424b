// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spans of a text and their labels, from the probabilities of labels of its
// tokens: the rules of the token classification pipeline of transformers.
#pragma once
#include "runtime/session/Session.h"
#include <string>
#include <vector>

namespace transom {

/// A label as `B-`, `I-` and others spell it.
struct TagName {
  bool begins; ///< `B-`: a span starts here
  std::string_view name;
};
TagName splitTag(std::string_view label);

/// A token that is not special, as spans are made from.
struct TaggedToken {
  size_t index;      ///< among the tokens of the text
  size_t begin, end; ///< bytes of the text
  /// It continues the word of the token before it.
  bool continues;
  const float *scores; ///< [labels]
};

/// The tokens of an encoded text and what they continue. A token continues a
/// word if its spelling is longer than what it is of the text, where the model
/// marks such tokens (`##ing`), else if no space is before it or at its start.
/// The unknown token continues nothing. `scores` is [tokens, labels].
std::vector<TaggedToken> getTaggedTokens(const Tokenizer &tokenizer,
                                         std::string_view text,
                                         const Encoding &encoding,
                                         const std::vector<float> &scores,
                                         size_t labels);

/// The spans, also those of labels that mean 'none'. A span of tokens has the
/// mean score of its tokens or words; its label is that of the first. Spans end
/// where the name after `B-` or `I-` changes, and before `B-`.
std::vector<transom_span> mergeTokens(const std::vector<TaggedToken> &tokens,
                                      const std::vector<std::string> &labels,
                                      transom_span_merge merge);

/// Tags one text, as transom_session_tag().
Result<std::vector<transom_span>> tagText(Session &session,
                                          const transom_text &text,
                                          transom_span_merge merge, bool &cut);

} // namespace transom
