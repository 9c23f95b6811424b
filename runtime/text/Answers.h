// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extractive question answering: spans in a context, selected with the rules of
// transformers' question answering pipeline. A context that is too long is
// split into overlapping windows.
#pragma once
#include "runtime/session/Session.h"
#include <vector>

namespace transom {

/// A possible answer and its probability.
struct AnswerSpan {
  size_t first, last; ///< first and last token in the encoding
  double score;
};

/// Returns the most probable spans in one window, best first, at most `most`;
/// ties keep the first. `start` and `end` contain a logit for each token. The
/// first token represents 'no answer': `impossible` is set to its probability.
std::vector<AnswerSpan> findSpans(const Encoding &window, const float *start,
                                  const float *end, size_t most, size_t longest,
                                  double &impossible);

/// Splits a pair of question and context into windows with at most `length`
/// tokens, where adjacent windows share `overlap` context tokens. `Limit` if
/// the question leaves no room for more than `overlap`.
Result<std::vector<Encoding>> makeWindows(const Encoding &pair, size_t length,
                                          size_t overlap);

/// Returns the answers to a question, best first, as transom_session_answer().
Result<std::vector<transom_answer>>
answerQuestion(Session &session, const transom_text &question,
               const transom_text &context,
               const transom_answer_options &options);

} // namespace transom
