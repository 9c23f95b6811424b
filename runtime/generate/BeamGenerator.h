// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generation with beam search: the beams of many prompts share the decode
// engine's steps. A prompt's results do not depend on the other prompts.
#pragma once
#include "runtime/generate/Generator.h"

namespace transom {

/// The arguments of generate() except prompts and output.
struct GenerationCall {
  LogitsSource &source;
  const GenerationConfig &config; ///< resolved
  const Tokenizer *tokenizer;     ///< NULL: no text output
  const GenerationCallback &callback;
};

/// Implements generate() for `num_beams` > 1. `out` receives the best
/// `num_return_sequences` results for each prompt, best first. The callback
/// receives their tokens after the search has ended, one result after another.
/// `Limit` if the source has fewer sequences than beams.
Result<void> generateBeams(const GenerationCall &call,
                           const GenerationPrompts &prompts,
                           std::vector<Continuation> &out);

} // namespace transom
