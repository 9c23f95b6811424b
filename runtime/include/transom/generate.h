/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Text generation and scoring with a decoder.
 */
#ifndef TRANSOM_GENERATE_H
#define TRANSOM_GENERATE_H
#include "transom/decode.h"
#include "transom/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A token and its log-probability. */
typedef struct transom_token_logprob {
  /** id in the vocabulary */
  int64_t id;
  /** natural logarithm */
  double logprob;
} transom_token_logprob;

/** A value to add to a token's logit. */
typedef struct transom_logit_bias {
  /** id in the vocabulary */
  int64_t id;
  /** in [-1e6, 1e6]; minus infinity: the token is never chosen */
  double bias;
} transom_logit_bias;

/** The reason why a continuation ended. */
typedef enum transom_finish TRANSOM_ENUM_TYPE {
  /** it has not ended */
  TRANSOM_FINISH_NONE = 0,
  /** its last token is an end token */
  TRANSOM_FINISH_END = 1,
  /** its text contained a stop string; the text ends before it */
  TRANSOM_FINISH_STOP = 2,
  /** it has max_new_tokens */
  TRANSOM_FINISH_LENGTH = 3,
  /** the model's context or the session's cache is full */
  TRANSOM_FINISH_CONTEXT = 4,
  /** the caller ended it */
  TRANSOM_FINISH_CANCELLED = 5
} transom_finish;

/** Returns a reason in one word, such as "length". */
TRANSOM_API const char *transom_finish_name(transom_finish finish);

/** Behavior for prompts longer than the model's context and at the end of the
 * context. */
typedef enum transom_context_policy TRANSOM_ENUM_TYPE {
  /** longer prompts are rejected (LIMIT); generation ends */
  TRANSOM_CONTEXT_STOP = 0,
  /** longer prompts are cut to their last tokens; generation ends */
  TRANSOM_CONTEXT_TRUNCATE = 1,
  /** generation continues with the last tokens that fill half the context */
  TRANSOM_CONTEXT_SHIFT = 2
} transom_context_policy;

/** A new token. */
typedef struct transom_generated_token {
  /** index of its prompt */
  size_t prompt;
  /** index of the continuation within its prompt */
  size_t continuation;
  /** id; -1: no token, the continuation was cancelled */
  int64_t id;
  /** newly completed text: whole characters, may be empty */
  transom_text text;
  /** reason why the continuation ends with this token; TRANSOM_FINISH_NONE if
   * it continues */
  transom_finish finish;
} transom_generated_token;

/** Receives each new token. With beams it receives the result tokens once
 * the search for a prompt has ended. A nonzero return value ends the
 * continuation. The callback may call transom_session_cancel() but no other
 * function on the session. */
typedef int (*transom_token_callback)(void *context,
                                      const transom_generated_token *token);

/** Generation options. An option set to TRANSOM_FROM_MODEL takes its value from
 * the model's generation_config.json, else from its config.json, else the
 * default in brackets. Values out of range are USAGE errors. */
typedef struct transom_generate_options {
  /** set by transom_generate_options_default() */
  size_t struct_size;
  /** maximum number of new tokens [256] */
  int64_t max_new_tokens;
  /** minimum number of new tokens: no end token is chosen before [0] */
  int64_t min_new_tokens;
  /** continuations per prompt, each with its own random stream; with beams the
   * best ones, at most num_beams [1] */
  int64_t num_return_sequences;
  /** number of beams [1]; 1: greedy or sampling. LIMIT if larger than the
   * session's max_sequences, UNSUPPORTED with sampling */
  int64_t num_beams;
  /** 0: greedy; 1: sampling; TRANSOM_FROM_MODEL: sampling if an option marked
   * (sampling) is given, else as specified by the model's files [0] */
  int32_t sample;
  /** (sampling) at least 0; 0 is greedy [1] */
  double temperature;
  /** (sampling) at least 0; 0 is off [0; 50 if the model's files enable
   * sampling] */
  int64_t top_k;
  /** (sampling) in [0, 1]; 1 is off [1] */
  double top_p;
  /** (sampling) in [0, 1]; 0 is off [0] */
  double min_p;
  /** divides positive and multiplies negative logits of tokens that occur in
   * the prompt or the new tokens [1] */
  double repetition_penalty;
  /** subtracted from the logits of previously generated tokens [0] */
  double presence_penalty;
  /** subtracted once per previous occurrence [0] */
  double frequency_penalty;
  /** n-gram size for which no n-gram may occur twice; 0 is off [0] */
  int64_t no_repeat_ngram_size;
  /** random seed: the same seed, options and logits give the same tokens on
   * every host */
  uint64_t seed;
  /** 1: an end token may be chosen and does not end the continuation */
  uint32_t ignore_end;
  /** a transom_context_policy */
  uint32_t context_policy;
  /** end tokens; NULL: from the model's files */
  const int64_t *end_ids;
  /** end token count */
  size_t num_end_ids;
  /** logit biases; may be NULL */
  const transom_logit_bias *biases;
  /** bias count */
  size_t num_biases;
  /** strings that end a continuation; may be NULL */
  const transom_text *stops;
  /** stop string count */
  size_t num_stops;
  /** number of most probable tokens to record with their log-probabilities,
   * next to the log-probability of each new token; -1: record none */
  int32_t top_logprobs;
  /** 1: prompts given as text get no special tokens */
  uint32_t no_special;
  /** called for each new token; may be NULL */
  transom_token_callback callback;
  /** first argument of `callback` */
  void *callback_context;
  /** (beams) scores are divided by the number of new tokens to this power, in
   * [-1e6, 1e6] [1] */
  double length_penalty;
  /** (beams) 0: the search ends when the best beam, ended now, could not
   * improve the results; 1: when there are num_beams results; 2: when no beam
   * could improve the results at any length [0] */
  int32_t early_stopping;
  /** (beams) 1: probabilities sum to one after penalties and exclusions [0] */
  int32_t renormalize_logits;
  /** n-gram size for which n-grams in the source, or in a decoder's prompt, are
   * never generated; 0 is off [0] */
  int64_t encoder_no_repeat_ngram_size;
  /** token after a prompt (or target prefix) with one token; -1: none [-1] */
  int64_t forced_bos_id;
  /** token sequences that are never generated, concatenated; NULL: from the
   * model's files */
  const int64_t *bad_words;
  /** sequence lengths, at least 1; [num_bad_words] */
  const size_t *bad_word_sizes;
  /** sequence count */
  size_t num_bad_words;
  /** (encoder-decoders) the first target tokens of each prompt, which the
   * continuations follow and do not contain; text is in the target language and
   * gets no special tokens. The decoder's start token is prepended unless the
   * prefix begins with it. An empty prefix is no prefix. NULL: no prompt has a
   * prefix. USAGE for other models */
  const transom_prompt *target_prefixes;
  /** target prefix count: 0, or the prompt count */
  size_t num_target_prefixes;
  /** (encoder-decoders) the decoder's first token; -1: its begin token [as
   * bos_token_id] */
  int64_t decoder_start_id;
  /** (encoder-decoders) 1: restricts generation and its probabilities to the
   * tokens of the model's lexical shortlist, if it has one; 0: the whole
   * vocabulary [1] */
  int32_t use_shortlist;
} transom_generate_options;

/** Initializes options of `struct_size` bytes, as
 * transom_generate_options_default() does. */
TRANSOM_API void
transom_generate_options_init(transom_generate_options *options,
                              size_t struct_size);

/** Returns the default options: TRANSOM_FROM_MODEL for each option that the
 * model's files may specify. */
static inline transom_generate_options transom_generate_options_default(void) {
  transom_generate_options options;
  transom_generate_options_init(&options, sizeof options);
  return options;
}

/** Raises max_sequences, max_kv_tokens, max_batch and max_tokens in `session`,
 * and for an encoder-decoder max_source_tokens, to the values at which
 * generation for prompts with these token counts runs at full speed.
 * `prompt_tokens` is [count]. Each target gets room for the longest target
 * prefix. The plan runs 16 sequences at the same time, or max_sequences if
 * larger. */
TRANSOM_API transom_status transom_session_options_fit_generate(
    const transom_model *model, const size_t *prompt_tokens, size_t count,
    const transom_generate_options *options, transom_session_options *session);

/** The continuations that a call generated. */
typedef struct transom_generation transom_generation;

/** Generates continuations for all prompts together; prompts wait while the
 * session has no room for them. A continuation does not depend on the other
 * prompts. On success `generation` is set to the results, and on CANCELLED to
 * the partial results; on other errors it is NULL. If a single prompt causes an
 * error, the message begins with `prompt N`; it may name another prompt if
 * logits are not finite, see transom_session_step(). Errors: REJECTED (ids out
 * of range, text that is not UTF-8, an empty prompt for a model without a begin
 * token, a logit that is not finite), LIMIT (prompt longer than the context),
 * UNSUPPORTED (no tokenizer, options that are not supported), CANCELLED. */
TRANSOM_API transom_status transom_session_generate(
    transom_session *session, const transom_prompt *prompts, size_t count,
    const transom_generate_options *options, transom_generation **generation);

/** Runs transom_session_generate() with the inputs for the entry `generate`. */
TRANSOM_API transom_status transom_session_generate_tensors(
    transom_session *session, const transom_tensor *inputs, size_t num_inputs,
    const transom_generate_options *options, transom_generation **generation);

/** Frees continuations; NULL is allowed. */
TRANSOM_API void transom_generation_free(transom_generation *generation);

/** One continuation. The generation owns all its memory. */
typedef struct transom_continuation {
  /** set by transom_continuation_default() */
  size_t struct_size;
  /** index of its prompt */
  size_t prompt;
  /** index of the continuation within its prompt */
  size_t number;
  /** number of prompt tokens used; for an encoder-decoder the start token and
   * the target prefix tokens */
  size_t prompt_tokens;
  /** the new tokens, [num_ids] */
  const int64_t *ids;
  /** new token count */
  size_t num_ids;
  /** the new tokens as text; empty without a tokenizer */
  transom_text text;
  /** reason why it ended */
  transom_finish finish;
  /** log-probabilities, [num_ids]; NULL if not recorded */
  const double *logprobs;
  /** most probable tokens for each new token, [num_ids, num_top] */
  const transom_token_logprob *top;
  /** number of most probable tokens per new token */
  size_t num_top;
  /** with beams: summed log-probabilities / new tokens ^ length_penalty; else
   * NaN */
  double score;
} transom_continuation;

/** Initializes a continuation of `struct_size` bytes, as
 * transom_continuation_default() does. */
TRANSOM_API void transom_continuation_init(transom_continuation *continuation,
                                           size_t struct_size);

/** Returns a struct to be filled in. */
static inline transom_continuation transom_continuation_default(void) {
  transom_continuation continuation;
  transom_continuation_init(&continuation, sizeof continuation);
  return continuation;
}

/** Fills in continuation `index`; continuations are ordered by prompt. USAGE if
 * `index` is out of range. */
TRANSOM_API transom_status
transom_generation_get(const transom_generation *generation, size_t index,
                       transom_continuation *continuation);

/** Returns the number of continuations. */
TRANSOM_API size_t
transom_generation_count(const transom_generation *generation);

/** Writes the result `output_ids` for the entry `generate`: [continuations, max
 * length]. Shorter continuations are filled with the pad token, or else the
 * first end token. LIMIT if `capacity` is too small; it is then set to the
 * required size in bytes. */
TRANSOM_API transom_status transom_generation_output_ids(
    const transom_generation *generation, transom_tensor *result);

/** Writes the result `scores` for the entry `generate`: f32 [continuations],
 * the beam scores. USAGE for a generation without beams; LIMIT if `capacity` is
 * too small; it is then set to the required size in bytes. */
TRANSOM_API transom_status transom_generation_scores(
    const transom_generation *generation, transom_tensor *result);

/** Scores a text that is given as ids. `logprobs` is [count - 1]: element i
 * belongs to token i + 1. `top` (may be NULL) is [count - 1, num_top]: the most
 * probable tokens at that position. Errors: as transom_session_generate();
 * REJECTED for an empty list. */
TRANSOM_API transom_status transom_session_score(transom_session *session,
                                                 const int64_t *ids,
                                                 size_t count, double *logprobs,
                                                 transom_token_logprob *top,
                                                 size_t num_top);

/** The score of a long text. */
typedef struct transom_text_score {
  /** sum of all log-probabilities */
  double sum;
  /** scored tokens */
  int64_t tokens;
  /** window count */
  int64_t windows;
} transom_text_score;

/** Scores a text of any length in windows with `window` tokens each, whose
 * starts are `stride` tokens apart. Each token is scored once; from the second
 * window on each token has at least window - stride tokens as context. The
 * text's perplexity is exp(-sum / tokens). */
TRANSOM_API transom_status transom_session_score_windows(
    transom_session *session, const int64_t *ids, size_t count, int64_t window,
    int64_t stride, transom_text_score *score);

/** Scores targets with an encoder-decoder: computes each target
 * token's log-probability, given its source and the preceding tokens. `sources`
 * and `targets` are [count]; text gets the special tokens for sources or
 * targets and is not truncated. The first target token is predicted from the
 * decoder's start token, which the target does not include. `logprobs` contains
 * the concatenated results for all targets; `capacity` is its size in bytes.
 * `num_tokens` [count] is set to the token count of each target, even on LIMIT;
 * then nothing is scored. `sums` [count], which may be NULL, is set to the sum
 * for each target. Other pairs in the call do not change the bits in the
 * results. Memory use is `count` times the longest source and target. Errors:
 * REJECTED (a source without tokens, ids out of range, text that is not UTF-8,
 * a model without a start token, a logit that is not finite), LIMIT (a source
 * or target that is too long, `capacity`), UNSUPPORTED (not an encoder-decoder,
 * no tokenizer), CANCELLED. */
TRANSOM_API transom_status transom_session_score_targets(
    transom_session *session, const transom_prompt *sources,
    const transom_prompt *targets, size_t count, double *logprobs,
    size_t capacity, size_t *num_tokens, double *sums);

#ifdef __cplusplus
}
#endif
#endif
