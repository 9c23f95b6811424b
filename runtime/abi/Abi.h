/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The structs that generated code and the runtime share, with a version.
 * Generated code reads the frame and writes the arena, the results and the
 * symbols that get their values during the call. It never waits and calls
 * nothing. The runtime runs the dispatches of an entry one after another, each
 * on all workers.
 */
#ifndef TRANSOM_RUNTIME_ABI_ABI_H
#define TRANSOM_RUNTIME_ABI_ABI_H
#include "runtime/abi/Layout.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every incompatible change of the structs below and of the
 * manifest. */
#define TRANSOM_ABI_VERSION 7

/* One sequence of a ragged batch. Its tokens are consecutive in ragged tensors.
 * Attention reads the first num_keys of them; a token after those (a kept first
 * column that the mask hides) is a query only. In a decode step the tokens are
 * new, they follow `past` cached positions, and num_keys is past + num_tokens.
 */
typedef struct transom_sequence {
  int64_t first_token; /* index of its first token in ragged tensors */
  int64_t num_tokens;  /* number of its tokens */
  int64_t num_keys;    /* tokens that are keys: <= num_tokens, or past +
                          num_tokens */
  int64_t key_base;    /* its first position in key panels, a multiple of 32 */
  int64_t column0_token; /* token of its column 0, -1 if it has none */
  int64_t past;          /* positions that are in the cache already */
  int64_t first_block;   /* its first entry in each block table */
} transom_sequence;

/* The table of a ragged batch. token_sequence, token_column and token_key have
 * num_tokens entries. */
typedef struct transom_ragged_batch {
  int64_t num_sequences; /* number of sequences */
  int64_t columns;       /* columns of the caller's batch */
  int64_t num_tokens;    /* number of tokens */
  int64_t key_positions; /* positions in key panels, <= num_tokens + 31 *
                            num_sequences rounded up to 32 */
  const transom_sequence *sequences; /* [num_sequences] */
  const int32_t *token_sequence;     /* [num_tokens] index of its sequence */
  const int32_t *token_column;       /* [num_tokens] column in the caller's
                                        batch; in a step its position */
  const int64_t *token_key;          /* [num_tokens] position in key panels */
} transom_ragged_batch;

/* The block table of one group of caches: entry first_block + p /
 * TRANSOM_KV_BLOCK_SIZE is the block of position p of a sequence. Blocks are
 * aligned to 64 bytes; an entry is NULL if its positions are not read any more.
 */
typedef struct transom_kv_cache {
  char *const *block_table;
} transom_kv_cache;

/* What a phase can reach. */
typedef struct transom_frame {
  char *arena;            /* planned buffers and scratch */
  const char *weights;    /* packed weights */
  int64_t *symbols;       /* values of the entry's symbols */
  const int64_t *offsets; /* byte offset in the arena of each planned buffer */
  /* Inputs, then results, dense row-major. The summary of a step's logits,
   * `maxima` and `sums`, may be NULL: both, or the sums. */
  void *const *args;
  const transom_ragged_batch
      *ragged_batches;            /* [ragged batches of the entry] */
  int64_t *counters;              /* zeroed words that phases leave zero */
  const transom_kv_cache *caches; /* [groups of the model's caches] */
} transom_frame;

/* Does the share of worker `worker` of `num_workers` of a phase. `layer` is the
 * layer's entry: byte offsets of its weights, and of its caches in their
 * blocks; NULL outside of layers. Workers may run in any order and
 * concurrently. */
typedef void (*transom_phase)(const transom_frame *frame, const int64_t *layer,
                              int64_t worker, int64_t num_workers);

/* One dispatch of an entry: the index of its phase, or -1 - i for call i of the
 * entry's library calls in the manifest; and the first index of its layer's
 * entry in `layers`, -1 for none.
 *
 * With `head_ranges` the phase is an attention after the product that makes its
 * operands, and the heads are this many ranges of equal size. Each worker reads
 * only what it made itself, and needs no barrier between both dispatches, if
 * the ragged batch `ragged_batch` has one sequence, whose tokens no worker owns
 * (`ownsRows` in Layout.h), and the ranges are a multiple of the workers. 0:
 * always a barrier. */
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

/* The phases of one instruction set. */
typedef struct transom_isa_code {
  const char *name;            /* "avx2", "avx512", ... */
  const transom_phase *phases; /* [num_phases] */
} transom_isa_code;

/* What the shared object exports, under the name `transom_artifact`. */
typedef struct transom_artifact_code {
  uint32_t abi; /* TRANSOM_ABI_VERSION */
  uint32_t num_isas;
  const transom_isa_code *isas;
  int64_t num_phases;
  uint32_t num_entries;
  uint32_t reserved;
  const transom_entry_code *entries;
  const int64_t *layers; /* the layers' entries */
  const char *weights;   /* start of the packed weights */
} transom_artifact_code;

#ifdef __cplusplus
}
#endif
#endif
