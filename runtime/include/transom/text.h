/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Texts: tokenization, embeddings and classification.
 */
#ifndef TRANSOM_TEXT_H
#define TRANSOM_TEXT_H
#include "transom/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/** UTF-8 text. `data` may be NULL if `size` is 0. */
typedef struct transom_text {
  /** first byte; a final 0 is not needed */
  const char *data;
  /** size in bytes */
  size_t size;
} transom_text;

/** One token in a text. */
typedef struct transom_token {
  /** id in the vocabulary */
  int64_t id;
  /** token type: 0, or 1 in a pair's second text */
  int64_t type;
  /** offset of its first byte in the text */
  size_t begin;
  /** offset after its last byte; equal to `begin` if it covers no byte */
  size_t end;
  /** 1: added by the tokenizer's template */
  uint32_t special;
} transom_token;

/** Options for transom_model_tokenize(). */
typedef struct transom_tokenize_options {
  /** set by transom_tokenize_options_default() */
  size_t struct_size;
  /** 1: omits the template's special tokens */
  uint32_t no_special;
  /** 1: disables truncation */
  uint32_t no_truncation;
  /** text language, as in transom_model_language_token(); NULL: the source
   * language in the tokenizer's files. Its token is inserted where the model
   * expects the source language token */
  const char *language;
  /** 1: the text is in the target language, which some translation models
   * tokenize differently */
  uint32_t target;
  /** 1: REJECTED if a part of the text would become the tokenizer's unknown
   * token */
  uint32_t refuse_unknown;
} transom_tokenize_options;

/** Initializes options of `struct_size` bytes, as
 * transom_tokenize_options_default() does. */
TRANSOM_API void
transom_tokenize_options_init(transom_tokenize_options *options,
                              size_t struct_size);

/** Returns the default options. */
static inline transom_tokenize_options transom_tokenize_options_default(void) {
  transom_tokenize_options options;
  transom_tokenize_options_init(&options, sizeof options);
  return options;
}

/** Converts a text, or a pair of texts, into tokens. `pair` and `options` may
 * be NULL. `tokens` is [count]; `capacity` is its size in bytes. `count` is
 * also set to the number of tokens if they do not fit, which is LIMIT; then
 * `tokens` is not written. `truncated` (may be NULL) is also set on LIMIT: to 1
 * if the text was truncated, else to 0. Errors: REJECTED (not UTF-8),
 * UNSUPPORTED (no tokenizer), LIMIT, USAGE (a language that the tokenizer does
 * not know). */
TRANSOM_API transom_status transom_model_tokenize(
    const transom_model *model, const transom_text *text,
    const transom_text *pair, const transom_tokenize_options *options,
    transom_token *tokens, size_t capacity, size_t *count, uint32_t *truncated);

/** Gets the token for a language in a translation model, such as `en_XX`,
 * `eng_Latn` or `en`. Models with a target language token generate this token
 * first. Errors: USAGE (unknown language; the message lists the languages),
 * UNSUPPORTED (the tokenizer has no languages). */
TRANSOM_API transom_status transom_model_language_token(
    const transom_model *model, const char *language, int64_t *id);

/** Gets the name of language `index`, in alphabetical order. `text`, `capacity`
 * and `size` as in transom_model_detokenize(). USAGE for other indices. */
TRANSOM_API transom_status
transom_model_language_name(const transom_model *model, size_t index,
                            char *text, size_t capacity, size_t *size);

/** Flags for transom_model_detokenize(). */
typedef enum transom_detokenize_flags TRANSOM_ENUM_TYPE {
  TRANSOM_DETOKENIZE_SKIP_SPECIAL = 1, /**< omits special tokens */
  /** Keeps spaces before punctuation where the tokenizer's settings drop them
   * (`clean_up_tokenization_spaces`). */
  TRANSOM_DETOKENIZE_KEEP_SPACES = 2
} transom_detokenize_flags;

/** Converts ids into text. `flags` is 0 or `transom_detokenize_flags`. `text`
 * is [size] bytes without a final 0; `capacity` is in bytes. `size` is also set
 * if the text does not fit, which is LIMIT. Ids outside the vocabulary are
 * omitted. USAGE for other flags. */
TRANSOM_API transom_status transom_model_detokenize(
    const transom_model *model, const int64_t *ids, size_t count,
    uint32_t flags, char *text, size_t capacity, size_t *size);

/** Gets the vocabulary string of one token. `text`, `capacity` and `size` as in
 * transom_model_detokenize(). REJECTED if the id is not in the vocabulary. */
TRANSOM_API transom_status transom_model_token_text(const transom_model *model,
                                                    int64_t id, char *text,
                                                    size_t capacity,
                                                    size_t *size);

/** Reduction of a text's token hidden states to one vector. */
typedef enum transom_pooling TRANSOM_ENUM_TYPE {
  /** from the model's files */
  TRANSOM_POOLING_FROM_MODEL = TRANSOM_FROM_MODEL,
  /** mean over all tokens */
  TRANSOM_POOLING_MEAN = 1,
  /** first token */
  TRANSOM_POOLING_CLS = 2
} transom_pooling;

/** Options for transom_session_embed(). */
typedef struct transom_embed_options {
  /** set by transom_embed_options_default() */
  size_t struct_size;
  /** default: TRANSOM_POOLING_FROM_MODEL */
  transom_pooling pooling;
  /** 1: scale to unit length; 0: do not; default: TRANSOM_FROM_MODEL. A model
   * with a sentence-transformers pipeline scales as the pipeline specifies;
   * then 0 affects only embeddings truncated by `dim`, and the pooling is the
   * model's */
  int32_t normalize;
  /** number of leading elements to return (Matryoshka); default: 0, all, or the
   * number in the model's files. Embeddings of unit length are scaled to unit
   * length again after this truncation */
  uint32_t dim;
  /** name of a prompt in the model's files, which is prepended to each text;
   * NULL (default): the model's default prompt, if it has one */
  const char *prompt_name;
  /** a prompt that is prepended to each text; NULL (default): `prompt_name` */
  const char *prompt;
  /** window length in tokens, including special tokens and the prompt. Longer
   * texts are split into windows; the text embedding is the mean of the window
   * embeddings, weighted by each window's own tokens, and is scaled like other
   * embeddings. Default: 0, longer texts are truncated */
  uint32_t chunk;
  /** tokens that neighboring windows share; default: 0 */
  uint32_t overlap;
} transom_embed_options;

/** Initializes options of `struct_size` bytes, as
 * transom_embed_options_default() does. */
TRANSOM_API void transom_embed_options_init(transom_embed_options *options,
                                            size_t struct_size);

/** Returns the default options. */
static inline transom_embed_options transom_embed_options_default(void) {
  transom_embed_options options;
  transom_embed_options_init(&options, sizeof options);
  return options;
}

/** Embeds texts. `embeddings` is [count, embedding_size], or [count, dim] if
 * `dim` is set, dense; `capacity` is its size in bytes. A sparse model's
 * embedding has a weight for each vocabulary token. Texts longer than the
 * model's maximum are truncated; `truncated` (may be NULL) is set to their
 * number. Other texts in the call do not change the bits in an embedding. After
 * REJECTED, CANCELLED and UNAVAILABLE some embeddings may be written. Errors:
 * USAGE (an option, such as a prompt that the model does not have), REJECTED
 * (not UTF-8), UNSUPPORTED (the model does not embed texts, or its pipeline is
 * not supported), LIMIT (`capacity`), CANCELLED. */
TRANSOM_API transom_status
transom_session_embed(transom_session *session, const transom_text *texts,
                      size_t count, const transom_embed_options *options,
                      float *embeddings, size_t capacity, size_t *truncated);

/** Embeds the tokens of one text with a late interaction model (ColBERT).
 * `embeddings` is [count, token_embedding_size], `ids` (may be NULL) is
 * [count]; their capacities are in bytes. `count` and `truncated` are also set
 * if the embeddings do not fit, which is LIMIT. With the prompt_name "query"
 * the text is a query, which is padded with expansion tokens if the model's
 * files specify it; otherwise it is a document with the prompt "document", and
 * tokens in the model's skiplist are omitted. `truncated` (may be NULL) is set
 * to 1 if the text was truncated, else to 0. Errors: as
 * transom_session_embed(). */
TRANSOM_API transom_status transom_session_embed_tokens(
    transom_session *session, const transom_text *text,
    const transom_embed_options *options, float *embeddings, size_t capacity,
    int64_t *ids, size_t ids_capacity, size_t *count, uint32_t *truncated);

/** Token vectors for one text. */
typedef struct transom_token_vectors {
  /** index of the text in the call */
  size_t text;
  /** number of tokens with vectors */
  size_t count;
  /** [count] */
  const int64_t *ids;
  /** elements per vector */
  size_t width;
  /** [count, width]; with layers [num_layers, count, width] */
  const float *vectors;
  /** 1: the text was truncated */
  uint32_t truncated;
} transom_token_vectors;

/** Receives a text's vectors, which are valid until it returns. It may call
 * transom_session_cancel() but no other function on the session. */
typedef void (*transom_token_vectors_callback)(
    void *context, const transom_token_vectors *vectors);

/** Embeds the tokens of texts in batches, like transom_session_embed_tokens();
 * vectors have the same bits. A model without late interaction returns its last
 * hidden states or, with `layers` [num_layers], the hidden states of layers
 * that it was compiled with: from 0, the embeddings, on, or negative to count
 * from the end. `callback` is called once for each text, in any order. Errors:
 * as transom_session_embed(); USAGE (a layer that the model was compiled
 * without). After an error, the callback may not have been called for some
 * texts. */
TRANSOM_API transom_status transom_session_embed_tokens_batch(
    transom_session *session, const transom_text *texts, size_t count,
    const transom_embed_options *options, const int64_t *layers,
    size_t num_layers, transom_token_vectors_callback callback, void *context);

/** Quantized embedding types. */
typedef enum transom_precision TRANSOM_ENUM_TYPE {
  /** int8_t: each element's range in 256 steps, from -128 on */
  TRANSOM_PRECISION_INT8 = 1,
  /** int8_t: one bit per element, set if it is above 0, the first in a byte's
   * highest bit; a byte is stored minus 128 */
  TRANSOM_PRECISION_BINARY = 2,
  /** uint8_t: the same bits, without the offset */
  TRANSOM_PRECISION_UBINARY = 3
} transom_precision;

/** Quantizes `embeddings` [count, size] as sentence-transformers does. `out` is
 * [count, size] bytes for int8, [count, ceil(size / 8)] for bits; `capacity` is
 * in bytes. For int8, `ranges` [2, size] contains the smallest and the largest
 * value of each element; NULL: the ranges in `embeddings`, which must have 2 or
 * more rows. Values outside the range are clamped.
 * Errors: USAGE (`precision`, no ranges), LIMIT (`capacity`). */
TRANSOM_API transom_status
transom_quantize_embeddings(const float *embeddings, size_t count, size_t size,
                            transom_precision precision, const float *ranges,
                            void *out, size_t capacity);

/** Classifies texts, or pairs of texts. `pairs` and the `data` of a pair may be
 * NULL. `scores` is [count, num_labels], dense; `capacity` is its size in
 * bytes. Scores are probabilities (softmax, or sigmoid for a multi-label head)
 * or, for a regression head, the values. `truncated`, scores after an error and
 * errors: as transom_session_embed(). */
TRANSOM_API transom_status transom_session_classify(transom_session *session,
                                                    const transom_text *texts,
                                                    const transom_text *pairs,
                                                    size_t count, float *scores,
                                                    size_t capacity,
                                                    size_t *truncated);

/** Classifies the tokens of one text. `tokens` is [count] as from
 * transom_model_tokenize(), `scores` is [count, num_labels]; their capacities
 * are in bytes. `count` and `truncated` are also set if they do not fit, which
 * is LIMIT. `truncated` (may be NULL) is set to 1 if the text was truncated,
 * else to 0. Errors: as transom_session_embed(). */
TRANSOM_API transom_status transom_session_classify_tokens(
    transom_session *session, const transom_text *text, transom_token *tokens,
    size_t tokens_capacity, float *scores, size_t scores_capacity,
    size_t *count, uint32_t *truncated);

#ifdef __cplusplus
}
#endif
#endif
