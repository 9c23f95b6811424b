// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Labels that a model was not trained on: a model of natural language inference
// says whether a text entails a hypothesis that names the label, by the rules
// of the zero-shot classification pipeline of transformers.
#pragma once
#include "runtime/session/Session.h"

namespace transom {

/// Scores hypotheses, as transom_session_zero_shot().
Result<void> scoreHypotheses(Session &session, const transom_text &text,
                             const transom_text *hypotheses, size_t count,
                             bool independent, float *scores, bool &cut);

} // namespace transom
