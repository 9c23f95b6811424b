// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The logits are a hash over the last tokens and the token count.
#include "test/runtime/generate/FakeSource.h"
#include "test/runtime/generate/RowGroups.h"
#include <limits>
#include <set>

using namespace transom;
using namespace transom::test;

float FakeSource::getLogit(const std::vector<int64_t> &past,
                           int64_t token) const {
  uint64_t hash = past.size() * 1000003 + uint64_t(token) * 7919;
  for (int64_t id : past)
    hash = (hash ^ uint64_t(id + 1)) * 0x9e3779b97f4a7c15 + (hash >> 29);
  hash ^= hash >> 31;
  const float value = float(hash % 100003) / 12500 - 4;
  const size_t at = past.size() - saysFrom;
  return at < says.size() && says[at] == token ? 9 : value;
}

int64_t FakeSource::used() const {
  std::set<int *> all;
  for (const auto &[handle, past] : open_)
    for (const auto &block : past.blocks)
      all.insert(block.get());
  return int64_t(all.size());
}

Result<void> FakeSource::addSources(const SourceTokens *given, size_t count,
                                    int32_t *made) {
  if (int64_t(count) > freeSequences())
    return limitError("all sequences are taken");
  ++sourceCalls;
  for (size_t i = 0; i != count; ++i) {
    made[i] = *create();
    open_[made[i]].sourceNumber = ++sourcesAdded;
    for (int64_t j = 0; j != given[i].count; ++j)
      if (!given[i].mask || given[i].mask[j])
        open_[made[i]].source.push_back(given[i].ids[j]);
  }
  return {};
}

void FakeSource::countStrayRows(const NewTokens *inputs, size_t count) {
  std::set<size_t> seen;
  size_t before = 0;
  for (size_t i = 0; i != count; ++i) {
    const size_t number = open_.at(inputs[i].sequence).sourceNumber;
    const bool isNew = seen.insert(number).second;
    strayRows += number != before && !isNew;
    sharingRows += number == before;
    before = number;
  }
}

Result<const float *> FakeSource::step(const NewTokens *inputs, size_t count) {
  if (steps == cancelAt)
    return Error{cancelledStep, "cancelled", {}};
  int64_t needed = 0, all = 0;
  for (size_t i = 0; i != count; ++i) {
    const Past &past = open_.at(inputs[i].sequence);
    const int64_t length = int64_t(past.tokens.size()) + inputs[i].count;
    if (contextLength && length > *contextLength)
      return limitError("over the context");
    needed += (length + 255) / 256 - int64_t(past.blocks.size());
    // The last block is copied if others share it.
    needed += past.tokens.size() % 256 && past.blocks.back().use_count() > 1;
    all += inputs[i].numLogits;
  }
  if (needed > blocks - used())
    return limitError("the cache is full");
  if (all > logitLimit)
    return limitError("too many logits");
  ++steps;
  if (hasSources())
    countStrayRows(inputs, count);
  mostRows = std::max(mostRows, count);
  logits.clear();
  for (size_t i = 0; i != count; ++i) {
    Past &past = open_.at(inputs[i].sequence);
    if (past.tokens.size() % 256 && past.blocks.back().use_count() > 1)
      past.blocks.back() = std::make_shared<int>(0);
    for (int64_t t = 0; t != inputs[i].count; ++t) {
      past.tokens.push_back(inputs[i].tokens[t]);
      if (t < inputs[i].count - inputs[i].numLogits)
        continue;
      std::vector<int64_t> all = past.source;
      all.insert(all.end(), past.tokens.begin(), past.tokens.end());
      for (int64_t token = 0; token != ids; ++token)
        logits.push_back(past.tokens.size() == poisonAt
                             ? std::numeric_limits<float>::quiet_NaN()
                             : getLogit(all, token));
    }
    fed += inputs[i].count;
    while (past.blocks.size() * 256 < past.tokens.size())
      past.blocks.push_back(std::make_shared<int>(0));
  }
  return logits.data();
}

Result<const float *>
FakeSource::stepListed(const NewTokens *inputs, size_t count,
                       const std::vector<int64_t> &tokens) {
  if (tokens.empty() || int64_t(tokens.size()) > listedLimit)
    return usageError("so many tokens are not listed");
  TRANSOM_ASSIGN(const float *rows, step(inputs, count));
  ++listedSteps;
  listed.clear();
  for (size_t at = 0; at != logits.size(); at += size_t(ids))
    for (int64_t token : tokens)
      listed.push_back(rows[at + size_t(token)]);
  return listed.data();
}

Result<LogitRows> FakeSource::stepSummarized(const NewTokens *inputs,
                                             size_t count, bool needsSums) {
  if (!summarizes)
    return LogitsSource::stepSummarized(inputs, count, needsSums);
  TRANSOM_ASSIGN(const float *rows, step(inputs, count));
  maxima.clear();
  sums.clear();
  for (size_t at = 0; at != logits.size(); at += size_t(ids)) {
    const RowGroups groups(rows + at, ids);
    maxima.insert(maxima.end(), groups.maxima.begin(), groups.maxima.end());
    sums.insert(sums.end(), groups.sums.begin(), groups.sums.end());
  }
  return LogitRows{rows, maxima.data(), needsSums ? sums.data() : nullptr};
}

Prompts transom::test::makePrompts(size_t count, size_t longest) {
  Prompts prompts(count);
  for (size_t i = 0; i != count; ++i)
    for (size_t j = 0; j != 1 + (i * 37) % longest; ++j)
      prompts[i].push_back(int64_t((i * 31 + j * 17) % 40));
  return prompts;
}
