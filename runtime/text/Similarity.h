// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How close embeddings are to each other, by the functions that
// sentence-transformers names in `similarity_fn_name`.
#pragma once
#include "runtime/session/Model.h"

namespace transom {

/// The function that the model's files name: `cosine` where they name none,
/// `dot`, `euclidean`, `manhattan`, or another that is not supported.
std::string getSimilarityFunction(const Model &model);

/// The similarity of two vectors; larger is closer, so distances are negative.
/// A vector of zeros has a cosine of 0.
double getSimilarity(const std::string &function, const float *a,
                     const float *b, size_t size);

} // namespace transom
