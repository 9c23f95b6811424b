// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The beams for one prompt and their sequences. A group has either all the
// sequences that its beams need or none, and never more sequences than beams:
// sequences of ended beams are freed before others are copied.
#pragma once
#include "runtime/generate/BeamSearch.h"
#include "runtime/generate/GenerationPrompt.h"
#include <memory>

namespace transom {

/// A slot with its sequence and the number of tokens that the sequence has
/// seen.
struct BeamSlot {
  int32_t sequence = -1; ///< -1: not created
  size_t seen = 0;
  std::optional<ContinuationText> text; ///< set if there are stop strings
};

/// The beams for one prompt.
struct BeamGroup {
  size_t prompt = 0;
  std::unique_ptr<BeamSearch> search; ///< NULL before and after the search
  std::vector<BeamSlot> slots;
  bool finished = false;
  bool evicted = false; ///< waits until another group is finished

  int64_t countSequences() const;
  bool isOpen() const { return countSequences() != 0; }

  /// Starts a search. The caller gives the first slot an empty sequence, which
  /// the group then owns.
  void begin(const GenerationConfig &config, const PreparedPrompt &prepared);
  /// Resumes a search whose sequences were freed, from an empty sequence, which
  /// the group then owns. The beams' common prefix is fed once, so they share
  /// its blocks again.
  Result<void> restore(LogitsSource &source, int32_t sequence);
  /// Applies the search's last step to the sequences. `scratch` is overwritten.
  Result<void> follow(LogitsSource &source, std::string &scratch);
  /// Frees the sequences.
  void leave(LogitsSource &source);

private:
  size_t getSharedLength() const;
  Result<void> copy(LogitsSource &source, size_t from, size_t to);
  static void leave(LogitsSource &source, BeamSlot &slot);
};

} // namespace transom
