// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How texts are generated: the numbers that a model's files give, flags and
// callers override, and the sampler and the loop read. Keys, defaults and
// meanings are those of Hugging Face's generation_config.json.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace transom {

/// What to do with a prompt that is longer than the model's context, and at the
/// context's end.
enum class ContextPolicy {
  Stop,     ///< longer prompts are refused; generation ends
  Truncate, ///< the last tokens of a longer prompt are kept; generation ends
  Shift     ///< goes on with the last tokens, as many as half of the context
};

/// When beam search stops although beams could go on: its `early_stopping`.
enum class EarlyStopping {
  False, ///< when the best beam, ended now, could not improve the results
  True,  ///< as soon as there are as many results as beams
  Never  ///< when no beam could improve the results at any length
};

/// All settings of a generation. An optional one is unset until a file, a flag
/// or a caller gives it a value; `resolve()` sets the unset ones that the
/// sampler reads. Options that files, flags and the C API can set are
/// also listed in GenerationOptions.h.
struct GenerationConfig {
  std::optional<int64_t> maxNewTokens, minNewTokens;
  std::optional<int64_t> maxLength, minLength; ///< with the prompt
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
  std::vector<std::vector<int64_t>> badWords; ///< none of them is empty
  std::vector<std::pair<int64_t, double>> logitBias;
  std::vector<int64_t> suppressed, suppressedAtBegin;
  std::vector<int64_t> endTokens;
  /// The token after a prompt of one token, and those of which one is the last
  /// of the maximum length; resolve() removes negative ids, which mean none.
  std::optional<int64_t> forcedBegin;
  std::vector<int64_t> forcedEnd;
  std::optional<int64_t> beginToken, padToken, decoderStart;
  std::vector<std::string> stopStrings;
  uint64_t seed = 0;
  bool ignoreEnd = false; ///< an end token may be chosen and does not stop
  ContextPolicy contextPolicy = ContextPolicy::Stop;
  int64_t topLogprobs = -1; ///< -1: no log-probabilities
  bool useShortlist = true; ///< of a model that has one
  /// Options of the model's files that are not supported, such as
  /// `'num_beam_groups' 2`; and those that have an effect with sampling only.
  std::vector<std::string> unsupported, unsupportedSampling;

  /// Reads the settings that an artifact holds; an empty text gives the
  /// built-in ones.
  static Result<GenerationConfig> parse(std::string_view json);

  /// Resolves the settings: checks all values, and sets `sample`,
  /// `temperature`, `topK`, `topP` and `minP` where they are unset. A
  /// temperature of 0 is always greedy.
  Result<void> resolve();

  /// The most sequences that one prompt needs at the same time.
  int64_t getSequences() const {
    return numBeams > 1 ? numBeams : numReturnSequences;
  }
  /// The built-in limit of new tokens.
  static constexpr int64_t defaultNewTokens = 256;
  /// The most new tokens and the fewest, for a prompt of this length.
  int64_t mostNewTokens(int64_t promptLength) const;
  int64_t fewestNewTokens(int64_t promptLength) const;
  bool isEnd(int64_t token) const;
  /// What the target of an encoder-decoder begins with; nothing if the model's
  /// files do not name it.
  std::optional<int64_t> getTargetStart() const {
    return decoderStart ? decoderStart : beginToken;
  }
  /// What fills shorter continuations: the pad token, else the first end token,
  /// else 0.
  int64_t fillToken() const;
};

} // namespace transom
