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

/** A token and the natural logarithm of its probability. */
typedef struct transom_token_logprob {
  /** id in the vocabulary */
  int64_t id;
  /** natural logarithm */
  double logprob;
} transom_token_logprob;

/** A number that is added to the logit of a token. */
typedef struct transom_logit_bias {
  /** id in the vocabulary */
  int64_t id;
  /** in [-1e6, 1e6]; minus infinity: the token is never chosen */
  double bias;
} transom_logit_bias;

/** Why a continuation ended. */
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

/** Returns a reason as one word, such as "length". */
TRANSOM_API const char *transom_finish_name(transom_finish finish);

/** What happens to prompts that are longer than the model's context, and at the
 * end of the context. */
typedef enum transom_context_policy TRANSOM_ENUM_TYPE {
  /** longer prompts are refused (LIMIT); generation ends */
  TRANSOM_CONTEXT_STOP = 0,
  /** the last tokens of a longer prompt are used; generation ends */
  TRANSOM_CONTEXT_TRUNCATE = 1,
  /** generation continues with the last tokens, half of the context */
  TRANSOM_CONTEXT_SHIFT = 2
} transom_context_policy;

/** A new token. */
typedef struct transom_generated_token {
  /** index of its prompt */
  size_t prompt;
  /** number of its continuation among those of the prompt */
  size_t continuation;
  /** id; -1: no token, the continuation was cancelled */
  int64_t id;
  /** new final text: whole characters, may be empty */
  transom_text text;
  /** why the continuation ends with this token; TRANSOM_FINISH_NONE if it
   * continues */
  transom_finish finish;
} transom_generated_token;

/** Receives each new token; with beams those of the results, when the search
 * for a prompt has ended. A result other than 0 ends the continuation. It may
 * call transom_session_cancel() and no other function on the session. */
typedef int (*transom_token_callback)(void *context,
                                      const transom_generated_token *token);

/** How to generate. An option that is TRANSOM_FROM_MODEL comes from the model's
 * generation_config.json, else from its config.json, else it has the value in
 * brackets. Values out of range are USAGE. */
typedef struct transom_generate_options {
  /** set by transom_generate_options_default() */
  size_t struct_size;
  /** maximum number of new tokens [256] */
  int64_t max_new_tokens;
  /** number of new tokens before an end token may be chosen [0] */
  int64_t min_new_tokens;
  /** continuations of each prompt, each with its own random stream; with beams
   * the best ones, at most num_beams [1] */
  int64_t num_return_sequences;
  /** number of beams [1]; 1: greedy or sampling. More than the session's
   * max_sequences is LIMIT; with sampling UNSUPPORTED */
  int64_t num_beams;
  /** 0: greedy; 1: sampling; TRANSOM_FROM_MODEL: sampling if an option marked
   * (sampling) is given, else as the model's files say [0] */
  int32_t sample;
  /** (sampling) at least 0; 0 is greedy [1] */
  double temperature;
  /** (sampling) at least 0; 0 is off [0; 50 if the model's files ask for
   * sampling] */
  int64_t top_k;
  /** (sampling) in [0, 1]; 1 is off [1] */
  double top_p;
  /** (sampling) in [0, 1]; 0 is off [0] */
  double min_p;
  /** divides (or multiplies) logits of tokens of the prompt and of new tokens
   * [1] */
  double repetition_penalty;
  /** subtracted from the logits of new tokens [0] */
  double presence_penalty;
  /** the same, times the number of occurrences [0] */
  double frequency_penalty;
  /** size of n-grams that may not occur twice; 0 is off [0] */
  int64_t no_repeat_ngram_size;
  /** the same seed, options and logits give the same tokens everywhere */
  uint64_t seed;
  /** 1: an end token may be chosen and does not end the continuation */
  uint32_t ignore_end;
  /** a transom_context_policy */
  uint32_t context_policy;
  /** end tokens; NULL: as the model's files say */
  const int64_t *end_ids;
  /** number of end tokens */
  size_t num_end_ids;
  /** logit biases; may be NULL */
  const transom_logit_bias *biases;
  /** number of biases */
  size_t num_biases;
  /** strings that end a continuation; may be NULL */
  const transom_text *stops;
  /** number of strings */
  size_t num_stops;
  /** record log-probabilities of the new tokens, and of this many most probable
   * tokens; -1: do not */
  int32_t top_logprobs;
  /** 1: prompts that are texts get no special tokens */
  uint32_t no_special;
  /** called for each new token; may be NULL */
  transom_token_callback callback;
  /** first argument of `callback` */
  void *callback_context;
  /** (beams) scores are divided by the number of new tokens to this power, in
   * [-1e6, 1e6] [1] */
  double length_penalty;
  /** (beams) 0: ends when the best beam, ended now, could not improve the
   * results; 1: as soon as there are as many results as beams; 2: when no beam
   * could improve them at any length [0] */
  int32_t early_stopping;
  /** (beams) 1: probabilities sum to one after penalties and exclusions [0] */
  int32_t renormalize_logits;
  /** size of n-grams of the source, or of the prompt of a decoder, that may not
   * be generated; 0 is off [0] */
  int64_t encoder_no_repeat_ngram_size;
  /** token after a prompt (or target prefix) of one token; -1: none [-1] */
  int64_t forced_bos_id;
  /** sequences of ids that are never generated, one after another; NULL: as the
   * model's files say */
  const int64_t *bad_words;
  /** number of ids of each sequence, at least 1; [num_bad_words] */
  const size_t *bad_word_sizes;
  /** number of sequences */
  size_t num_bad_words;
  /** (encoder-decoders) the first tokens of the target of each prompt, which
   * its continuations follow and do not contain; a text is one in the target
   * language and gets no special tokens. The decoder's start token is put
   * before them unless they begin with it. An empty one is no prefix. NULL: no
   * prompt has one. With another model USAGE */
  const transom_prompt *target_prefixes;
  /** number of target prefixes: 0, or the number of prompts */
  size_t num_target_prefixes;
  /** (encoder-decoders) the token that the decoder begins with; -1: its begin
   * token [as bos_token_id] */
  int64_t decoder_start_id;
  /** (encoder-decoders) 1: of a model with a lexical shortlist, only its tokens
   * can come, and probabilities are of those; 0: all can [1] */
  int32_t use_shortlist;
} transom_generate_options;

/** Initializes options of `struct_size` bytes, as
 * transom_generate_options_default() does. */
TRANSOM_API void
transom_generate_options_init(transom_generate_options *options,
                              size_t struct_size);

/** Returns the default options: TRANSOM_FROM_MODEL for what may come from the
 * model's files. */
static inline transom_generate_options transom_generate_options_default(void) {
  transom_generate_options options;
  transom_generate_options_init(&options, sizeof options);
  return options;
}

/** Raises max_sequences, max_kv_tokens, max_batch and max_tokens of `session`,
 * and for an encoder-decoder max_source_tokens, to what generation for prompts
 * of these numbers of tokens needs to run at full speed. `prompt_tokens` is
 * [count]. Each target gets room for the longest of the target prefixes. It
 * plans 16 sequences at the same time, or max_sequences if that is more. */
TRANSOM_API transom_status transom_session_options_fit_generate(
    const transom_model *model, const size_t *prompt_tokens, size_t count,
    const transom_generate_options *options, transom_session_options *session);

/** The continuations of a call. */
typedef struct transom_generation transom_generation;

/** Generates continuations of all prompts together; prompts wait while the
 * session has no room for them. A continuation does not depend on the other
 * prompts. `generation` is set on success, and on CANCELLED to what was
 * generated so far; on another error it is NULL. The message of an error that
 * one prompt causes begins with `prompt N`; another prompt may be named if the
 * logits are not finite, as transom_session_step() says. Errors: REJECTED (ids
 * out of range, text that is not UTF-8, an empty prompt for a model without a
 * begin token, a logit that is not finite), LIMIT (prompt longer than the
 * context), UNSUPPORTED (no tokenizer, options that are not supported),
 * CANCELLED. */
TRANSOM_API transom_status transom_session_generate(
    transom_session *session, const transom_prompt *prompts, size_t count,
    const transom_generate_options *options, transom_generation **generation);

/** The same for the inputs of the entry `generate`. */
TRANSOM_API transom_status transom_session_generate_tensors(
    transom_session *session, const transom_tensor *inputs, size_t num_inputs,
    const transom_generate_options *options, transom_generation **generation);

/** Frees continuations; NULL is allowed. */
TRANSOM_API void transom_generation_free(transom_generation *generation);

/** One continuation. The generation owns all memory. */
typedef struct transom_continuation {
  /** set by transom_continuation_default() */
  size_t struct_size;
  /** index of its prompt */
  size_t prompt;
  /** number among the continuations of the prompt */
  size_t number;
  /** tokens of the prompt that were used; of an encoder-decoder the start token
   * and those of the target prefix */
  size_t prompt_tokens;
  /** the new tokens, [num_ids] */
  const int64_t *ids;
  /** number of new tokens */
  size_t num_ids;
  /** their text; empty without a tokenizer */
  transom_text text;
  /** why it ended */
  transom_finish finish;
  /** log-probabilities of the new tokens, [num_ids]; NULL if not recorded */
  const double *logprobs;
  /** most probable tokens for each new token, [num_ids, num_top] */
  const transom_token_logprob *top;
  /** number of most probable tokens */
  size_t num_top;
  /** with beams the sum of log-probabilities / number of new tokens ^
   * length_penalty, else NaN */
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

/** Fills in continuation `index`; they are ordered by prompt. USAGE if there is
 * none. */
TRANSOM_API transom_status
transom_generation_get(const transom_generation *generation, size_t index,
                       transom_continuation *continuation);

/** Returns the number of continuations. */
TRANSOM_API size_t
transom_generation_count(const transom_generation *generation);

/** Writes `output_ids` of the entry `generate`: [continuations, longest].
 * Shorter continuations are filled with the pad token, or else the first end
 * token. LIMIT if `capacity` is too small; it is then set to the bytes needed.
 */
TRANSOM_API transom_status transom_generation_output_ids(
    const transom_generation *generation, transom_tensor *result);

/** Writes `scores` of the entry `generate`: f32 [continuations], the scores of
 * beams. USAGE for a generation without beams; LIMIT if `capacity` is too
 * small; it is then set to the bytes needed. */
TRANSOM_API transom_status transom_generation_scores(
    const transom_generation *generation, transom_tensor *result);

/** Scores a text that is given as ids. `logprobs` is [count - 1]: number i
 * belongs to token i + 1. `top` (may be NULL) is [count - 1, num_top]: the most
 * probable tokens at its position. Errors: as transom_session_generate(); no
 * ids are REJECTED. */
TRANSOM_API transom_status transom_session_score(transom_session *session,
                                                 const int64_t *ids,
                                                 size_t count, double *logprobs,
                                                 transom_token_logprob *top,
                                                 size_t num_top);

/** The score of a long text. */
typedef struct transom_text_score {
  /** sum of the tokens' log-probabilities */
  double sum;
  /** number of scored tokens */
  int64_t tokens;
  /** number of windows */
  int64_t windows;
} transom_text_score;

/** Scores a text of any length in windows of `window` tokens that begin
 * `stride` tokens apart. Each token is scored once; from the second window on
 * each has at least window - stride tokens of context. The perplexity of the
 * text is exp(-sum / tokens). */
TRANSOM_API transom_status transom_session_score_windows(
    transom_session *session, const int64_t *ids, size_t count, int64_t window,
    int64_t stride, transom_text_score *score);

/** Scores targets of an encoder-decoder: computes the log-probability of each
 * token of a target, given its source and the tokens before it. `sources` and
 * `targets` are [count]; a text gets the special tokens of a source or target,
 * and is not truncated. The first token of a target is predicted from the
 * decoder's start token, which is not a part of it.
 * `logprobs` holds the results of the first target, then of the second, and so
 * on; `capacity` is its size in bytes. `num_tokens` [count] is set to the
 * number of tokens of each target, also if they do not fit, which is LIMIT;
 * then nothing is scored. `sums` [count], which may be NULL, is set to the sum
 * of each target. Results have the same bits whatever other pairs are in the
 * call. Needs memory for `count` times the longest source and target. Errors:
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
