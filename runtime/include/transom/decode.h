/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Incremental decoding: token sequences in a session's KV cache.
 *
 * These functions return USAGE for a sequence that does not exist and for a
 * model without a decoder. On error, including failed allocations
 * (UNAVAILABLE), the session is unchanged.
 */
#ifndef TRANSOM_DECODE_H
#define TRANSOM_DECODE_H
#include "transom/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Decoder properties of a session. */
typedef struct transom_decoder_info {
  /** set by transom_decoder_info_default() */
  size_t struct_size;
  /** maximum sequence length in tokens; 0 if the model has no limit */
  int64_t context;
  /** vocabulary size: token ids are in [0, vocabulary) */
  int64_t vocabulary;
  /** logits per token */
  int64_t width;
  /** maximum number of sequences in the session */
  int64_t max_sequences;
  /** free sequences in the session */
  int64_t free_sequences;
  /** cache capacity in tokens */
  int64_t positions;
  /** capacity of the free cache blocks, in tokens */
  int64_t free_positions;
  /** (encoder-decoders) maximum source length in tokens; else 0 */
  int64_t max_source;
  /** (encoder-decoders) capacity of the free source cache blocks, in tokens */
  int64_t free_source_positions;
  /** first token of a target; -1 if the model is not an encoder-decoder or its
   * files do not specify one */
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

/** Fills in the decoder properties. */
TRANSOM_API transom_status transom_session_get_decoder(
    const transom_session *session, transom_decoder_info *info);

/** Creates an empty sequence. Errors: LIMIT (all max_sequences are in use). For
 * an encoder-decoder, transom_session_add_sources() creates sequences. */
TRANSOM_API transom_status transom_sequence_create(transom_session *session,
                                                   int32_t *sequence);

/** A prompt, or an encoder-decoder's source, as ids or text. An empty
 * prompt stands for the model's begin token; a source must not be empty. */
typedef struct transom_prompt {
  /** ids; if NULL, `text` is the prompt */
  const int64_t *ids;
  /** id count */
  size_t num_ids;
  /** text, if `ids` is NULL */
  transom_text text;
} transom_prompt;

/** Encodes sources with an encoder-decoder and creates an empty sequence for
 * each. The sequence contains the target tokens and begins with the token
 * `start_id` of transom_decoder_info. `sequences` is [count]. A source given as
 * text gets the special tokens for sources and is not truncated. Copies of a
 * sequence share its source. Other sources in the call do not change the bits
 * in a sequence's logits. On error no sequence is created.
 * Errors: USAGE (not an encoder-decoder), REJECTED (a source without tokens,
 * ids out of range, text that is not UTF-8), LIMIT (a source longer than
 * `max_source` tokens, no free sequences, no free source cache blocks),
 * UNSUPPORTED (text without a tokenizer), CANCELLED. */
TRANSOM_API transom_status transom_session_add_sources(
    transom_session *session, const transom_prompt *sources, size_t count,
    int32_t *sequences);

/** Frees a sequence and its cache blocks. Its id may be reused for a later
 * sequence. */
TRANSOM_API transom_status transom_sequence_free(transom_session *session,
                                                 int32_t sequence);

/** Creates a copy of a sequence. Both share cache blocks; a block is copied on
 * the first write to it. Errors: LIMIT (all max_sequences are in use). */
TRANSOM_API transom_status transom_sequence_copy(transom_session *session,
                                                 int32_t sequence,
                                                 int32_t *copy);

/** Gets the sequence length in tokens. */
TRANSOM_API transom_status transom_sequence_length(
    const transom_session *session, int32_t sequence, int64_t *length);

/** Truncates a sequence to its first `length` tokens. Errors: USAGE (`length`
 * is negative or larger than the sequence length), LIMIT (a sliding window has
 * dropped tokens that would be needed again). A rewind to 0 always succeeds. A
 * rewind to the length before the last step also succeeds, unless that step was
 * split (max_tokens), the cache was full or the sequence was loaded since. */
TRANSOM_API transom_status transom_sequence_rewind(transom_session *session,
                                                   int32_t sequence,
                                                   int64_t length);

/** Writes a sequence to a file. The data goes to `path` with the suffix
 * `.partial`, which is renamed once it is complete. On error no file is written
 * and an existing file stays unchanged. Errors: UNAVAILABLE (the file cannot be
 * written, or another call is writing it). */
TRANSOM_API transom_status transom_sequence_save(const transom_session *session,
                                                 int32_t sequence,
                                                 const char *path);

/** Creates a sequence from a file that was saved by the same model, compiled by
 * the same version. Errors: REJECTED (another model's file, or damaged), LIMIT
 * (no free sequence or block), UNAVAILABLE (the file cannot be read). */
TRANSOM_API transom_status transom_sequence_load(transom_session *session,
                                                 const char *path,
                                                 int32_t *sequence);

/** New tokens for one sequence. */
typedef struct transom_step_input {
  /** the sequence; at most once per step */
  int32_t sequence;
  /** token ids, [num_tokens] */
  const int64_t *tokens;
  /** token count, at least 1 */
  int64_t num_tokens;
  /** final tokens to compute logits for, 0 to num_tokens */
  int64_t num_logits;
} transom_step_input;

/** Appends tokens to sequences and computes logits. `logits` is [total
 * num_logits, width], in the order of `inputs`; `capacity` is its size in
 * bytes. A token's logits have the same bits however its sequence was split
 * into steps, and with any other sequences in the step; if one token's logits
 * are not finite, logits of other tokens in the step may not be either.
 * Allocates no memory. Errors: USAGE (NULL arrays), REJECTED (no tokens, ids
 * out of range, a sequence twice), LIMIT (more inputs than max_sequences, more
 * tokens than the model's context, a full cache, or `capacity` too small),
 * CANCELLED (the sequences are unchanged, `logits` may be written). */
TRANSOM_API transom_status
transom_session_step(transom_session *session, const transom_step_input *inputs,
                     size_t count, float *logits, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
