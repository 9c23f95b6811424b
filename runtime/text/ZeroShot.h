// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zero-shot classification with labels that the model was not trained on: a
// natural language inference model scores whether a text entails a hypothesis
// that contains the label, with the rules of transformers' zero-shot
// classification pipeline.
#pragma once
#include "runtime/session/Session.h"

namespace transom {

/// Scores hypotheses, as transom_session_zero_shot().
Result<void> scoreHypotheses(Session &session, const transom_text &text,
                             const transom_text *hypotheses, size_t count,
                             bool independent, float *scores, bool &cut);

} // namespace transom
