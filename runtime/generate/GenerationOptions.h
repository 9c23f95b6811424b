// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of generation options: JSON key, accepted values, flag and help,
// GenerationConfig member and C API field. It is visited by the
// generation_config.json importer, the artifact settings reader, the range
// checks, the command line and the C API. README.md lists the steps to add an
// option.
#pragma once
#include "runtime/generate/GenerationConfig.h"
#include "runtime/include/transom/generate.h"
#include <limits>

namespace transom {

/// An option's properties except its members.
struct GenerationOption {
  static constexpr double unbounded = std::numeric_limits<double>::max();

  const char *key; ///< in generation_config.json and in errors
  double low = 0, high = unbounded;
  const char *flag =
      nullptr; ///< command line flag; null: no flag from the table
  const char *help = nullptr;
  bool turnsOnSampling = false; ///< setting it enables sampling
  double flagLow = low;         ///< min value for the flag
  /// For an option with named values: the names for the field values 0, 1, ...,
  /// separated by commas.
  const char *words = nullptr;
};

/// Calls `visit(option, member, field)` for each option in the order in which
/// the settings are written. `member` points into GenerationConfig, `field`
/// into transom_generate_options; `field` is null for an option that the C API
/// lacks or takes in another form.
template <typename Visitor> void visitGenerationOptions(Visitor &&visit) {
  using Option = GenerationOption;
  using Config = GenerationConfig;
  using Api = transom_generate_options;
  constexpr double unbounded = Option::unbounded;

  // Lengths and continuation counts.
  visit(Option{"max_new_tokens", 0, unbounded, "-n,--max-new-tokens",
               "most new tokens (default: as the model says, or 256)"},
        &Config::maxNewTokens, &Api::max_new_tokens);
  visit(Option{"min_new_tokens", 0, unbounded, "--min-new-tokens",
               "do not choose end tokens before N new tokens"},
        &Config::minNewTokens, &Api::min_new_tokens);
  visit(Option{"max_length"}, &Config::maxLength, nullptr);
  visit(Option{"min_length"}, &Config::minLength, nullptr);
  visit(Option{"num_return_sequences", 1, 65536, "--num-return-sequences",
               "continuations of each prompt"},
        &Config::numReturnSequences, &Api::num_return_sequences);
  visit(Option{"num_beams", 1, 65536, "--num-beams",
               "search with N beams, and give the best; 1: greedy or sampling"},
        &Config::numBeams, &Api::num_beams);
  visit(Option{"length_penalty", -1e6, 1e6, "--length-penalty",
               "beams: divide scores by the number of new tokens to this power "
               "(default 1)"},
        &Config::lengthPenalty, &Api::length_penalty);
  visit(Option{"early_stopping", 0, 2, "--early-stopping",
               "beams: stop as soon as there are as many results as beams",
               false, 0, "false,true,never"},
        &Config::earlyStopping, &Api::early_stopping);
  visit(Option{"renormalize_logits", 0, 1, "--renormalize-logits",
               "beams: make probabilities sum to one after all penalties",
               false, 0, "false,true"},
        &Config::renormalizeLogits, &Api::renormalize_logits);

  // Sampling. `do_sample` has no field: the C API's `sample` has a third value.
  visit(Option{"do_sample"}, &Config::sample, nullptr);
  visit(Option{"temperature", 0, unbounded, "--temperature",
               "sample with this temperature; 0: greedy", true},
        &Config::temperature, &Api::temperature);
  visit(Option{"top_k", -1, unbounded, "--top-k",
               "sample from the K most probable tokens; 0: off", true, 0},
        &Config::topK, &Api::top_k);
  visit(Option{"top_p", 0, 1, "--top-p",
               "sample from the most probable tokens that reach this "
               "probability together",
               true},
        &Config::topP, &Api::top_p);
  visit(Option{"min_p", 0, 1, "--min-p",
               "leave out tokens below this fraction of the largest "
               "probability",
               true},
        &Config::minP, &Api::min_p);

  // Penalties.
  visit(Option{"repetition_penalty", 1e-6, 1e6, "--repetition-penalty",
               "divide the logits of tokens that occurred before"},
        &Config::repetitionPenalty, &Api::repetition_penalty);
  visit(Option{"presence_penalty", -1e6, 1e6, "--presence-penalty",
               "subtract from the logits of new tokens that occurred before"},
        &Config::presencePenalty, &Api::presence_penalty);
  visit(Option{"frequency_penalty", -1e6, 1e6, "--frequency-penalty",
               "subtract from the logits of new tokens, once for each time "
               "that they occurred"},
        &Config::frequencyPenalty, &Api::frequency_penalty);
  visit(Option{"no_repeat_ngram_size", 0, unbounded, "--no-repeat-ngram-size",
               "never generate the same N tokens in a row twice; 0: off"},
        &Config::noRepeatNgramSize, &Api::no_repeat_ngram_size);
  visit(
      Option{"encoder_no_repeat_ngram_size", 0, unbounded,
             "--encoder-no-repeat-ngram-size",
             "never generate N tokens in a row that the source or prompt has; "
             "0: off"},
      &Config::encoderNoRepeatNgramSize, &Api::encoder_no_repeat_ngram_size);

  // Tokens and strings, with any values.
  visit(Option{"suppress_tokens"}, &Config::suppressed, nullptr);
  visit(Option{"begin_suppress_tokens"}, &Config::suppressedAtBegin, nullptr);
  visit(Option{"bad_words_ids"}, &Config::badWords, nullptr);
  visit(Option{"forced_bos_token_id", -unbounded, unbounded,
               "--forced-bos-token-id",
               "the token after a prompt of one token; -1: none"},
        &Config::forcedBegin, &Api::forced_bos_id);
  visit(Option{"forced_eos_token_id"}, &Config::forcedEnd, nullptr);
  visit(Option{"decoder_start_token_id", -unbounded, unbounded,
               "--decoder-start-token-id",
               "encoder-decoders: the token that a target begins with"},
        &Config::decoderStart, &Api::decoder_start_id);
  visit(Option{"eos_token_id"}, &Config::endTokens, nullptr);
  visit(Option{"bos_token_id", -unbounded}, &Config::beginToken, nullptr);
  visit(Option{"pad_token_id", -unbounded}, &Config::padToken, nullptr);
  visit(Option{"use_shortlist", 0, 1, "--use-shortlist",
               "of a model with a lexical shortlist: choose among its tokens "
               "alone (default true)",
               false, 0, "false,true"},
        &Config::useShortlist, &Api::use_shortlist);
  visit(Option{"stop_strings"}, &Config::stopStrings, nullptr);
}

/// True if a caller has set this transom_generate_options field.
template <typename T> bool isGiven(T value) {
  return value != T(TRANSOM_FROM_MODEL);
}

/// Overrides settings in `config` with the options that a caller has set, and
/// copies `sample`, `seed`, `ignore_end` and `top_logprobs`. An option with
/// `turnsOnSampling` enables sampling unless the caller sets `sample`. Does not
/// check values.
void applyOptions(const transom_generate_options &options,
                  GenerationConfig &config);

} // namespace transom
