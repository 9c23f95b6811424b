// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The caller passes enough candidates per beam that the best ones over all
// beams and tokens are among them. Scores are floats and are added and divided
// as in transformers, since rounding decides between beams with nearly equal
// scores.
#include "runtime/generate/BeamSearch.h"
#include "runtime/generate/Softmax.h"
#include <algorithm>

using namespace transom;

/// The score of beams before the first step except the first, and of results
/// that are not done.
static constexpr float absent = -1e9f;

size_t BeamSearch::getCount(const GenerationConfig &config) {
  const size_t ends = config.ignoreEnd ? 0 : config.endTokens.size();
  return std::max<size_t>(2, 1 + ends) * size_t(config.numBeams);
}

BeamSearch::BeamSearch(const GenerationConfig &config,
                       const std::vector<int64_t> &prompt, int64_t mostNew)
    : config(config), promptCount(prompt.size()), mostNew(mostNew),
      tokens(size_t(config.numBeams)), taken(tokens.size()),
      results(tokens.size()) {
  constexpr int64_t reserved = 65536; // new tokens without any allocation
  const size_t most = size_t(std::min(mostNew, reserved));
  for (std::vector<int64_t> &slot : tokens)
    slot.reserve(promptCount + most);
  tokens[0].assign(prompt.begin(), prompt.end());
  for (Hypothesis &result : results)
    result.tokens.reserve(most);
  for (size_t i = 0; i != tokens.size(); ++i)
    beams.push_back({i == 0 ? 0 : absent, 0});
  candidates.reserve(tokens.size() * getCount(config));
  chosen.reserve(tokens.size());
  copies.reserve(tokens.size());
  dead.reserve(tokens.size());
}

void BeamSearch::add(size_t slot, const ScoredToken *next, size_t count) {
  for (const Beam &beam : beams) {
    if (beam.slot != slot)
      continue;
    for (size_t i = 0; i != count; ++i)
      candidates.push_back({beam.score + next[i].logprob, slot, next[i].token,
                            BeamEnd::None, candidates.size()});
  }
}

std::vector<BeamSearch::Candidate> &BeamSearch::select() {
  const size_t count = std::min(candidates.size(), getCount(config));
  std::partial_sort(
      candidates.begin(), candidates.begin() + int64_t(count), candidates.end(),
      [](const Candidate &a, const Candidate &b) {
        return a.score != b.score ? a.score > b.score : a.order < b.order;
      });
  candidates.resize(count);
  for (Candidate &candidate : candidates) {
    if (!config.ignoreEnd && config.isEnd(candidate.token))
      candidate.end = BeamEnd::Token;
    else if (length + 1 >= mostNew)
      candidate.end = BeamEnd::Length;
  }
  return candidates;
}

float BeamSearch::divideByLength(float score, int64_t newTokens) const {
  const double penalty = config.lengthPenalty;
  double divisor = double(newTokens);
  if (penalty != 1)
    divisor = portableExp(penalty * portableLog(divisor));
  return score / float(divisor);
}

/// Inserts a candidate into the results if it is better than the last one. If
/// few tokens are allowed, beams that never had a score of their own become
/// results in the last step.
void BeamSearch::addResult(const Candidate &candidate) {
  const float score = divideByLength(candidate.score, length + 1);
  const Hypothesis &last = results.back();
  bool fills = score == last.score && !last.isDone() && length + 1 >= mostNew;
  if (!fills && !(score > last.score))
    return;
  // Reuse the last result's memory.
  Hypothesis result = std::move(results.back());
  result.score = score;
  result.end = candidate.end;
  const std::vector<int64_t> &parent = tokens[candidate.slot];
  result.tokens.assign(parent.begin() + int64_t(promptCount), parent.end());
  result.tokens.push_back(candidate.token);
  // Insert the result by score.
  size_t place = results.size() - 1;
  auto isWorse = [&](const Hypothesis &other) {
    return score > other.score || (fills && !other.isDone());
  };
  for (; place != 0 && isWorse(results[place - 1]); --place)
    results[place] = std::move(results[place - 1]);
  results[place] = std::move(result);
}

/// Among candidates that end, only the first `num_beams` in the list can become
/// results; the others ensure that enough beams continue.
void BeamSearch::addResults() {
  const size_t count = std::min(candidates.size(), tokens.size());
  for (size_t i = 0; i != count; ++i)
    if (candidates[i].end != BeamEnd::None)
      addResult(candidates[i]);
}

void BeamSearch::chooseBeams() {
  chosen.clear();
  for (const Candidate &candidate : candidates)
    if (candidate.end == BeamEnd::None && chosen.size() != tokens.size())
      chosen.push_back(candidate);
}

/// Assigns a slot to each next beam: a beam's first child keeps its slot, the
/// others get slots from beams without children.
void BeamSearch::assignSlots() {
  copies.clear();
  dead.clear();
  beams.clear();
  // Find the slots that no beam keeps.
  std::fill(taken.begin(), taken.end(), false);
  for (const Candidate &candidate : chosen)
    taken[candidate.slot] = true;
  for (size_t slot = 0; slot != taken.size(); ++slot)
    if (!taken[slot])
      dead.push_back(slot);
  // Assign slots; all copies are made before any slot grows.
  std::fill(taken.begin(), taken.end(), false);
  auto unused = dead.begin();
  for (const Candidate &candidate : chosen) {
    size_t slot = candidate.slot;
    if (taken[slot]) {
      slot = *unused++;
      copies.push_back({candidate.slot, slot});
      tokens[slot].assign(tokens[candidate.slot].begin(),
                          tokens[candidate.slot].end());
    }
    taken[slot] = true;
    beams.push_back({candidate.score, slot});
  }
  for (size_t i = 0; i != chosen.size(); ++i)
    tokens[beams[i].slot].push_back(chosen[i].token);
}

/// True if the best beam could become better than the last result. With a
/// positive length penalty this is an estimate, as in transformers.
bool BeamSearch::canImprove() const {
  if (beams.empty())
    return false;
  const bool grows =
      config.earlyStopping == EarlyStopping::Never && config.lengthPenalty > 0;
  return divideByLength(beams[0].score, grows ? mostNew : length) >
         results.back().score;
}

void BeamSearch::advance() {
  addResults();
  chooseBeams();
  assignSlots();
  candidates.clear();
  ++length;
  const bool full = results.back().isDone();
  done = !canImprove() || (config.earlyStopping == EarlyStopping::True && full);
}
