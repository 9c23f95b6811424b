// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remaining tokens are a list in id order, and all sums run in that order or by
// buckets, never in an order that a library chose. Only the largest logits, or
// those at a cutoff, are ever sorted.
#include "runtime/generate/Sampler.h"
#include "runtime/generate/Random.h"
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

using namespace transom;

Sampler::Sampler(const GenerationConfig &config, int64_t vocabulary)
    : config(config), vocabulary(vocabulary), processors(config, vocabulary),
      edited(*config.sample ? 0 : vocabulary), scan(vocabulary),
      restricted(vocabulary), processed(size_t(vocabulary)) {
  if (*config.sample) {
    values.reserve(size_t(vocabulary));
    order.reserve(size_t(vocabulary));
    weights.resize(size_t(vocabulary));
    buckets.resize(1024);
  }
  kept.reserve(size_t(vocabulary));
}

static Error makeNothingLeftError() {
  return rejected("no token is left to be chosen");
}

/// Returns the first of the largest logits after the processors. The largest
/// unedited logit is among the row's largest ones.
Result<int64_t> Sampler::chooseLargest() {
  kept.clear();
  if (!edited.isUniform())
    scan.gatherLargest(1 + edited.getEdits().size(), kept);
  float largest = -std::numeric_limits<float>::infinity();
  int64_t chosen = -1;
  auto take = [&](int64_t token, float logit) {
    if (logit > largest || (logit == largest && token < chosen)) {
      largest = logit;
      chosen = token;
    }
  };
  for (int32_t token : kept)
    if (!edited.isEdited(token))
      take(token, row[token]);
  for (const EditedRow::Edit &edit : edited.getEdits())
    take(edit.token, edit.value);
  if (chosen < 0)
    return makeNothingLeftError();
  return chosen;
}

/// Returns the first of the largest allowed logits after the processors. All
/// others are minus infinity, without a materialized row.
Result<int64_t> Sampler::chooseLargestListed(const SamplingPosition &position) {
  edited.begin(nullptr, 0);
  edited.setAll(-std::numeric_limits<float>::infinity());
  const std::vector<int64_t> &tokens = *position.allowed;
  for (size_t i = 0; i != tokens.size(); ++i)
    edited.set(tokens[i], restricted.getLogits()[i]);
  if (processors.changes(position))
    processors.apply(edited, position);
  return chooseLargest();
}

/// Chooses the next token if only some are allowed.
Result<int64_t> Sampler::chooseListed(const LogitRow &logits,
                                      const SamplingPosition &position) {
  if (!*config.sample)
    return restricted.gather(logits, *position.allowed)
               ? chooseLargestListed(position)
               : rejected("a logit is not finite");
  if (!restricted.restrict(logits, *position.allowed))
    return rejected("a logit is not finite");
  DenseRow changed(restricted.getRow().data(), vocabulary);
  if (processors.changes(position))
    processors.apply(changed, position);
  row = restricted.getRow().data();
  scan.scan(row);
  if (scan.maximum() < -std::numeric_limits<float>::max())
    return makeNothingLeftError();
  return sample(position);
}

Result<int64_t> Sampler::choose(const LogitRow &logits,
                                const SamplingPosition &position) {
  if (position.allowed)
    return chooseListed(logits, position);
  if (!scan.scan(logits.logits, logits.maxima))
    return rejected("a logit is not finite");
  row = logits.logits;
  const bool changes = processors.changes(position);
  // Greedy search needs only the edited logits and the largest others.
  if (changes && !*config.sample) {
    edited.begin(row, 0);
    processors.apply(edited, position);
    if (edited.getEdits().size() < scan.blockCount() / 2)
      return chooseLargest();
  }
  // Otherwise apply the processors to a copy of the row.
  if (changes) {
    std::copy_n(row, vocabulary, processed.data());
    DenseRow changed(processed.data(), vocabulary);
    processors.apply(changed, position);
    row = processed.data();
    scan.scan(row);
    if (scan.maximum() < -std::numeric_limits<float>::max())
      return makeNothingLeftError();
  }
  return *config.sample ? sample(position) : scan.argmax();
}

bool Sampler::areFinite(const LogitRow &logits,
                        const SamplingPosition &position) {
  return position.allowed ? restricted.restrict(logits, *position.allowed)
                          : firstNonFinite(logits.logits, vocabulary) < 0;
}

void Sampler::sortByLogit(std::vector<int32_t> &tokens) const {
  std::sort(tokens.begin(), tokens.end(), [&](int32_t a, int32_t b) {
    return row[a] != row[b] ? row[a] > row[b] : a < b;
  });
}

void Sampler::keepTopK() {
  const size_t count = size_t(*config.topK);
  scan.gatherLargest(count, kept);
  if (kept.size() <= count)
    return;
  values.clear();
  for (int32_t token : kept)
    values.push_back(row[token]);
  auto last = values.begin() + int64_t(count) - 1;
  std::nth_element(values.begin(), last, values.end(), std::greater<float>());
  const float bound = *last;
  kept.erase(std::remove_if(kept.begin(), kept.end(),
                            [&](int32_t token) { return row[token] < bound; }),
             kept.end());
}

/// Returns how far a token's logit is below the largest, in steps; monotonic in
/// the logit.
size_t Sampler::getBucket(int32_t token) const {
  constexpr double steps = 32;
  const double below =
      (double(scan.maximum()) - double(row[token])) * scale() * steps;
  return below < double(buckets.size() - 1) ? size_t(below)
                                            : buckets.size() - 1;
}

/// Fills the weights of the remaining tokens.
void Sampler::weigh() {
  if (kept.size() == size_t(vocabulary)) {
    expWeights(row, vocabulary, scan.maximum(), scale(), weights.data());
    return;
  }
  for (size_t i = 0; i != kept.size(); ++i)
    weights[i] =
        portableExp((double(row[kept[i]]) - double(scan.maximum())) * scale());
}

/// Keeps the fewest largest tokens whose weights reach top_p in total. Weights
/// are summed by buckets with similar logits; only the bucket that contains the
/// cutoff is sorted.
void Sampler::keepTopP() {
  // Sum the weights by bucket.
  std::fill(buckets.begin(), buckets.end(), 0);
  for (size_t i = 0; i != kept.size(); ++i)
    buckets[getBucket(kept[i])] += weights[i];
  double total = 0, sum = 0;
  for (double weight : buckets)
    total += weight;
  const double target = *config.topP * total;
  // Find the bucket in which the sum reaches the target.
  size_t border = 0;
  while (border + 1 != buckets.size() && sum + buckets[border] < target)
    sum += buckets[border++];
  // Find the last token to keep in this bucket.
  order.clear();
  for (int32_t token : kept)
    if (getBucket(token) == border)
      order.push_back(token);
  if (order.empty())
    return;
  sortByLogit(order);
  size_t last = 0;
  auto getWeight = [&](int32_t token) {
    return portableExp((double(row[token]) - double(scan.maximum())) * scale());
  };
  sum += getWeight(order[0]);
  while (sum < target && last + 1 != order.size())
    sum += getWeight(order[++last]);
  // Keep all tokens that are not smaller.
  const int32_t least = order[last];
  filter([&](size_t i) {
    const float logit = row[kept[i]];
    return logit != row[least] ? logit > row[least] : kept[i] <= least;
  });
}

template <typename Keep> void Sampler::filter(Keep keep) {
  size_t count = 0;
  for (size_t i = 0; i != kept.size(); ++i) {
    if (!keep(i))
      continue;
    kept[count] = kept[i];
    weights[count++] = weights[i];
  }
  kept.resize(count);
}

int64_t Sampler::sample(const SamplingPosition &position) {
  if (*config.topK > 0 && *config.topK < vocabulary) {
    keepTopK();
  } else {
    kept.resize(size_t(vocabulary));
    std::iota(kept.begin(), kept.end(), 0);
  }
  weigh();
  if (*config.topP < 1)
    keepTopP();
  const double least = *config.minP;
  filter([&](size_t i) { return weights[i] >= least && weights[i] > 0; });
  double total = 0;
  for (size_t i = 0; i != kept.size(); ++i)
    weights[i] = total += weights[i];
  const double at =
      getUniform(config.seed, position.continuation, position.made()) * total;
  auto end = weights.begin() + int64_t(kept.size());
  auto found = std::upper_bound(weights.begin(), end, at);
  return kept[size_t(std::min(found, end - 1) - weights.begin())];
}

void Sampler::appendTop(const float *logits, size_t count, double logSum,
                        std::vector<TokenLogprob> &out) {
  scan.scan(logits);
  row = logits;
  scan.gatherLargest(count, kept);
  sortByLogit(kept);
  for (size_t i = 0; i != std::min(count, kept.size()); ++i)
    out.push_back({kept[i], double(row[kept[i]]) - logSum});
}

void Sampler::appendLogprobs(const LogitRow &given,
                             const SamplingPosition &position, int64_t token,
                             size_t count, std::vector<double> &logprobs,
                             std::vector<TokenLogprob> &top) {
  double sum = 0;
  const float *logits = given.logits;
  if (position.allowed) {
    restricted.restrict(given, *position.allowed);
    sum = restricted.getLogSum();
    logits = restricted.getRow().data();
  } else {
    sum = logSumExp(logits, vocabulary);
  }
  logprobs.push_back(double(logits[token]) - sum);
  if (count > 0)
    appendTop(logits, count, sum, top);
}
