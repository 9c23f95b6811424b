// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generation: prompts in, continuations out. Many prompts go on together in
// ragged steps, each with its own past; what is finished leaves, what waits
// takes its place. A continuation depends on its prompt, its number, the
// settings and the model, never on what else is generated beside it.
#pragma once
#include "runtime/generate/LogitsSource.h"
#include "runtime/generate/Sampler.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <functional>

namespace transom {

/// Why a continuation ended.
enum class FinishReason {
  None,     ///< it has not
  End,      ///< an end token, which is its last
  Stop,     ///< a stop string; the text ends before it
  Length,   ///< the most new tokens
  Context,  ///< the end of the model's context, or of the session's cache
  Cancelled ///< the caller
};

/// "end", "stop", "length", "context", "cancelled"; "none" where it goes on.
const char *finishName(FinishReason reason);

/// One continuation of a prompt.
struct Continuation {
  size_t prompt = 0;
  size_t number = 0;           ///< among those of its prompt
  size_t promptTokens = 0;     ///< of the prompt that were used
  std::vector<int64_t> tokens; ///< new ones
  std::string text; ///< of the new tokens, where there is a tokenizer
  FinishReason finish = FinishReason::None;
  std::vector<double> logprobs;  ///< one a token, where they are asked for
  std::vector<TokenLogprob> top; ///< as many for each token as are asked for
};

/// A new token as the callback sees it, or the end of a continuation that was
/// cancelled (`token` is -1 then).
struct GenerationEvent {
  const Continuation &continuation;
  int64_t token;
  std::string_view
      text; ///< that is new and final: whole characters, maybe none
};

/// Takes each token; false ends its continuation.
using GenerationCallback = std::function<bool(const GenerationEvent &)>;

/// Generates. `config` is resolved; `tokenizer` may be NULL, then there are no
/// texts, and no stop strings. An empty prompt begins with the model's begin
/// token. `out` gets all continuations of the first prompt, then of the second,
/// ...; when it fails or is cancelled, what was made until then. All sequences
/// are closed again.
/// Errors: `Rejected` (ids out of range, an empty prompt without a begin token,
/// a logit that is not finite), `Limit` (a prompt longer than the context).
Result<void> generate(LogitsSource &source, const GenerationConfig &config,
                      const Tokenizer *tokenizer,
                      const std::vector<std::vector<int64_t>> &prompts,
                      const GenerationCallback &callback,
                      std::vector<Continuation> &out);

/// The positions that a generation wants for one prompt, all its continuations
/// together, in a cache of blocks of 256: more let it run faster, not
/// otherwise. `context` is the model's, if it has one.
int64_t positionsFor(const GenerationConfig &config, int64_t promptLength,
                     std::optional<int64_t> context);

} // namespace transom
