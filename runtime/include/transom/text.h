/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Texts: tokens, embeddings and labels.
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

/** One token of a text. */
typedef struct transom_token {
  /** id in the vocabulary */
  int64_t id;
  /** token type: 0, or 1 in the second text of a pair */
  int64_t type;
  /** offset of its first byte in the text */
  size_t begin;
  /** offset after its last byte; equal to `begin` if it covers no byte */
  size_t end;
  /** 1: added by the tokenizer's template */
  uint32_t special;
} transom_token;

/** Options of transom_model_tokenize(). */
typedef struct transom_tokenize_options {
  /** set by transom_tokenize_options_default() */
  size_t struct_size;
  /** 1: without the special tokens of the template */
  uint32_t no_special;
  /** 1: without truncation */
  uint32_t no_truncation;
  /** the language of the text, as transom_model_language_token() takes it;
   * NULL: the source language that the tokenizer's files name. Its token is put
   * where the model expects that of the source language */
  const char *language;
  /** 1: a text in the target language, which some translators tokenize in
   * another way */
  uint32_t target;
  /** 1: a text with a part that no token stands for is REJECTED, which the
   * tokenizer's unknown token would take the place of */
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
 * be NULL. `tokens` is [count]; `capacity` is its size in bytes. `count` is set
 * to the number of tokens also if they do not fit, which is LIMIT; then nothing
 * is written to `tokens`. `truncated` (may be NULL) is set likewise, to 1 if
 * the text was truncated, else to 0.
 * Errors: REJECTED (not UTF-8), UNSUPPORTED (no tokenizer), LIMIT, USAGE (a
 * language that the tokenizer does not know). */
TRANSOM_API transom_status transom_model_tokenize(
    const transom_model *model, const transom_text *text,
    const transom_text *pair, const transom_tokenize_options *options,
    transom_token *tokens, size_t capacity, size_t *count, uint32_t *truncated);

/** Gets the token of a language of a translator, such as `en_XX`, `eng_Latn` or
 * `en`. A model that is told its target language generates this token first.
 * Errors: USAGE (not known; the message lists the languages), UNSUPPORTED (the
 * tokenizer has no languages). */
TRANSOM_API transom_status transom_model_language_token(
    const transom_model *model, const char *language, int64_t *id);

/** Gets the name of the language `index`, in the order of the names. `text`,
 * `capacity` and `size` as in transom_model_detokenize(). USAGE if there are
 * not so many. */
TRANSOM_API transom_status
transom_model_language_name(const transom_model *model, size_t index,
                            char *text, size_t capacity, size_t *size);

/** How transom_model_detokenize() makes a text; flags. */
typedef enum transom_detokenize_flags TRANSOM_ENUM_TYPE {
  TRANSOM_DETOKENIZE_SKIP_SPECIAL = 1, /**< leaves out special tokens */
  /** Keeps spaces before punctuation where the tokenizer's settings drop them
   * (`clean_up_tokenization_spaces`). */
  TRANSOM_DETOKENIZE_KEEP_SPACES = 2
} transom_detokenize_flags;

/** Converts ids into text. `flags` is 0 or `transom_detokenize_flags`. `text`
 * is [size] bytes without a final 0; `capacity` is in bytes. `size` is set also
 * if the text does not fit, which is LIMIT. Ids that are not in the vocabulary
 * are left out. USAGE for other flags. */
TRANSOM_API transom_status transom_model_detokenize(
    const transom_model *model, const int64_t *ids, size_t count,
    uint32_t flags, char *text, size_t capacity, size_t *size);

/** Gets the text of one token in the vocabulary. `text`, `capacity` and `size`
 * as in transom_model_detokenize(). REJECTED if there is no such token. */
TRANSOM_API transom_status transom_model_token_text(const transom_model *model,
                                                    int64_t id, char *text,
                                                    size_t capacity,
                                                    size_t *size);

/** How the hidden states of a text's tokens become one vector. */
typedef enum transom_pooling TRANSOM_ENUM_TYPE {
  /** as the model's files say */
  TRANSOM_POOLING_FROM_MODEL = TRANSOM_FROM_MODEL,
  /** mean over all tokens */
  TRANSOM_POOLING_MEAN = 1,
  /** first token */
  TRANSOM_POOLING_CLS = 2
} transom_pooling;

/** Options of transom_session_embed(). */
typedef struct transom_embed_options {
  /** set by transom_embed_options_default() */
  size_t struct_size;
  /** default: TRANSOM_POOLING_FROM_MODEL */
  transom_pooling pooling;
  /** 1: scale to length one; 0: do not; default: TRANSOM_FROM_MODEL. A model
   * with a pipeline of sentence-transformers scales as the pipeline says; then
   * 0 is for embeddings that are cut, and pooling is the model's */
  int32_t normalize;
  /** numbers of an embedding that are kept (Matryoshka); default: 0, all, or as
   * many as the model's files say. What `dim` cuts is scaled to length one
   * again if the embedding had it */
  uint32_t dim;
  /** the name of one of the model's prompts, which is put before each text;
   * NULL (default): the model's default prompt, if it has one */
  const char *prompt_name;
  /** a prompt that is put before each text; NULL (default): `prompt_name` */
  const char *prompt;
  /** the tokens of a window, special ones and those of the prompt counted, into
   * which longer texts are split; the embedding of a text is the mean of those
   * of its windows, weighted by the numbers of their own tokens, and is scaled
   * as the model scales embeddings. Default: 0, longer texts are truncated */
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
 * the options have one, dense; `capacity` is its size in bytes. Of a sparse
 * model an embedding has a weight for each token of the vocabulary. Texts
 * longer than the model's maximum are truncated; `truncated` (may be NULL) is
 * set to their number. An embedding has the same bits whatever other texts are
 * in the call. After REJECTED, CANCELLED and UNAVAILABLE some embeddings may
 * be written. Errors: USAGE (an option, such as a prompt that the model does
 * not have), REJECTED (not UTF-8), UNSUPPORTED (the model does not embed texts,
 * or has a pipeline that is not supported), LIMIT (`capacity`), CANCELLED. */
TRANSOM_API transom_status
transom_session_embed(transom_session *session, const transom_text *texts,
                      size_t count, const transom_embed_options *options,
                      float *embeddings, size_t capacity, size_t *truncated);

/** Embeds the tokens of one text with a model of late interaction (ColBERT).
 * `embeddings` is [count, token_embedding_size], `ids` (may be NULL) is
 * [count]; their capacities are in bytes. `count` and `truncated` are set also
 * if they do not fit, which is LIMIT. With the prompt_name "query" the text is
 * a query, which is filled up with expansion tokens if the model says so; else
 * it is a document, without the tokens of the model's skiplist, and its prompt
 * is "document". `truncated` (may be NULL) is set to 1 if the text was
 * truncated, else to 0. Errors: as transom_session_embed(). */
TRANSOM_API transom_status transom_session_embed_tokens(
    transom_session *session, const transom_text *text,
    const transom_embed_options *options, float *embeddings, size_t capacity,
    int64_t *ids, size_t ids_capacity, size_t *count, uint32_t *truncated);

/** The tokens of one of several texts, and their vectors. */
typedef struct transom_token_vectors {
  /** index of the text in the call */
  size_t text;
  /** number of tokens that have vectors */
  size_t count;
  /** [count] */
  const int64_t *ids;
  /** numbers of a vector */
  size_t width;
  /** [count, width]; with layers [num_layers, count, width] */
  const float *vectors;
  /** 1: the text was truncated */
  uint32_t truncated;
} transom_token_vectors;

/** Receives the vectors of a text, which are valid until it returns. It may
 * call transom_session_cancel() and no other function on the session. */
typedef void (*transom_token_vectors_callback)(
    void *context, const transom_token_vectors *vectors);

/** Embeds the tokens of texts in batches, as transom_session_embed_tokens()
 * does those of one; vectors have the same bits. A model without late
 * interaction gives its last hidden states, with `layers` [num_layers] the
 * hidden states of layers that it was compiled with: from 0, the embeddings,
 * on, or below 0 from the end on. `callback` is called once for each text, in
 * any order. Errors: as transom_session_embed(); USAGE (a layer that the model
 * was compiled without). After an error texts may be missing. */
TRANSOM_API transom_status transom_session_embed_tokens_batch(
    transom_session *session, const transom_text *texts, size_t count,
    const transom_embed_options *options, const int64_t *layers,
    size_t num_layers, transom_token_vectors_callback callback, void *context);

/** Types of quantized embeddings. */
typedef enum transom_precision TRANSOM_ENUM_TYPE {
  /** int8_t: the range of a number in 256 steps, from -128 on */
  TRANSOM_PRECISION_INT8 = 1,
  /** int8_t: one bit for each number that is above 0, the first the highest of
   * its byte; a byte is stored minus 128 */
  TRANSOM_PRECISION_BINARY = 2,
  /** uint8_t: the same bits, the byte as it is */
  TRANSOM_PRECISION_UBINARY = 3
} transom_precision;

/** Quantizes `embeddings` [count, size] as sentence-transformers does. `out` is
 * [count, size] bytes for int8, [count, ceil(size / 8)] for bits; `capacity` is
 * in bytes. For int8 `ranges` [2, size] has the smallest and the largest value
 * of each number; NULL: those of `embeddings`, of which there are 2 or more.
 * Values outside are taken for the nearest inside.
 * Errors: USAGE (`precision`, no ranges), LIMIT (`capacity`). */
TRANSOM_API transom_status
transom_quantize_embeddings(const float *embeddings, size_t count, size_t size,
                            transom_precision precision, const float *ranges,
                            void *out, size_t capacity);

/** Classifies texts, or pairs of texts. `pairs` and the `data` of a pair may be
 * NULL. `scores` is [count, num_labels], dense; `capacity` is its size in
 * bytes. Scores are probabilities (softmax, or sigmoid for a multi-label head);
 * for a regression head they are the values. `truncated`, scores after an error
 * and errors: as transom_session_embed(). */
TRANSOM_API transom_status transom_session_classify(transom_session *session,
                                                    const transom_text *texts,
                                                    const transom_text *pairs,
                                                    size_t count, float *scores,
                                                    size_t capacity,
                                                    size_t *truncated);

/** Classifies the tokens of one text. `tokens` is [count] as from
 * transom_model_tokenize(), `scores` is [count, num_labels]; their capacities
 * are in bytes. `count` and `truncated` are set also if they do not fit, which
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
