// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects entities from span scores, with the gliner package's rules.
#pragma once
#include <cstddef>
#include <vector>

namespace transom {

/// A possible entity: a word span.
struct EntitySpan {
  size_t first, last; ///< words
  size_t type;
  float score;
};

/// Rules for span selection.
struct EntityChoice {
  double threshold = 0.5;  ///< scores must be larger
  bool nested = false;     ///< spans may be nested
  bool multiLabel = false; ///< the same words may have several types
};

/// Returns sigmoid(logit).
float getProbability(float logit);

/// Returns the spans whose probabilities pass the threshold, from word logits
/// [words, types, 3] (start, end and inside an entity). A span's score is the
/// smallest probability among its start, its end and its words.
std::vector<EntitySpan> joinWords(const std::vector<float> &logits,
                                  size_t words, size_t types, double threshold);

/// Selects spans by descending score, the first among equal ones, that do not
/// overlap selected spans; returns them sorted by first word, then by
/// descending score.
std::vector<EntitySpan> chooseSpans(const std::vector<EntitySpan> &spans,
                                    const EntityChoice &choice);

} // namespace transom
