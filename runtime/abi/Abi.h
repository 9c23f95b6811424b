/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The versioned structs that generated code and the runtime share. Generated
 * code reads the frame and writes the arena, the results and the symbols that
 * are set during the call. It never waits and has no calls. The runtime runs an
 * entry's dispatches sequentially, each on all workers.
 */
#ifndef TRANSOM_RUNTIME_ABI_ABI_H
#define TRANSOM_RUNTIME_ABI_ABI_H
#include "runtime/abi/Layout.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every incompatible change to the structs below or the manifest.
 */
#define TRANSOM_ABI_VERSION 7

/* One sequence in a ragged batch. Its tokens are consecutive in ragged tensors.
 * Attention uses the first num_keys tokens as keys; a token after them (a first
 * column that is persistent although the mask hides it) is only a query. In a
 * decode step all tokens are new and follow `past` cached positions, and
 * num_keys is past + num_tokens. */
typedef struct transom_sequence {
  int64_t first_token; /* first token index in ragged tensors */
  int64_t num_tokens;  /* token count */
  int64_t num_keys;    /* tokens that are keys: <= num_tokens, or past +
                          num_tokens */
  int64_t key_base;    /* its first position in key panels, a multiple of 32 */
  int64_t column0_token; /* token in column 0, -1 without one */
  int64_t past;          /* positions that are in the cache already */
  int64_t first_block;   /* its first entry in each block table */
} transom_sequence;

/* Ragged batch metadata. token_sequence, token_column and token_key have
 * num_tokens entries. */
typedef struct transom_ragged_batch {
  int64_t num_sequences; /* sequence count */
  int64_t columns;       /* columns in the caller's batch */
  int64_t num_tokens;    /* token count */
  int64_t key_positions; /* positions in key panels, <= num_tokens + 31 *
                            num_sequences rounded up to 32 */
  const transom_sequence *sequences; /* [num_sequences] */
  const int32_t *token_sequence;     /* [num_tokens] sequence index */
  const int32_t *token_column;       /* [num_tokens] column in the caller's
                                        batch; in a step its position */
  const int64_t *token_key;          /* [num_tokens] position in key panels */
} transom_ragged_batch;

/* The block table for one cache group. Entry first_block + p /
 * TRANSOM_KV_BLOCK_SIZE points to the block that contains a sequence's position
 * p. Blocks are 64-byte aligned; an entry is NULL if its positions are no
 * longer read. */
typedef struct transom_kv_cache {
  char *const *block_table;
} transom_kv_cache;

/* The memory that a phase accesses. */
typedef struct transom_frame {
  char *arena;            /* planned buffers and scratch */
  const char *weights;    /* packed weights */
  int64_t *symbols;       /* entry symbol values */
  const int64_t *offsets; /* byte offsets of planned buffers in the arena */
  /* Inputs, then results, dense row-major. In a step, the logits summaries
   * `maxima` and `sums` may be NULL: both, or only `sums`. */
  void *const *args;
  const transom_ragged_batch
      *ragged_batches;            /* [ragged batches in the entry] */
  int64_t *counters;              /* words, zero before and after each phase */
  const transom_kv_cache *caches; /* [cache groups in the model] */
} transom_frame;

/* Computes one worker's share of a phase. `layer` is the layer's entry: weight
 * offsets in bytes, and cache offsets within blocks; NULL outside layers.
 * Workers may run in any order and concurrently. */
typedef void (*transom_phase)(const transom_frame *frame, const int64_t *layer,
                              int64_t worker, int64_t num_workers);

/* One dispatch in an entry. `phase` is the phase index, or -1 - i for library
 * call i in the entry's manifest; `layer` is the first index of its layer's
 * entry in `layers`, or -1 outside layers.
 *
 * A nonzero `head_ranges` marks an attention phase after the GEMM that computes
 * its operands; the heads are split into this many equal ranges. No
 * barrier between both dispatches is needed, because each worker reads only its
 * own results, if the ragged batch `ragged_batch` has one sequence, no worker
 * owns its tokens (`ownsRows` in Layout.h), and `head_ranges` is a multiple of
 * the worker count. 0: always a barrier. */
typedef struct transom_dispatch {
  int32_t phase;
  int32_t layer;
  int32_t head_ranges;
  int32_t ragged_batch;
} transom_dispatch;

typedef struct transom_entry_code {
  const char *name;
  const transom_dispatch *dispatches;
  int64_t num_dispatches;
} transom_entry_code;

/* All phases for one instruction set. */
typedef struct transom_isa_code {
  const char *name;            /* "avx2", "avx512", ... */
  const transom_phase *phases; /* [num_phases] */
} transom_isa_code;

/* The symbol `transom_artifact` that the shared object exports. */
typedef struct transom_artifact_code {
  uint32_t abi; /* TRANSOM_ABI_VERSION */
  uint32_t num_isas;
  const transom_isa_code *isas;
  int64_t num_phases;
  uint32_t num_entries;
  uint32_t reserved;
  const transom_entry_code *entries;
  const int64_t *layers; /* the layers' entries */
  const char *weights;   /* packed weights */
} transom_artifact_code;

#ifdef __cplusplus
}
#endif
#endif
