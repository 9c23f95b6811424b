// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Similarity of embeddings, with the functions that sentence-transformers
// supports in `similarity_fn_name`.
#pragma once
#include "runtime/session/Model.h"

namespace transom {

/// Returns the function that the model's files specify: `cosine` (the default),
/// `dot`, `euclidean`, `manhattan`, or the name of an unsupported function.
std::string getSimilarityFunction(const Model &model);

/// Returns the similarity between two vectors; larger is closer, so distances
/// are negative. The cosine with a zero vector is 0.
double getSimilarity(const std::string &function, const float *a,
                     const float *b, size_t size);

} // namespace transom
