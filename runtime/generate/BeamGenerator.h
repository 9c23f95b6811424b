// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generation with beam search: the beams of many prompts share the steps of the
// decode engine. What a prompt gets does not depend on the other prompts.
#pragma once
#include "runtime/generate/Generator.h"

namespace transom {

/// What generates, and how: the arguments of generate() that are not prompts.
struct GenerationCall {
  LogitsSource &source;
  const GenerationConfig &config; ///< resolved
  const Tokenizer *tokenizer;     ///< NULL: no texts
  const GenerationCallback &callback;
};

/// generate() with `num_beams` > 1. `out` gets the best `num_return_sequences`
/// results of each prompt, best first. The callback gets their tokens when the
/// search has ended, one result after another. `Limit` if the source has fewer
/// sequences than there are beams.
Result<void> generateBeams(const GenerationCall &call,
                           const GenerationPrompts &prompts,
                           std::vector<Continuation> &out);

} // namespace transom
