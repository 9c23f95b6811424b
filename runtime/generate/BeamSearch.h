// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beam search for one prompt, without a model: it is given the most probable
// next tokens of its beams, and decides which beams go on and which are
// results. The rules, also for scores in float, are those of transformers'
// GenerationMixin._beam_search.
#pragma once
#include "runtime/generate/GenerationConfig.h"

namespace transom {

/// A token that may follow, and its log-probability after all processors.
struct ScoredToken {
  int64_t token;
  float logprob;
};

/// Why a candidate cannot go on.
enum class BeamEnd {
  None,   ///< it can
  Token,  ///< its last token is an end token
  Length, ///< it has the most new tokens
  Stop    ///< the caller says so: a stop string
};

/// A beam lives in a *slot*: its tokens, and whatever the caller keeps for it,
/// such as the sequence of a cache. A step is:
///
/// 1. For each beam's slot the caller calls add() with the getCount() most
///    probable tokens.
/// 2. select() sorts the candidates; the caller may set `end` of some.
/// 3. advance() chooses the beams that go on. Then the caller frees what it
///    keeps for getDead() and copies what getCopies() says, in this order.
class BeamSearch {
public:
  /// A beam that goes on. They are ordered by score.
  struct Beam {
    float score; ///< sum of log-probabilities
    size_t slot;
  };
  /// A beam with one token more.
  struct Candidate {
    float score;
    size_t slot; ///< of the beam
    int64_t token;
    BeamEnd end;
    size_t order; ///< among those that were added
  };
  struct Copy {
    size_t from, to; ///< slots
  };
  struct Hypothesis {
    float score = -1e9f; ///< sum of log-probabilities / length^penalty
    BeamEnd end = BeamEnd::None;
    std::vector<int64_t> tokens; ///< the new ones
    bool isDone() const { return end != BeamEnd::None; }
  };

  /// Begins with one beam in slot 0, which holds the prompt. `config` is
  /// resolved and outlives the search; `mostNew` is at least 1.
  BeamSearch(const GenerationConfig &config, const std::vector<int64_t> &prompt,
             int64_t mostNew);

  /// The number of tokens that add() expects of each beam: enough beams are
  /// left when all end tokens are among them.
  static size_t getCount(const GenerationConfig &config);

  /// Before the first step all beams share slot 0; only the first has a score
  /// that counts.
  const std::vector<Beam> &getBeams() const { return beams; }
  /// The prompt and the new tokens of a slot.
  const std::vector<int64_t> &getTokens(size_t slot) const {
    return tokens[slot];
  }

  /// Adds the next tokens of all beams in a slot: best first, equal ones by id,
  /// none with minus infinity. Call it in the order of the beams.
  void add(size_t slot, const ScoredToken *next, size_t count);
  /// The best candidates of this step, best first.
  std::vector<Candidate> &select();
  /// Goes on with the best of the candidates. Allocates nothing.
  void advance();

  /// After advance(): slots whose beams do not go on.
  const std::vector<size_t> &getDead() const { return dead; }
  /// After advance(): slots that become copies of others as they were before
  /// the step.
  const std::vector<Copy> &getCopies() const { return copies; }

  /// True when no step is left.
  bool isDone() const { return done; }
  /// As many as there are beams, best first. Those that are not done have no
  /// tokens.
  const std::vector<Hypothesis> &getResults() const { return results; }

private:
  float divideByLength(float score, int64_t length) const;
  void addResults();
  void addResult(const Candidate &candidate);
  void chooseBeams();
  void assignSlots();
  bool canImprove() const;

  const GenerationConfig &config;
  size_t promptCount;
  int64_t mostNew;
  int64_t length = 0;                       ///< new tokens
  std::vector<std::vector<int64_t>> tokens; ///< by slot
  std::vector<Beam> beams;
  std::vector<Candidate> candidates;
  std::vector<Candidate> chosen; ///< by advance(), one for each next beam
  std::vector<Copy> copies;
  std::vector<size_t> dead;
  std::vector<bool> taken; ///< by slot: one of the next beams lives there
  std::vector<Hypothesis> results;
  bool done = false;
};

} // namespace transom
