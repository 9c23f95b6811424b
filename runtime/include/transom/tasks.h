/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tasks on texts: token classification into spans, named entities, mask
 * filling, reranking, question answering and zero-shot classification.
 */
#ifndef TRANSOM_TASKS_H
#define TRANSOM_TASKS_H
#include "transom/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How labeled tokens are merged into spans: the `aggregation_strategy` in
 * transformers. A span ends where the label changes, ignoring the prefixes `B-`
 * and `I-`, and before a label with `B-`. */
typedef enum transom_span_merge TRANSOM_ENUM_TYPE {
  /** each token is a span */
  TRANSOM_SPAN_MERGE_NONE = 0,
  /** tokens are merged by their own labels */
  TRANSOM_SPAN_MERGE_SIMPLE = 1,
  /** words are merged; a word has the label of its first token */
  TRANSOM_SPAN_MERGE_FIRST = 2,
  /** words are merged; a word has the label with the largest mean score */
  TRANSOM_SPAN_MERGE_AVERAGE = 3,
  /** words are merged; a word has the label of its highest-scoring token */
  TRANSOM_SPAN_MERGE_MAX = 4
} transom_span_merge;

/** A labeled part of a text. */
typedef struct transom_span {
  /** label index of its first part, as in transom_model_label() */
  size_t label;
  /** mean score over its tokens or words */
  float score;
  /** offset of its first byte in the text */
  size_t begin;
  /** offset after its last byte */
  size_t end;
  /** its first token, an index into the tokens from transom_model_tokenize() */
  size_t token_begin;
  /** index after its last token */
  size_t token_end;
} transom_span;

/** Labels spans in a text with a token classification model. Each token is in a
 * span, except special tokens; tokens with the label for no entity (`O`) are
 * included. `spans` is [count]; `capacity` is its size in bytes; a text has at
 * most one span per token. `count` and `truncated` are also set if the spans do
 * not fit, which is LIMIT. `truncated` (may be NULL) is set to 1 if the text
 * was truncated, else to 0. Errors: USAGE, REJECTED (not UTF-8), UNSUPPORTED
 * (the model does not classify tokens), LIMIT, CANCELLED. */
TRANSOM_API transom_status transom_session_tag(transom_session *session,
                                               const transom_text *text,
                                               transom_span_merge merge,
                                               transom_span *spans,
                                               size_t capacity, size_t *count,
                                               uint32_t *truncated);

/** A named entity in a text. */
typedef struct transom_entity {
  /** index of its type in the caller's `types` */
  size_t type;
  /** type probability, below 1 */
  float score;
  /** offset of its first byte in the text */
  size_t begin;
  /** offset after its last byte */
  size_t end;
} transom_entity;

/** Options for transom_session_find_entities(). */
typedef struct transom_entity_options {
  /** set by transom_entity_options_default() */
  size_t struct_size;
  /** minimum score, exclusive; in [0, 1]; default: 0.5 */
  double threshold;
  /** 1: entities may be nested; 0: entities do not overlap */
  uint32_t nested;
  /** 1: an entity may have several types */
  uint32_t multi_label;
} transom_entity_options;

/** Initializes options of `struct_size` bytes, as
 * transom_entity_options_default() does. */
TRANSOM_API void transom_entity_options_init(transom_entity_options *options,
                                             size_t struct_size);

/** Returns the default options. */
static inline transom_entity_options transom_entity_options_default(void) {
  transom_entity_options options;
  transom_entity_options_init(&options, sizeof options);
  return options;
}

/** Finds named entities in a text with a GLiNER model. `types` are entity types
 * given as texts, such as `person`; duplicates count once. The entities are
 * ordered by their first words. `entities` is [count]; `capacity` is its size
 * in bytes. `count` and `truncated` are also set if the entities do not fit,
 * which is LIMIT. `truncated` (may be NULL) is set to 1 if the text or the
 * types were truncated, else to 0. Errors: USAGE (no types, an empty type, or a
 * threshold out of range), REJECTED (not UTF-8), UNSUPPORTED (the model takes
 * no types), LIMIT, CANCELLED. */
TRANSOM_API transom_status transom_session_find_entities(
    transom_session *session, const transom_text *text,
    const transom_text *types, size_t num_types,
    const transom_entity_options *options, transom_entity *entities,
    size_t capacity, size_t *count, uint32_t *truncated);

/** Receives the entities in the text with index `text`, which are valid until
 * it returns; `truncated` is 1 if the text or the types were truncated. It may
 * call transom_session_cancel() but no other function on the session. */
typedef void (*transom_entities_callback)(void *context, size_t text,
                                          const transom_entity *entities,
                                          size_t count, uint32_t truncated);

/** Finds entities in texts in batches, like transom_session_find_entities();
 * scores have the same bits. `callback` is called once for each text, in any
 * order.
 * Errors: as transom_session_find_entities(). After an error, the callback may
 * not have been called for some texts. */
TRANSOM_API transom_status transom_session_find_entities_batch(
    transom_session *session, const transom_text *texts, size_t count,
    const transom_text *types, size_t num_types,
    const transom_entity_options *options, transom_entities_callback callback,
    void *context);

/** A token that replaces a mask. */
typedef struct transom_fill {
  /** id in the vocabulary */
  int64_t id;
  /** its probability over all ids */
  float score;
} transom_fill;

/** Options for transom_session_fill_masks(). */
typedef struct transom_fill_options {
  /** set by transom_fill_options_default() */
  size_t struct_size;
  /** maximum number of fills per mask; 0: 5 */
  size_t top_k;
  /** the ids to choose from; NULL: the whole vocabulary */
  const int64_t *targets;
  /** length of `targets` */
  size_t num_targets;
} transom_fill_options;

/** Initializes options of `struct_size` bytes, as
 * transom_fill_options_default() does. */
TRANSOM_API void transom_fill_options_init(transom_fill_options *options,
                                           size_t struct_size);

/** Returns the default options. */
static inline transom_fill_options transom_fill_options_default(void) {
  transom_fill_options options;
  transom_fill_options_init(&options, sizeof options);
  return options;
}

/** Fills the mask tokens in a text with a masked language model. `fills` is
 * [num_masks, num_fills], best first; `masks` is [num_masks]: indices into the
 * tokens from transom_model_tokenize(). Their capacities are in bytes.
 * `num_masks`, `num_fills` (per mask) and `truncated` are also set if the fills
 * do not fit, which is LIMIT. `truncated` as in transom_session_tag().
 * Errors: as transom_session_tag(); also REJECTED if the text has no mask
 * token. */
TRANSOM_API transom_status transom_session_fill_masks(
    transom_session *session, const transom_text *text,
    const transom_fill_options *options, transom_fill *fills,
    size_t fills_capacity, size_t *masks, size_t masks_capacity,
    size_t *num_masks, size_t *num_fills, uint32_t *truncated);

/** Compares each embedding with each of `others` by the model's similarity
 * function: cosine unless its files specify another. Larger is closer;
 * distances are negated. `embeddings` is [count, size], `others` is
 * [num_others, size], `similarities` is [count, num_others], all dense;
 * `capacity` is the size of `similarities` in bytes. Errors: USAGE, LIMIT
 * (`capacity`). */
TRANSOM_API transom_status
transom_model_similarity(const transom_model *model, const float *embeddings,
                         size_t count, const float *others, size_t num_others,
                         size_t size, float *similarities, size_t capacity);

/** Scores how well each document answers a query; larger is better. `scores` is
 * [count]; `capacity` is its size in bytes. A sequence classification model
 * with one label reads the query and each document as a pair: the score is the
 * sigmoid of the logit, or the logit if the model's files specify it. A causal
 * language model with the module LogitScore scores pairs by the logits of
 * tokens such as yes and no. An embedding model compares embeddings; a token
 * embedding model sums, over the query tokens, the maximum similarity with a
 * document token. `truncated` (may be NULL) is set to the number of truncated
 * texts. After an error some scores may be written. Errors: as
 * transom_session_tag(). */
TRANSOM_API transom_status transom_session_rerank(transom_session *session,
                                                  const transom_text *query,
                                                  const transom_text *documents,
                                                  size_t count, float *scores,
                                                  size_t capacity,
                                                  size_t *truncated);

/** Options for transom_session_rerank_prompted(). */
typedef struct transom_rerank_options {
  /** set by transom_rerank_options_default() */
  size_t struct_size;
  /** name of a prompt in the model's files; NULL (default): the default prompt
   * for models that read pairs, the prompt named query for embedding models */
  const char *prompt_name;
  /** a prompt, such as a reranker's instruction; NULL (default): `prompt_name`.
   * It is inserted as the model's template specifies, else before the query */
  const char *prompt;
} transom_rerank_options;

/** Initializes options of `struct_size` bytes, as
 * transom_rerank_options_default() does. */
TRANSOM_API void transom_rerank_options_init(transom_rerank_options *options,
                                             size_t struct_size);

/** Returns the default options. */
static inline transom_rerank_options transom_rerank_options_default(void) {
  transom_rerank_options options;
  transom_rerank_options_init(&options, sizeof options);
  return options;
}

/** Scores documents like transom_session_rerank(), with a prompt. `options` may
 * be NULL. Errors: as transom_session_rerank(); also USAGE for a prompt that
 * the model does not have. */
TRANSOM_API transom_status transom_session_rerank_prompted(
    transom_session *session, const transom_text *query,
    const transom_text *documents, size_t count,
    const transom_rerank_options *options, float *scores, size_t capacity,
    size_t *truncated);

/** Options for transom_session_answer(). */
typedef struct transom_answer_options {
  /** set by transom_answer_options_default() */
  size_t struct_size;
  /** maximum number of answers; 0: 1 */
  size_t top_k;
  /** maximum answer length in tokens, before extension to whole words; 0: 15 */
  size_t max_answer_tokens;
  /** maximum window length in tokens, including the question; 0: 384, or the
   * model's maximum if smaller */
  size_t window;
  /** context tokens that neighboring windows share; default:
   * TRANSOM_FROM_MODEL, 128 or half a window if smaller */
  int64_t overlap;
  /** 1: the empty answer, from 0 to 0, is a candidate: no answer exists */
  uint32_t may_be_impossible;
  /** 1: answers may begin and end within words */
  uint32_t cut_words;
} transom_answer_options;

/** Initializes options of `struct_size` bytes, as
 * transom_answer_options_default() does. */
TRANSOM_API void transom_answer_options_init(transom_answer_options *options,
                                             size_t struct_size);

/** Returns the default options. */
static inline transom_answer_options transom_answer_options_default(void) {
  transom_answer_options options;
  transom_answer_options_init(&options, sizeof options);
  return options;
}

/** A part of a context that answers a question. */
typedef struct transom_answer {
  /** its probability, summed over equal answers */
  float score;
  /** offset of its first byte in the context */
  size_t begin;
  /** offset after its last byte */
  size_t end;
} transom_answer;

/** Answers a question with parts of a context, best first, with a question
 * answering model. A context longer than a window is read in overlapping
 * windows. `answers` is [count]; `capacity` is its size in bytes. `count` is
 * also set if the answers do not fit, which is LIMIT.
 * Errors: as transom_session_tag(); also LIMIT if the question fills a window.
 */
TRANSOM_API transom_status transom_session_answer(
    transom_session *session, const transom_text *question,
    const transom_text *context, const transom_answer_options *options,
    transom_answer *answers, size_t capacity, size_t *count);

/** Scores hypotheses about a text with a natural language inference model,
 * which has a label that begins with `entail`. The score is the entailment
 * probability over all hypotheses or, if `independent` is 1 or there is one
 * hypothesis, against contradiction. `scores` is [count]; `capacity` is its
 * size in bytes. `truncated` as in transom_session_tag(). After an error some
 * scores may be written. Errors: as transom_session_tag(). */
TRANSOM_API transom_status transom_session_zero_shot(
    transom_session *session, const transom_text *text,
    const transom_text *hypotheses, size_t count, uint32_t independent,
    float *scores, size_t capacity, uint32_t *truncated);

#ifdef __cplusplus
}
#endif
#endif
