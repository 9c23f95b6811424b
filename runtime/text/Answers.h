// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers to questions: the spans of a context that a question answering model
// finds, by the rules of the question answering pipeline of transformers. A
// context that is too long is read in windows that overlap.
#pragma once
#include "runtime/session/Session.h"
#include <vector>

namespace transom {

/// Tokens [begin, end) of the context and the probability of being the answer.
struct AnswerSpan {
  size_t first, last; ///< tokens of the encoding, both in the answer
  double score;
};

/// The most probable spans of one window, best first, at most `most`; of equal
/// ones, the first. `start` and `end` have a logit for each token. The first
/// token stands for 'no answer': `impossible` is its probability.
std::vector<AnswerSpan> findSpans(const Encoding &window, const float *start,
                                  const float *end, size_t most, size_t longest,
                                  double &impossible);

/// The pair of question and context cut into windows of at most `length`
/// tokens, of which neighbours share `overlap` tokens of the context. `Limit`
/// where the question leaves no room for more than `overlap`.
Result<std::vector<Encoding>> makeWindows(const Encoding &pair, size_t length,
                                          size_t overlap);

/// The answers to a question, best first, as transom_session_answer().
Result<std::vector<transom_answer>>
answerQuestion(Session &session, const transom_text &question,
               const transom_text &context,
               const transom_answer_options &options);

} // namespace transom
