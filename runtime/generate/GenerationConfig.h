// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generation settings: set by a model's files, overridden by flags and callers,
// and read by the sampler and the loop. Keys, defaults and meanings are the
// same as in Hugging Face's generation_config.json.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace transom {

/// Behavior for a prompt longer than the model's context, and at the end of the
/// context.
enum class ContextPolicy {
  Stop,     ///< rejects longer prompts; generation ends
  Truncate, ///< uses the last tokens in a longer prompt; generation ends
  Shift     ///< continues with the last half of the context
};

/// Condition under which beam search stops although beams could continue: its
/// `early_stopping`.
enum class EarlyStopping {
  False, ///< the best beam, if ended now, could not improve the results
  True,  ///< there are as many results as beams
  Never  ///< no beam could improve the results at any length
};

/// All generation settings. An optional setting is unset until a file, a flag
/// or a caller sets it; `resolve()` sets unset ones that the sampler reads.
/// Options that files, flags and the C API can set are also listed in
/// GenerationOptions.h.
struct GenerationConfig {
  std::optional<int64_t> maxNewTokens, minNewTokens;
  std::optional<int64_t> maxLength, minLength; ///< including the prompt
  int64_t numReturnSequences = 1;
  int64_t numBeams = 1;
  double lengthPenalty = 1; ///< beams: scores are divided by length^this
  EarlyStopping earlyStopping = EarlyStopping::False;
  bool renormalizeLogits = false; ///< beams: after the processors
  std::optional<bool> sample;     ///< `do_sample`
  std::optional<double> temperature;
  std::optional<int64_t> topK; ///< 0: off
  std::optional<double> topP, minP;
  double repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0;
  int64_t noRepeatNgramSize = 0;              ///< 0: off
  int64_t encoderNoRepeatNgramSize = 0;       ///< 0: off
  std::vector<std::vector<int64_t>> badWords; ///< none is empty
  std::vector<std::pair<int64_t, double>> logitBias;
  std::vector<int64_t> suppressed, suppressedAtBegin;
  std::vector<int64_t> endTokens;
  /// The token after a one-token prompt, and the possible last tokens at the
  /// max length; resolve() removes negative ids, which mean none.
  std::optional<int64_t> forcedBegin;
  std::vector<int64_t> forcedEnd;
  std::optional<int64_t> beginToken, padToken, decoderStart;
  std::vector<std::string> stopStrings;
  uint64_t seed = 0;
  bool ignoreEnd = false; ///< end tokens may be chosen and do not stop
  ContextPolicy contextPolicy = ContextPolicy::Stop;
  int64_t topLogprobs = -1; ///< -1: no log-probabilities
  bool useShortlist = true; ///< if the model has one
  /// Unsupported options in the model's files, such as `'num_beam_groups' 2`;
  /// and those that only affect sampling.
  std::vector<std::string> unsupported, unsupportedSampling;

  /// Reads the settings stored in an artifact; an empty string gives the
  /// built-in ones.
  static Result<GenerationConfig> parse(std::string_view json);

  /// Resolves the settings: checks all values, and sets `sample`,
  /// `temperature`, `topK`, `topP` and `minP` if unset. Temperature 0 is always
  /// greedy.
  Result<void> resolve();

  /// Returns the max number of sequences that one prompt needs at the same
  /// time.
  int64_t getSequences() const {
    return numBeams > 1 ? numBeams : numReturnSequences;
  }
  /// The built-in limit on new tokens.
  static constexpr int64_t defaultNewTokens = 256;
  /// Return the max and min new token counts for a prompt length.
  int64_t mostNewTokens(int64_t promptLength) const;
  int64_t fewestNewTokens(int64_t promptLength) const;
  bool isEnd(int64_t token) const;
  /// Returns the first target token for an encoder-decoder; nullopt if the
  /// model's files do not specify it.
  std::optional<int64_t> getTargetStart() const {
    return decoderStart ? decoderStart : beginToken;
  }
  /// Returns the token that pads shorter continuations: the pad token, else the
  /// first end token, else 0.
  int64_t fillToken() const;
};

} // namespace transom
