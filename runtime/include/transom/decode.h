/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decoding step by step: sequences of tokens in the KV cache of a session.
 *
 * These functions return USAGE for a sequence that does not exist and for a
 * model without a decoder. On error the session is unchanged, as after a lack
 * of memory (UNAVAILABLE).
 */
#ifndef TRANSOM_DECODE_H
#define TRANSOM_DECODE_H
#include "transom/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Properties of a session's decoder. */
typedef struct transom_decoder_info {
  /** set by transom_decoder_info_default() */
  size_t struct_size;
  /** maximum number of tokens of a sequence; 0 if the model has no limit */
  int64_t context;
  /** token ids are below it */
  int64_t vocabulary;
  /** floats of the logits of one token */
  int64_t width;
  /** sequences of the session */
  int64_t max_sequences;
  /** sequences that are not in use */
  int64_t free_sequences;
  /** tokens that fit into the blocks of the cache */
  int64_t positions;
  /** tokens that fit into its free blocks */
  int64_t free_positions;
  /** of an encoder-decoder: maximum number of tokens of a source; else 0 */
  int64_t max_source;
  /** tokens of sources that fit into the free blocks of their cache */
  int64_t free_source_positions;
  /** the token that a target begins with; -1 if the model is not an
   * encoder-decoder or its files do not name one */
  int64_t start_id;
} transom_decoder_info;

/** Initializes an info struct of `struct_size` bytes, as
 * transom_decoder_info_default() does. */
TRANSOM_API void transom_decoder_info_init(transom_decoder_info *info,
                                           size_t struct_size);

/** Returns an info struct to be filled in. */
static inline transom_decoder_info transom_decoder_info_default(void) {
  transom_decoder_info info;
  transom_decoder_info_init(&info, sizeof info);
  return info;
}

/** Fills in the properties of a session's decoder. */
TRANSOM_API transom_status transom_session_get_decoder(
    const transom_session *session, transom_decoder_info *info);

/** Creates an empty sequence. Errors: LIMIT (all max_sequences are in use). The
 * sequences of an encoder-decoder come from transom_session_add_sources(). */
TRANSOM_API transom_status transom_sequence_create(transom_session *session,
                                                   int32_t *sequence);

/** A prompt: ids or a text; of an encoder-decoder its source. If both are
 * empty, the prompt of a decoder is the model's begin token; a source is not
 * empty. */
typedef struct transom_prompt {
  /** ids; if NULL, `text` is the prompt */
  const int64_t *ids;
  /** number of ids */
  size_t num_ids;
  /** text, if `ids` is NULL */
  transom_text text;
} transom_prompt;

/** Encodes sources of an encoder-decoder, and creates an empty sequence for
 * each, whose tokens are those of the target: it begins with the token
 * `start_id` of transom_decoder_info. `sequences` is [count]. A text gets the
 * special tokens of a source, and is not truncated. Copies of a sequence share
 * its source. The logits of a sequence have the same bits whatever other
 * sources are in the call. On error no sequence is created.
 * Errors: USAGE (not an encoder-decoder), REJECTED (a source without tokens,
 * ids out of range, text that is not UTF-8), LIMIT (a source of more than
 * `max_source` tokens, no free sequences, no room for sources in the cache),
 * UNSUPPORTED (a text without a tokenizer), CANCELLED. */
TRANSOM_API transom_status transom_session_add_sources(
    transom_session *session, const transom_prompt *sources, size_t count,
    int32_t *sequences);

/** Frees a sequence and its blocks of the cache. A later sequence may get the
 * same number. */
TRANSOM_API transom_status transom_sequence_free(transom_session *session,
                                                 int32_t sequence);

/** Creates a copy of a sequence. The two share blocks of the cache; a block is
 * copied when one of them writes to it. LIMIT if all max_sequences are in use.
 */
TRANSOM_API transom_status transom_sequence_copy(transom_session *session,
                                                 int32_t sequence,
                                                 int32_t *copy);

/** Gets the number of tokens of a sequence. */
TRANSOM_API transom_status transom_sequence_length(
    const transom_session *session, int32_t sequence, int64_t *length);

/** Removes all tokens of a sequence but the first `length`. Errors: USAGE
 * (`length` is negative or larger than the sequence's), LIMIT (a sliding window
 * has dropped tokens that would be needed again). A rewind to 0 always
 * succeeds. So does a rewind to the length before the last step, unless that
 * step was split (max_tokens), the cache was full or the sequence was loaded
 * since. */
TRANSOM_API transom_status transom_sequence_rewind(transom_session *session,
                                                   int32_t sequence,
                                                   int64_t length);

/** Writes a sequence to a file: to `path` with the suffix `.partial`, which is
 * renamed when it is complete. On error no file is written and an older one
 * stays. UNAVAILABLE if it cannot be written, or is being written by another
 * call. */
TRANSOM_API transom_status transom_sequence_save(const transom_session *session,
                                                 int32_t sequence,
                                                 const char *path);

/** Creates a sequence from a file that the same model, compiled by the same
 * version, has saved. Errors: REJECTED (file of another model, or damaged),
 * LIMIT (no free sequence or block), UNAVAILABLE (cannot be read). */
TRANSOM_API transom_status transom_sequence_load(transom_session *session,
                                                 const char *path,
                                                 int32_t *sequence);

/** New tokens of one sequence. */
typedef struct transom_step_input {
  /** the sequence; at most once in a step */
  int32_t sequence;
  /** token ids, [num_tokens] */
  const int64_t *tokens;
  /** number of tokens, at least 1 */
  int64_t num_tokens;
  /** compute the logits of the last num_logits tokens, 0 to num_tokens */
  int64_t num_logits;
} transom_step_input;

/** Appends tokens to sequences and computes logits. `logits` is [sum of
 * num_logits, width], in the order of `inputs`; `capacity` is its size in
 * bytes. The logits of a token have the same bits however its sequence was
 * split into steps and whatever else is in the step; if the logits of a token
 * are not finite, those of other tokens of the step may not be either.
 * Allocates no memory. Errors: USAGE (NULL arrays), REJECTED (no tokens, ids
 * out of range, a sequence twice), LIMIT (more inputs than max_sequences, over
 * the model's context, the cache is full, or `capacity` is too small),
 * CANCELLED (the sequences are unchanged, `logits` may be written).
 */
TRANSOM_API transom_status
transom_session_step(transom_session *session, const transom_step_input *inputs,
                     size_t count, float *logits, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
