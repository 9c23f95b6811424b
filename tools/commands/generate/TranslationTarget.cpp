// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MBart-like models replace the start token with the target language token.
// Other models are forced to choose it as their first token.
#include "tools/commands/generate/TranslationTarget.h"
#include "runtime/generate/GenerationOptions.h"
#include "tools/commands/text/Texts.h"
#include <cmath>
#include <numeric>

using namespace transom;
using namespace transom::tools;

/// Applies the flags to the settings in the model's files, and resolves them.
static Result<GenerationConfig>
getConfig(const Manifest &manifest, const transom_generate_options &options) {
  TRANSOM_ASSIGN(GenerationConfig config,
                 GenerationConfig::parse(manifest.decoder->generation));
  applyOptions(options, config);
  TRANSOM_TRY(config.resolve());
  return config;
}

/// Returns true if a token stands for a language.
static Result<bool> isLanguage(const transom_model *model, int64_t token) {
  for (size_t i = 0;; ++i) {
    char name[64];
    size_t size = 0;
    const transom_status status =
        transom_model_language_name(model, i, name, sizeof name - 1, &size);
    if (status == TRANSOM_STATUS_USAGE)
      return false; // there are no more
    TRANSOM_TRY(check(status));
    name[size] = 0;
    int64_t id = -1;
    TRANSOM_TRY(check(transom_model_language_token(model, name, &id)));
    if (id == token)
      return true;
  }
}

/// Makes targets begin with a language token.
Result<void> TranslationTarget::setLanguage(const transom_model *model,
                                            const std::string &language) {
  int64_t id = -1;
  TRANSOM_TRY(
      check(transom_model_language_token(model, language.c_str(), &id)));
  bool startsWithLanguage = !config.decoderStart;
  if (config.decoderStart) {
    TRANSOM_ASSIGN(startsWithLanguage, isLanguage(model, *config.decoderStart));
  }
  if (startsWithLanguage) {
    config.decoderStart = options.decoder_start_id = id;
    return {};
  }
  config.forcedBegin = options.forced_bos_id = id;
  return {};
}

/// Greedy search returns one result. Beam search checks its own limit.
static Result<void> checkResults(const GenerationConfig &config) {
  if (config.numBeams > 1 || config.numReturnSequences <= 1 || *config.sample)
    return {};
  return usageError("'num_return_sequences' " +
                    std::to_string(config.numReturnSequences) +
                    " is more than 'num_beams' 1; '--num-beams' or "
                    "'--temperature' gives several results");
}

Result<TranslationTarget>
TranslationTarget::create(const transom_model *model, const Manifest &manifest,
                          const GenerationFlags &flags,
                          const Request &request) {
  TranslationTarget target;
  target.options = *flags.options();
  target.prefixes = request.hasPrefixes;
  TRANSOM_ASSIGN(target.config, getConfig(manifest, target.options));
  TRANSOM_TRY(checkResults(target.config));
  if (!request.language.empty())
    TRANSOM_TRY(target.setLanguage(model, request.language));
  // Beams have scores; other scores are computed from log-probabilities.
  if (request.scores && target.config.numBeams == 1)
    target.options.top_logprobs = 0;
  return target;
}

double
TranslationTarget::getScore(const transom_continuation &continuation) const {
  if (!std::isnan(continuation.score) || !continuation.logprobs)
    return continuation.score;
  const size_t count = continuation.num_ids;
  const double sum = std::accumulate(continuation.logprobs,
                                     continuation.logprobs + count, 0.0);
  return count ? sum / std::pow(double(count), config.lengthPenalty) : 0;
}

Result<std::vector<int64_t>>
TranslationTarget::getPrefix(const transom_model *model,
                             const std::string &text) const {
  std::vector<int64_t> ids;
  if (text.empty())
    return ids;
  // A forced first token precedes the prefix.
  if (config.forcedBegin)
    ids.push_back(*config.forcedBegin);
  transom_tokenize_options how = transom_tokenize_options_default();
  how.target = how.no_special = how.no_truncation = how.refuse_unknown = 1;
  uint32_t truncated = 0;
  Result<std::vector<transom_token>> tokens =
      tokenizeText(model, {text, std::nullopt}, how, truncated);
  if (!tokens) {
    Error error = tokens.takeError();
    error.message = "target prefix " + quote(text) + ": " + error.message;
    return error;
  }
  const std::vector<int64_t> own = getIds(*tokens);
  ids.insert(ids.end(), own.begin(), own.end());
  return ids;
}

Result<std::string>
TranslationTarget::getText(const transom_model *model,
                           const std::vector<int64_t> &prefix) const {
  return prefix.empty()
             ? Result<std::string>(std::string())
             : detokenize(model, prefix, TRANSOM_DETOKENIZE_SKIP_SPECIAL);
}
