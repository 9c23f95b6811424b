// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the scores of spans of words to the entities that are kept, by the rules
// of the package gliner.
#pragma once
#include <cstddef>
#include <vector>

namespace transom {

/// A span of words that may be an entity.
struct EntitySpan {
  size_t first, last; ///< words
  size_t type;
  float score;
};

/// How spans are chosen.
struct EntityChoice {
  double threshold = 0.5;  ///< scores are larger
  bool nested = false;     ///< a span may lie in another
  bool multiLabel = false; ///< the same words may have several types
};

/// The probability that a logit means.
float getProbability(float logit);

/// The spans of some words from the logits [words, types, 3] of each word to be
/// the start, the end and the inside of an entity. A span has the smallest
/// probability of its start, its end and its words.
std::vector<EntitySpan> joinWords(const std::vector<float> &logits,
                                  size_t words, size_t types, double threshold);

/// Keeps spans, the best first and of equal ones the first, that do not overlap
/// those that are kept; in the order of their first words, of equal ones the
/// best first.
std::vector<EntitySpan> chooseSpans(const std::vector<EntitySpan> &spans,
                                    const EntityChoice &choice);

} // namespace transom
