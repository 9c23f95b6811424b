// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generates continuations for prompts. Many continuations share the decode
// engine's steps, each with its own past; when one is finished, the next one
// starts. A continuation depends on its prompt, its number, the settings and
// the model, but not on other continuations generated at the same time.
#pragma once
#include "runtime/generate/LogitsSource.h"
#include "runtime/generate/Sampler.h"
#include "runtime/generate/Shortlist.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <functional>
#include <limits>

namespace transom {

/// The reason why a continuation ended.
enum class FinishReason {
  None,     ///< it has not ended
  End,      ///< an end token, which is its last
  Stop,     ///< a stop string; the text ends before it
  Length,   ///< the max new token count
  Context,  ///< the end of the model's context or the session's cache
  Cancelled ///< the caller ended it
};

/// Returns "end", "stop", "length", "context", "cancelled"; "none" before the
/// end.
const char *finishName(FinishReason reason);

/// A prompt's continuation.
struct Continuation {
  size_t prompt = 0;
  size_t number = 0;           ///< among the prompt's continuations
  size_t promptTokens = 0;     ///< prompt tokens that were used
  std::vector<int64_t> tokens; ///< the new tokens
  std::string text; ///< decoded new tokens; empty without a tokenizer
  FinishReason finish = FinishReason::None;
  std::vector<double> logprobs;  ///< one per new token, if requested
  std::vector<TokenLogprob> top; ///< the requested number per new token
  /// With beams: sum of log-probabilities / length^penalty; otherwise NaN.
  double score = std::numeric_limits<double>::quiet_NaN();
};

/// A new token for the callback, or the end of a cancelled continuation, for
/// which `token` is -1.
struct GenerationEvent {
  const Continuation &continuation;
  int64_t token;
  std::string_view text; ///< final new text: complete characters, possibly none
};

/// Receives each token; returning false ends the continuation.
using GenerationCallback = std::function<bool(const GenerationEvent &)>;

/// Input for generate().
struct GenerationPrompts {
  GenerationPrompts() = default;
  GenerationPrompts(std::vector<std::vector<int64_t>> ids)
      : ids(std::move(ids)) {}
  GenerationPrompts(std::initializer_list<std::vector<int64_t>> ids)
      : ids(ids) {}

  /// Prompt tokens; for an encoder-decoder, source columns.
  std::vector<std::vector<int64_t>> ids;
  /// Source masks, 1 for a token and 0 for padding; empty: no padding.
  std::vector<std::vector<int64_t>> masks;
  /// For an encoder-decoder: tokens after the decoder's start token with which
  /// continuations begin; empty: no prefixes.
  std::vector<std::vector<int64_t>> targetPrefixes;
  /// For an encoder-decoder: restricts the possible tokens.
  std::optional<Shortlist> shortlist;
};

/// Generates continuations for all prompts. `config` must be resolved.
/// `tokenizer` may be NULL; then there are no texts and no stop strings. An
/// empty prompt begins with the model's begin token. For an encoder-decoder,
/// the prompts are its sources. `out` receives all continuations for the first
/// prompt, then for the second, and so on; after an error or a cancellation, it
/// contains the results so far. All sequences are freed. Errors: `Rejected`
/// (ids out of range, an empty prompt without a begin token, a logit that is
/// not finite), `Limit` (a prompt longer than the context).
Result<void> generate(LogitsSource &source, const GenerationConfig &config,
                      const Tokenizer *tokenizer,
                      const GenerationPrompts &prompts,
                      const GenerationCallback &callback,
                      std::vector<Continuation> &out);

/// Returns the number of cache positions, in whole KV blocks, with which all
/// continuations of one prompt can run at the same time. With fewer, generation
/// is slower, but the results are the same. `context` is the model's context,
/// if it has one.
int64_t positionsFor(const GenerationConfig &config, int64_t promptLength,
                     std::optional<int64_t> context);

} // namespace transom
