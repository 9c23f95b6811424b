// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How well documents answer a query: by a model that reads both at once, or by
// the similarity of their embeddings.
#pragma once
#include "runtime/session/Session.h"

namespace transom {

/// Scores documents, as transom_session_rerank_prompted().
Result<void> rerankTexts(Session &session, const transom_text &query,
                         const transom_text *documents, size_t count,
                         const transom_rerank_options &options, float *scores,
                         size_t &cut);

} // namespace transom
