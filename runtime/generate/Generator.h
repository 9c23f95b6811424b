// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generates continuations of prompts. Many continuations share the steps of the
// decode engine, each with its own past; when one is finished, the next one
// starts. A continuation depends on its prompt, its number, the settings and
// the model, and not on the continuations that are generated at the same time.
#pragma once
#include "runtime/generate/LogitsSource.h"
#include "runtime/generate/Sampler.h"
#include "runtime/generate/Shortlist.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <functional>
#include <limits>

namespace transom {

/// Why a continuation ended.
enum class FinishReason {
  None,     ///< it has not ended
  End,      ///< an end token, which is its last
  Stop,     ///< a stop string; the text ends before it
  Length,   ///< the maximum number of new tokens
  Context,  ///< the end of the model's context, or of the session's cache
  Cancelled ///< the caller ended it
};

/// "end", "stop", "length", "context", "cancelled"; "none" before the end.
const char *finishName(FinishReason reason);

/// One continuation of a prompt.
struct Continuation {
  size_t prompt = 0;
  size_t number = 0;           ///< among those of its prompt
  size_t promptTokens = 0;     ///< tokens of the prompt that were used
  std::vector<int64_t> tokens; ///< the new tokens
  std::string text;            ///< of the new tokens; empty without a tokenizer
  FinishReason finish = FinishReason::None;
  std::vector<double> logprobs;  ///< one per new token, if requested
  std::vector<TokenLogprob> top; ///< the requested number per new token
  /// Of beams: sum of log-probabilities / length^penalty; else NaN.
  double score = std::numeric_limits<double>::quiet_NaN();
};

/// A new token for the callback, or the end of a cancelled continuation; then
/// `token` is -1.
struct GenerationEvent {
  const Continuation &continuation;
  int64_t token;
  std::string_view text; ///< final new text: whole characters, possibly none
};

/// Receives each token; false ends its continuation.
using GenerationCallback = std::function<bool(const GenerationEvent &)>;

/// What continuations are generated for.
struct GenerationPrompts {
  GenerationPrompts() = default;
  GenerationPrompts(std::vector<std::vector<int64_t>> ids)
      : ids(std::move(ids)) {}
  GenerationPrompts(std::initializer_list<std::vector<int64_t>> ids)
      : ids(ids) {}

  /// Tokens of the prompts; of an encoder-decoder the columns of its sources.
  std::vector<std::vector<int64_t>> ids;
  /// Of sources, 1 for a token and 0 for padding; empty: all are tokens.
  std::vector<std::vector<int64_t>> masks;
  /// Of an encoder-decoder, what continuations begin with after the decoder's
  /// start token; empty: none has a prefix.
  std::vector<std::vector<int64_t>> targetPrefixes;
  /// Of an encoder-decoder, says which tokens can come.
  std::optional<Shortlist> shortlist;
};

/// Generates the continuations of all prompts. `config` is resolved.
/// `tokenizer` may be NULL; then there are no texts and no stop strings. An
/// empty prompt begins with the model's begin token. The prompts of an
/// encoder-decoder are its sources. `out` gets all
/// continuations of the first prompt, then of the second, and so on; after an
/// error or a cancellation, what was generated before. All sequences are freed.
/// Errors: `Rejected` (ids out of range, an empty prompt without a begin token,
/// a logit that is not finite), `Limit` (a prompt longer than the context).
Result<void> generate(LogitsSource &source, const GenerationConfig &config,
                      const Tokenizer *tokenizer,
                      const GenerationPrompts &prompts,
                      const GenerationCallback &callback,
                      std::vector<Continuation> &out);

/// The number of cache positions, in whole KV blocks, with which all
/// continuations of one prompt can run at the same time. With fewer, generation
/// is slower, and the results are the same. `context` is the model's, if it has
/// one.
int64_t positionsFor(const GenerationConfig &config, int64_t promptLength,
                     std::optional<int64_t> context);

} // namespace transom
