// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Start and end scores are compared with the threshold as f32 and inside scores
// as double, so a probability equal to it counts as in the gliner package.
#include "runtime/text/EntitySpans.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace transom;

float transom::getProbability(float logit) {
  return float(1 / (1 + std::exp(-double(logit))));
}

std::vector<EntitySpan> transom::joinWords(const std::vector<float> &logits,
                                           size_t words, size_t types,
                                           double threshold) {
  enum Logit { Start, End, Inside };
  auto get = [&](size_t word, size_t type, Logit logit) {
    return getProbability(logits[(word * types + type) * 3 + logit]);
  };
  std::vector<EntitySpan> spans;
  for (size_t first = 0; first != words; ++first)
    for (size_t type = 0; type != types; ++type) {
      const float start = get(first, type, Start);
      if (!(start > float(threshold)))
        continue;
      float score = start;
      for (size_t last = first; last != words; ++last) {
        const float inside = get(last, type, Inside);
        if (double(inside) < threshold)
          break;
        score = std::min(score, inside);
        if (const float end = get(last, type, End); end > float(threshold))
          spans.push_back({first, last, type, std::min(score, end)});
      }
    }
  return spans;
}

/// True if two spans cannot both be selected.
static bool overlap(const EntitySpan &a, const EntitySpan &b,
                    const EntityChoice &choice) {
  if (a.first == b.first && a.last == b.last)
    return !choice.multiLabel;
  if (a.first > b.last || b.first > a.last)
    return false;
  const bool isNested = (a.first <= b.first && a.last >= b.last) ||
                        (b.first <= a.first && b.last >= a.last);
  return !choice.nested || !isNested;
}

std::vector<EntitySpan>
transom::chooseSpans(const std::vector<EntitySpan> &spans,
                     const EntityChoice &choice) {
  // Visit spans by descending score, and keep those that do not overlap.
  std::vector<size_t> order(spans.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return spans[a].score != spans[b].score ? spans[a].score > spans[b].score
                                            : a < b;
  });
  std::vector<EntitySpan> kept;
  for (size_t i : order)
    if (std::none_of(kept.begin(), kept.end(), [&](const EntitySpan &other) {
          return overlap(spans[i], other, choice);
        }))
      kept.push_back(spans[i]);
  // Sort the result by first word.
  order.resize(kept.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return kept[a].first != kept[b].first ? kept[a].first < kept[b].first
                                          : a < b;
  });
  std::vector<EntitySpan> sorted;
  for (size_t i : order)
    sorted.push_back(kept[i]);
  return sorted;
}
