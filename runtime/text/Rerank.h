// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Relevance scores for documents, from a model that reads query and document
// together, or from embedding similarity.
#pragma once
#include "runtime/session/Session.h"

namespace transom {

/// Scores documents, as transom_session_rerank_prompted().
Result<void> rerankTexts(Session &session, const transom_text &query,
                         const transom_text *documents, size_t count,
                         const transom_rerank_options &options, float *scores,
                         size_t &cut);

} // namespace transom
