// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits a step's tokens into executor runs: each run has at most as many
// tokens, and tokens with logits, as the session supports. Results do not
// depend on the split.
#pragma once
#include "runtime/include/transom/transom.h"
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace transom {

/// New tokens for one sequence in a step: at least one token; the last
/// num_logits tokens get logits. A sequence occurs at most once per step.
using StepInput = transom_step_input;

/// The tokens from one input in one run.
struct StepChunk {
  size_t index;      ///< input index
  int64_t offset;    ///< first token's offset in the input
  int64_t count;     ///< number of tokens
  int64_t numLogits; ///< the last numLogits tokens get logits
  bool startsRun;    ///< the first chunk in a run
};

/// Returns a step's chunks one after another. A copied cutter continues at the
/// original's position.
class StepCutter {
public:
  StepCutter(const StepInput *inputs, size_t count, int64_t maxTokens,
             int64_t maxLogits)
      : inputs(inputs), count(count), maxTokens(maxTokens),
        maxLogits(maxLogits) {}

  const StepInput &operator[](size_t i) const { return inputs[i]; }
  size_t size() const { return count; }

  /// The next chunk; false after the last one.
  bool next(StepChunk &chunk) {
    if (index == count)
      return false;
    // Start another run if the current one has no room.
    if (!cut(chunk)) {
      usedTokens = usedLogits = 0;
      cut(chunk);
    }
    chunk.startsRun = usedTokens == 0;
    usedTokens += chunk.count;
    usedLogits += chunk.numLogits;
    offset += chunk.count;
    if (offset == inputs[index].num_tokens) {
      offset = 0;
      ++index;
    }
    return true;
  }

private:
  /// Takes as many tokens from the current input as fit in the run; false if
  /// none fit.
  bool cut(StepChunk &chunk) const {
    const StepInput &from = inputs[index];
    // The first tokens of the input get no logits.
    int64_t silent =
        std::max<int64_t>(0, from.num_tokens - from.num_logits - offset);
    int64_t take = std::min(from.num_tokens - offset, maxTokens - usedTokens);
    int64_t numLogits =
        std::min(std::max<int64_t>(0, take - silent), maxLogits - usedLogits);
    if (take > silent)
      take = silent + numLogits;
    chunk = {index, offset, take, numLogits, false};
    return take > 0;
  }

  const StepInput *inputs;
  size_t count;
  int64_t maxTokens, maxLogits;
  size_t index = 0;
  int64_t offset = 0;
  int64_t usedTokens = 0, usedLogits = 0; // in the current run
};

} // namespace transom
