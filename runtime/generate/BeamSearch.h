// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beam search for one prompt, without a model: receives the most probable next
// tokens for its beams, and decides which beams continue and which become
// results. The rules, including float scores, are the same as in transformers'
// GenerationMixin._beam_search.
#pragma once
#include "runtime/generate/GenerationConfig.h"

namespace transom {

/// A possible next token, with its log-probability after all processors.
struct ScoredToken {
  int64_t token;
  float logprob;
};

/// The reason why a candidate cannot continue.
enum class BeamEnd {
  None,   ///< it can continue
  Token,  ///< its last token is an end token
  Length, ///< it has the max new token count
  Stop    ///< set by the caller: a stop string
};

/// Each beam has a *slot*: its tokens, and any state that the caller stores for
/// it, such as a cache sequence. The steps are:
///
/// 1. For each beam's slot the caller calls add() with the getCount() most
///    probable tokens.
/// 2. select() sorts the candidates; the caller may set `end` in some.
/// 3. advance() chooses the beams that continue. Then the caller frees state
///    for getDead() and copies it as listed in getCopies(), in this order.
class BeamSearch {
public:
  /// A beam that continues. Beams are ordered by score.
  struct Beam {
    float score; ///< sum of log-probabilities
    size_t slot;
  };
  /// A beam with one more token.
  struct Candidate {
    float score;
    size_t slot; ///< the beam's slot
    int64_t token;
    BeamEnd end;
    size_t order; ///< insertion order
  };
  struct Copy {
    size_t from, to; ///< slots
  };
  struct Hypothesis {
    float score = -1e9f; ///< sum of log-probabilities / length^penalty
    BeamEnd end = BeamEnd::None;
    std::vector<int64_t> tokens; ///< without the prompt
    bool isDone() const { return end != BeamEnd::None; }
  };

  /// Starts with one beam in slot 0, which contains the prompt. `config` is
  /// resolved and must outlive the search; `mostNew` is at least 1.
  BeamSearch(const GenerationConfig &config, const std::vector<int64_t> &prompt,
             int64_t mostNew);

  /// Returns the number of tokens per beam that add() expects: enough for
  /// `num_beams` beams to continue even if all end tokens are among them.
  static size_t getCount(const GenerationConfig &config);

  /// Before the first step all beams share slot 0; only the first score is
  /// valid.
  const std::vector<Beam> &getBeams() const { return beams; }
  /// Returns the prompt and the new tokens in a slot.
  const std::vector<int64_t> &getTokens(size_t slot) const {
    return tokens[slot];
  }

  /// Adds the next tokens for all beams in a slot: best first, equal ones by
  /// id, none with minus infinity. Must be called in beam order.
  void add(size_t slot, const ScoredToken *next, size_t count);
  /// Returns this step's best candidates, best first.
  std::vector<Candidate> &select();
  /// Continues with the best candidates. Allocates nothing.
  void advance();

  /// After advance(): slots whose beams do not continue.
  const std::vector<size_t> &getDead() const { return dead; }
  /// After advance(): slots that become copies of others, in their state before
  /// the step.
  const std::vector<Copy> &getCopies() const { return copies; }

  /// True if no step is left.
  bool isDone() const { return done; }
  /// Returns `num_beams` results, best first. Those that are not done have no
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
  std::vector<bool> taken; ///< by slot: used by a next beam
  std::vector<Hypothesis> results;
  bool done = false;
};

} // namespace transom
