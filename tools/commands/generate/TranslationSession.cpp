// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session cannot grow, so a larger one replaces it. Results do not depend on
// its size.
#include "tools/commands/generate/TranslationSession.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

/// Limits without a given batch size: max sources, beams and source tokens in
/// progress at the same time, and min sources.
static constexpr size_t mostSources = 32, mostBeams = 64, mostTokens = 8192;
static constexpr size_t fewestSources = 4;

/// Returns the number of sources in progress at the same time.
size_t TranslationSession::getBatch() const {
  if (limits.batch)
    return limits.batch;
  const size_t sources = std::min({mostSources, mostBeams / target.getBeams(),
                                   mostTokens / std::max<size_t>(1, longest)});
  return std::max(sources, fewestSources);
}

/// Returns true if the session has room for sources with these token counts.
bool TranslationSession::hasRoom(size_t sources, size_t tokens,
                                 size_t prefix) const {
  return session && std::min(sources, getBatch()) <= most &&
         tokens <= longest && prefix <= longestPrefix;
}

/// Creates a session for these sources, unless the current one has room.
Result<void>
TranslationSession::fit(const std::vector<const TranslationSource *> &sources) {
  size_t tokens = 0, prefix = 0;
  for (const TranslationSource *source : sources) {
    tokens = std::max(tokens, source->ids.size());
    prefix = std::max(prefix, source->target.size());
  }
  if (hasRoom(sources.size(), tokens, prefix))
    return {};

  // Increase sizes in steps, since each increase creates a session.
  constexpr size_t step = 64;
  tokens = (tokens + step - 1) / step * step;
  if (limits.maximum)
    tokens = std::min(tokens, size_t(limits.maximum));
  longest = std::max(longest, tokens);
  longestPrefix = std::max(longestPrefix, prefix);
  most = std::min(most, getBatch());
  while (most < std::min(sources.size(), getBatch()))
    most = std::min(std::max<size_t>(1, 2 * most), getBatch());
  return create();
}

/// Creates a session for sources with the max length.
Result<void> TranslationSession::create() {
  const std::vector<size_t> lengths(most, longest);
  const std::vector<int64_t> ids(longestPrefix);
  const transom_prompt longestTarget{ids.data(), ids.size(), {}};
  transom_generate_options generation = *target.getOptions();
  if (longestPrefix) {
    generation.target_prefixes = &longestTarget;
    generation.num_target_prefixes = 1;
  }
  transom_session_options options = transom_session_options_default();
  options.threads = limits.threads;
  options.max_sequences = uint32_t(most * target.getBeams());
  session.reset();
  TRANSOM_TRY(check(transom_session_options_fit_generate(
      model, lengths.data(), lengths.size(), &generation, &options)));
  TRANSOM_ASSIGN(session, createSession(model, options));
  return {};
}

namespace {
/// Counts results by source, in the generation callback.
struct ResultCounter {
  const std::function<void(size_t)> &tellDone;
  size_t results;            ///< per source
  std::vector<size_t> ended; ///< by source
};
} // namespace

/// Handles a generated token, which may end a source's results.
static int countResult(void *context, const transom_generated_token *token) {
  auto &counter = *static_cast<ResultCounter *>(context);
  if (token->finish != TRANSOM_FINISH_NONE &&
      ++counter.ended[token->prompt] == counter.results)
    counter.tellDone(token->prompt);
  return 0;
}

Result<GenerationPtr> TranslationSession::generate(
    const std::vector<const TranslationSource *> &sources,
    const std::function<void(size_t)> &tellDone) {
  TRANSOM_TRY(fit(sources));
  std::vector<transom_prompt> prompts, begins;
  for (const TranslationSource *source : sources) {
    prompts.push_back({source->ids.data(), source->ids.size(), {}});
    begins.push_back({source->target.data(), source->target.size(), {}});
  }
  transom_generate_options options = *target.getOptions();
  ResultCounter counter{tellDone, target.getResults(),
                        std::vector<size_t>(sources.size())};
  options.callback_context = &counter;
  options.callback = countResult;
  if (target.hasPrefixes()) {
    options.target_prefixes = begins.data();
    options.num_target_prefixes = begins.size();
  }
  transom_generation *made = nullptr;
  const CancelOnSignal signals(session.get());
  Result<void> generated = check(transom_session_generate(
      session.get(), prompts.data(), prompts.size(), &options, &made));
  GenerationPtr generation(made);
  if (!generated)
    return signals.explain(generated.takeError());
  return generation;
}
