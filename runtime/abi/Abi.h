/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What generated code and the runtime share: plain C structs with a version.
 * Generated code reads the frame, writes the arena and results, waits for
 * nothing and calls nothing; the runtime walks the table of steps.
 */
#ifndef TRANSOM_RUNTIME_ABI_ABI_H
#define TRANSOM_RUNTIME_ABI_ABI_H
#include "runtime/abi/Layout.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every incompatible change of the structs below. */
#define TRANSOM_ABI_VERSION 2

/* One sequence of a ragged batch. Its rows stand together in ragged tensors.
 * The first `keys` of its rows are attended to; a row behind them (a kept
 * first column that the mask hides) only asks. In a step its rows are new ones
 * behind `past` others, and keys = past + rows, all of them in a cache. */
typedef struct transom_sequence {
  int64_t first_row;   /* index of its first row in ragged tensors */
  int64_t rows;        /* rows it has */
  int64_t keys;        /* rows that count as keys, <= rows; or past + rows */
  int64_t key_base;    /* first position in key panels, a multiple of 32 */
  int64_t column0_row; /* row of its column 0, -1 when it has none */
  int64_t past;        /* keys that stand in a cache already */
  int64_t first_block; /* its first entry in each table of blocks */
} transom_sequence;

/* The segments of a ragged tensor. row_sequence and row_column have `rows`
 * entries. */
typedef struct transom_segments {
  int64_t batch;         /* number of sequences */
  int64_t columns;       /* columns of the caller's batch */
  int64_t rows;          /* number of rows */
  int64_t key_positions; /* positions in key panels, <= rows + 31 * batch
                            rounded up to 32 */
  const transom_sequence *sequences; /* [batch] */
  const int32_t *row_sequence;       /* [rows] its sequence */
  const int32_t *row_column; /* [rows] its column in the caller's batch; in a
                                step its position in the sequence */
  const int64_t *row_key;    /* [rows] its position in key panels */
} transom_segments;

/* Where keys and values of the layers of one group lie: entry first_block + p /
 * TRANSOM_KV_BLOCK_SIZE holds position p of a sequence. Blocks are aligned to
 * 64 bytes; NULL where no position is read any more. */
typedef struct transom_cache {
  char *const *blocks;
} transom_cache;

/* All that a phase can reach. */
typedef struct transom_frame {
  char *arena;            /* planned buffers and scratch */
  const char *weights;    /* packed weights */
  const int64_t *symbols; /* values of the entry's symbols */
  const int64_t *offsets; /* byte offset in the arena of each planned buffer */
  void *const *args;      /* inputs, then results, dense row-major */
  const transom_segments
      *segments;               /* array, one per segments value of the entry */
  int64_t *counters;           /* zeroed words that phases leave zero */
  const transom_cache *caches; /* [groups of the model's caches] */
} transom_frame;

/* Does share `part` of `parts` of a phase, for layer row `row` (byte offsets
 * of its weights, and of its caches in their blocks; NULL outside layers).
 * Shares may run in any order, at once.
 */
typedef void (*transom_phase)(const transom_frame *frame, const int64_t *row,
                              int64_t part, int64_t parts);

/* One step of an entry: the phase's index, or -1 - i for call i of the entry's
 * calls in the manifest, which a library does and no function; and the first
 * index of its layer row in `rows` (-1 for none). */
typedef struct transom_code_step {
  int32_t phase;
  int32_t row;
} transom_code_step;

typedef struct transom_entry_code {
  const char *name;
  const transom_code_step *steps;
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
  const int64_t *rows; /* offsets of all layer rows */
  const char *weights; /* start of the packed weights */
} transom_artifact_code;

#ifdef __cplusplus
}
#endif
#endif
