// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The beams of one prompt and their sequences. A group has all the sequences
// that its beams need or none, and never more than beams: those of beams that
// ended are freed before others are copied.
#pragma once
#include "runtime/generate/BeamSearch.h"
#include "runtime/generate/GenerationPrompt.h"
#include <memory>

namespace transom {

/// A slot has a sequence and knows how many of its tokens the sequence has
/// seen.
struct BeamSlot {
  int32_t sequence = -1; ///< -1: not created
  size_t seen = 0;
  std::optional<ContinuationText> text; ///< where there are stop strings
};

/// The beams of a prompt.
struct BeamGroup {
  size_t prompt = 0;
  std::unique_ptr<BeamSearch> search; ///< NULL before and after the search
  std::vector<BeamSlot> slots;
  bool finished = false;
  bool evicted = false; ///< has to wait until another group is finished

  int64_t countSequences() const;
  bool isOpen() const { return countSequences() != 0; }

  /// Begins a search. The first slot is to get an empty sequence, which the
  /// group owns then.
  void begin(const GenerationConfig &config, const PreparedPrompt &prepared);
  /// Goes on with a search whose sequences were freed, from an empty sequence,
  /// which the group owns from here on.
  /// What the beams have in common is fed once, so that they share its blocks
  /// again.
  Result<void> restore(LogitsSource &source, int32_t sequence);
  /// Does with the sequences what the search did with its beams. `scratch` is
  /// overwritten.
  Result<void> follow(LogitsSource &source, std::string &scratch);
  /// Frees the sequences.
  void leave(LogitsSource &source);

private:
  size_t getSharedLength() const;
  Result<void> copy(LogitsSource &source, size_t from, size_t to);
  static void leave(LogitsSource &source, BeamSlot &slot);
};

} // namespace transom
