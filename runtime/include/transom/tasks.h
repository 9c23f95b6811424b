/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tasks on texts: labelled spans, masks that are filled in, documents in the
 * order of their relevance, labels without training, answers to questions.
 */
#ifndef TRANSOM_TASKS_H
#define TRANSOM_TASKS_H
#include "transom/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How labelled tokens become spans: the `aggregation_strategy` of
 * transformers. A span ends where the label changes, `B-` and `I-` before it
 * left aside, and before a label with `B-`. */
typedef enum transom_span_merge TRANSOM_ENUM_TYPE {
  /** each token is a span */
  TRANSOM_SPAN_MERGE_NONE = 0,
  /** tokens are merged by their own labels */
  TRANSOM_SPAN_MERGE_SIMPLE = 1,
  /** words are merged; a word has the label of its first token */
  TRANSOM_SPAN_MERGE_FIRST = 2,
  /** words are merged; a word has the label of the largest mean score */
  TRANSOM_SPAN_MERGE_AVERAGE = 3,
  /** words are merged; a word has the label of its token of the largest score
   */
  TRANSOM_SPAN_MERGE_MAX = 4
} transom_span_merge;

/** A part of a text and its label. */
typedef struct transom_span {
  /** index of the label of its first part, as in transom_model_label() */
  size_t label;
  /** mean of the scores of its tokens or words */
  float score;
  /** offset of its first byte in the text */
  size_t begin;
  /** offset after its last byte */
  size_t end;
  /** its first token, an index of what transom_model_tokenize() gives */
  size_t token_begin;
  /** after its last token */
  size_t token_end;
} transom_span;

/** Labels the spans of a text with a token classification model. All tokens but
 * special ones are in a span, also those whose label means that there is
 * nothing (`O`). `spans` is [count]; `capacity` is its size in bytes; a text
 * has at most as many spans as tokens. `count` and `truncated` are set also if
 * they do not fit, which is LIMIT. `truncated` (may be NULL) is set to 1 if the
 * text was truncated, else to 0. Errors: USAGE, REJECTED (not UTF-8),
 * UNSUPPORTED (the model does not classify tokens), LIMIT, CANCELLED. */
TRANSOM_API transom_status transom_session_tag(transom_session *session,
                                               const transom_text *text,
                                               transom_span_merge merge,
                                               transom_span *spans,
                                               size_t capacity, size_t *count,
                                               uint32_t *truncated);

/** A named entity of a text. */
typedef struct transom_entity {
  /** index of its type among those that were given */
  size_t type;
  /** probability of the type, below 1 */
  float score;
  /** offset of its first byte in the text */
  size_t begin;
  /** offset after its last byte */
  size_t end;
} transom_entity;

/** Options of transom_session_find_entities(). */
typedef struct transom_entity_options {
  /** set by transom_entity_options_default() */
  size_t struct_size;
  /** entities have larger scores; from 0 to 1; default: 0.5 */
  double threshold;
  /** 1: an entity may lie in another; else entities do not overlap */
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

/** Finds the named entities of a text whose types are given as texts, such as
 * `person`, with a GLiNER model, in the order of their first words. A type that
 * is given twice counts once. `entities` is [count]; `capacity` is its size in
 * bytes. `count` and `truncated` are set also if they do not fit, which is
 * LIMIT. `truncated` (may be NULL) is set to 1 if the text or the types were
 * truncated, else to 0.
 * Errors: USAGE (no type, an empty one, or a threshold out of range), REJECTED
 * (not UTF-8), UNSUPPORTED (the model takes no types), LIMIT, CANCELLED. */
TRANSOM_API transom_status transom_session_find_entities(
    transom_session *session, const transom_text *text,
    const transom_text *types, size_t num_types,
    const transom_entity_options *options, transom_entity *entities,
    size_t capacity, size_t *count, uint32_t *truncated);

/** Receives the entities of a text by its index, which are valid until it
 * returns; `truncated` is 1 if the text or the types were truncated. It may
 * call transom_session_cancel() and no other function on the session. */
typedef void (*transom_entities_callback)(void *context, size_t text,
                                          const transom_entity *entities,
                                          size_t count, uint32_t truncated);

/** Finds the entities of texts in batches, as transom_session_find_entities()
 * does those of one; scores have the same bits. `callback` is called once for
 * each text, in any order.
 * Errors: as transom_session_find_entities(). After an error texts may be
 * missing. */
TRANSOM_API transom_status transom_session_find_entities_batch(
    transom_session *session, const transom_text *texts, size_t count,
    const transom_text *types, size_t num_types,
    const transom_entity_options *options, transom_entities_callback callback,
    void *context);

/** A token in place of a mask. */
typedef struct transom_fill {
  /** id in the vocabulary */
  int64_t id;
  /** its probability among all ids */
  float score;
} transom_fill;

/** Options of transom_session_fill_masks(). */
typedef struct transom_fill_options {
  /** set by transom_fill_options_default() */
  size_t struct_size;
  /** the number of fills of a mask at most; 0: 5 */
  size_t top_k;
  /** the ids to choose from; NULL: all of the vocabulary */
  const int64_t *targets;
  /** number of `targets` */
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

/** Fills the mask tokens of a text with a masked language model. `fills` is
 * [num_masks, num_fills], best first, `masks` is [num_masks]: indices of what
 * transom_model_tokenize() gives. Their capacities are in bytes. `num_masks`,
 * `num_fills` (of each mask) and `truncated` are set also if they do not fit,
 * which is LIMIT. `truncated` as in transom_session_tag().
 * Errors: as transom_session_tag(); REJECTED also if the text has no mask
 * token. */
TRANSOM_API transom_status transom_session_fill_masks(
    transom_session *session, const transom_text *text,
    const transom_fill_options *options, transom_fill *fills,
    size_t fills_capacity, size_t *masks, size_t masks_capacity,
    size_t *num_masks, size_t *num_fills, uint32_t *truncated);

/** Compares each of some embeddings with each of others by the model's
 * similarity function: cosine unless its files name another. Larger is closer;
 * distances are negative. `embeddings` is [count, size], `others` is
 * [num_others, size], `similarities` is [count, num_others], all dense;
 * `capacity` is the size of `similarities` in bytes.
 * Errors: USAGE, LIMIT (`capacity`). */
TRANSOM_API transom_status
transom_model_similarity(const transom_model *model, const float *embeddings,
                         size_t count, const float *others, size_t num_others,
                         size_t size, float *similarities, size_t capacity);

/** Scores documents by how well they answer a query; larger is better.
 * `scores` is [count]; `capacity` is its size in bytes. A sequence
 * classification model with one label reads the query and each document as a
 * pair: its score is the logit's sigmoid, or the logit where the model's files
 * say so. A causal language model with the module LogitScore scores likewise by
 * the logits of tokens such as yes and no. An embedding model compares
 * embeddings, and one that embeds tokens adds up each query token's closest
 * token of the document. `truncated` (may be NULL) is set to the number of
 * texts that were truncated. Some scores may be written after an error.
 * Errors: as transom_session_tag(). */
TRANSOM_API transom_status transom_session_rerank(transom_session *session,
                                                  const transom_text *query,
                                                  const transom_text *documents,
                                                  size_t count, float *scores,
                                                  size_t capacity,
                                                  size_t *truncated);

/** Options of transom_session_rerank_prompted(). */
typedef struct transom_rerank_options {
  /** set by transom_rerank_options_default() */
  size_t struct_size;
  /** the name of one of the model's prompts; NULL (default): the default prompt
   * of a model of pairs, of an embedding model the prompt named query */
  const char *prompt_name;
  /** a prompt, such as the instruction of a reranker; NULL (default):
   * `prompt_name`. It is put where the model's template has it, else before
   * the query */
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

/** Scores documents as transom_session_rerank() does, with a prompt. `options`
 * may be NULL. Errors: as transom_session_rerank(); USAGE also for a prompt
 * that the model does not have. */
TRANSOM_API transom_status transom_session_rerank_prompted(
    transom_session *session, const transom_text *query,
    const transom_text *documents, size_t count,
    const transom_rerank_options *options, float *scores, size_t capacity,
    size_t *truncated);

/** Options of transom_session_answer(). */
typedef struct transom_answer_options {
  /** set by transom_answer_options_default() */
  size_t struct_size;
  /** the number of answers at most; 0: 1 */
  size_t top_k;
  /** tokens of an answer at most, before words are made whole; 0: 15 */
  size_t max_answer_tokens;
  /** tokens of a window at most, question included; 0: 384, or the model's
   * maximum if that is less */
  size_t window;
  /** tokens of the context that neighbouring windows share; default:
   * TRANSOM_FROM_MODEL, 128 or half a window if that is less */
  int64_t overlap;
  /** 1: that there is no answer is an answer, from 0 to 0 */
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
  /** its probability; those of one text are added up */
  float score;
  /** offset of its first byte in the context */
  size_t begin;
  /** offset after its last byte */
  size_t end;
} transom_answer;

/** Answers a question with parts of a context, best first, by a question
 * answering model. A context that is longer than a window is read in several
 * that overlap. `answers` is [count]; `capacity` is its size in bytes. `count`
 * is set also if they do not fit, which is LIMIT.
 * Errors: as transom_session_tag(); LIMIT also if the question fills a window.
 */
TRANSOM_API transom_status transom_session_answer(
    transom_session *session, const transom_text *question,
    const transom_text *context, const transom_answer_options *options,
    transom_answer *answers, size_t capacity, size_t *count);

/** Scores hypotheses about a text with a model of natural language inference,
 * one that has a label that begins with `entail`. The score is the probability
 * of entailment among all hypotheses or, if `independent` is 1 or there is one
 * hypothesis, against contradiction. `scores` is [count]; `capacity` is its
 * size in bytes. `truncated` as in transom_session_tag(). Some scores may be
 * written after an error. Errors: as transom_session_tag(). */
TRANSOM_API transom_status transom_session_zero_shot(
    transom_session *session, const transom_text *text,
    const transom_text *hypotheses, size_t count, uint32_t independent,
    float *scores, size_t capacity, uint32_t *truncated);

#ifdef __cplusplus
}
#endif
#endif
