/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An artifact by hand, for tests of the runtime: phases that embed, reduce and
 * scatter rows through the frame as generated code does, and a decoder's step
 * over a cache. It is linked into the tests, and built as a shared object with
 * room for a manifest, which the tests fill in. Its rows have four floats.
 */
#include "test/support/fake/FakeArtifact.h"
#include "runtime/abi/Abi.h"

#define EXPORT __attribute__((visibility("default")))

/* Symbols and buffers in the order of the manifest that the tests make. */
enum { BATCH, KEYS, PARTS, ROWS, SEQ };
enum { ROWS_BUFFER, MEANS_BUFFER };
enum { WIDTH = FAKE_WIDTH };

static const float weights[] = {1.0f, 2.0f, 3.0f, 4.0f, /* added to each row */
                                0.5f, 0.25f}; /* factors of two layers */

/* The share of `part` in `count` things: [*begin, *end). */
static void share(int64_t count, int64_t part, int64_t parts, int64_t *begin,
                  int64_t *end) {
  *begin = count * part / parts;
  *end = count * (part + 1) / parts;
}

static float *buffer(const transom_frame *frame, int index) {
  return (float *)(frame->arena + frame->offsets[index]);
}

/* rows[r] = id + 1000 * type + weights */
static void embed(const transom_frame *frame, const int64_t *row, int64_t part,
                  int64_t parts) {
  const transom_segments *segments = frame->segments;
  const float *table = (const float *)frame->weights;
  float *rows = buffer(frame, ROWS_BUFFER);
  int64_t begin, end;
  share(frame->symbols[ROWS], part, parts, &begin, &end);
  for (int64_t r = begin; r != end; ++r) {
    int64_t at =
        segments->row_sequence[r] * segments->columns + segments->row_column[r];
    int64_t id = ((const int64_t *)frame->args[0])[at];
    int64_t type = ((const int64_t *)frame->args[2])[at];
    for (int i = 0; i != WIDTH; ++i)
      rows[r * WIDTH + i] = (float)id + 1000.0f * (float)type + table[i];
  }
  (void)row;
}

/* means[b] = mean of the rows that are keys; counts its shares. */
static void reduce(const transom_frame *frame, const int64_t *row, int64_t part,
                   int64_t parts) {
  const float *rows = buffer(frame, ROWS_BUFFER);
  float *means = buffer(frame, MEANS_BUFFER);
  int64_t begin, end;
  share(frame->symbols[BATCH], part, parts, &begin, &end);
  for (int64_t b = begin; b != end; ++b) {
    const transom_sequence *sequence = &frame->segments->sequences[b];
    for (int i = 0; i != WIDTH; ++i) {
      float sum = 0;
      for (int64_t r = 0; r != sequence->keys; ++r)
        sum += rows[(sequence->first_row + r) * WIDTH + i];
      means[b * WIDTH + i] = sequence->keys ? sum / (float)sequence->keys : 0;
    }
  }
  if (__atomic_add_fetch(&frame->counters[0], 1, __ATOMIC_ACQ_REL) == parts)
    __atomic_store_n(&frame->counters[0], 0, __ATOMIC_RELEASE);
  (void)row;
}

/* rows[r] += factor * mean of its sequence, the factor from the layer's row. */
static void layer(const transom_frame *frame, const int64_t *row, int64_t part,
                  int64_t parts) {
  float factor = *(const float *)(frame->weights + row[0]);
  float *rows = buffer(frame, ROWS_BUFFER);
  const float *means = buffer(frame, MEANS_BUFFER);
  int64_t begin, end;
  share(frame->symbols[ROWS], part, parts, &begin, &end);
  for (int64_t r = begin; r != end; ++r)
    for (int i = 0; i != WIDTH; ++i)
      rows[r * WIDTH + i] +=
          factor * means[frame->segments->row_sequence[r] * WIDTH + i];
}

/* Results: zero at padding, else the rows; the pooled result is column 0. */
static void scatter(const transom_frame *frame, const int64_t *row,
                    int64_t part, int64_t parts) {
  const transom_segments *segments = frame->segments;
  const float *rows = buffer(frame, ROWS_BUFFER);
  float *hidden = (float *)frame->args[3];
  float *pooled = (float *)frame->args[4];
  const int64_t *mask = (const int64_t *)frame->args[1];
  int64_t begin, end;
  share(segments->batch, part, parts, &begin, &end);
  for (int64_t b = begin; b != end; ++b) {
    const transom_sequence *sequence = &segments->sequences[b];
    for (int64_t i = 0; i != segments->columns * WIDTH; ++i)
      hidden[b * segments->columns * WIDTH + i] = 0;
    for (int64_t r = 0; r != sequence->rows; ++r) {
      int64_t column = segments->row_column[sequence->first_row + r];
      int64_t at = b * segments->columns + column;
      for (int i = 0; i != WIDTH && mask[at]; ++i)
        hidden[at * WIDTH + i] = rows[(sequence->first_row + r) * WIDTH + i];
    }
    for (int i = 0; i != WIDTH; ++i)
      pooled[b * WIDTH + i] = sequence->column0_row < 0
                                  ? 0
                                  : rows[sequence->column0_row * WIDTH + i];
  }
  (void)row;
}

/* The second entry: y = 2 * x + z where the bool mask is set; rows of a uniform
 * batch; a count per sequence; and whether denormals are zero. */
static void combine(const transom_frame *frame, const int64_t *row,
                    int64_t part, int64_t parts) {
  const transom_segments *segments = frame->segments;
  const float *x = (const float *)frame->args[0];
  const uint8_t *mask = (const uint8_t *)frame->args[1];
  const float *z = (const float *)frame->args[2];
  float *y = (float *)frame->args[3];
  int64_t *count = (int64_t *)frame->args[4];
  float *tiny = (float *)frame->args[5];
  volatile float small = 1e-30f;
  int64_t begin, end;
  share(segments->batch, part, parts, &begin, &end);
  for (int64_t b = begin; b != end; ++b) {
    const transom_sequence *sequence = &segments->sequences[b];
    count[b] = 0;
    tiny[b] = small * small * 1e15f + small * 1e-10f;
    for (int64_t r = sequence->first_row;
         r != sequence->first_row + sequence->rows; ++r) {
      count[b] += mask[r];
      for (int i = 0; i != 3; ++i)
        y[r * 3 + i] = mask[r] ? 2 * x[r * 3 + i] + z[i] : 0;
    }
  }
  (void)row;
}

/* A decoder's step. A position's key is its token + 1, in both groups. */
enum { STEP_KEYS, STEP_PARTS, STEP_ROWS, STEP_WANTED };

/* The block that holds a position of a sequence. */
static float *block(const transom_frame *frame, int group,
                    const transom_sequence *sequence, int64_t position) {
  int64_t entry = sequence->first_block + position / TRANSOM_KV_BLOCK_SIZE;
  return (float *)frame->caches[group].blocks[entry];
}

static void append(const transom_frame *frame, const int64_t *row, int64_t part,
                   int64_t parts) {
  const transom_segments *segments = frame->segments;
  const int64_t *tokens = (const int64_t *)frame->args[0];
  int64_t begin, end;
  share(frame->symbols[STEP_ROWS], part, parts, &begin, &end);
  for (int64_t r = begin; r != end; ++r) {
    const transom_sequence *sequence =
        &segments->sequences[segments->row_sequence[r]];
    int64_t position = segments->row_column[r];
    for (int group = 0; group != 2; ++group)
      block(frame, group, sequence,
            position)[position % TRANSOM_KV_BLOCK_SIZE] =
          (float)(tokens[r] + 1);
  }
  (void)row;
}

/* The sum over the keys from `begin` on of weights that depend on the distance
 * of key and column. */
static int64_t attend(const transom_frame *frame, int group,
                      const transom_sequence *sequence, int64_t begin,
                      int64_t position, int64_t column) {
  int64_t sum = 0;
  for (int64_t j = begin; j <= position; ++j) {
    float key = block(frame, group, sequence, j)[j % TRANSOM_KV_BLOCK_SIZE];
    sum += (int64_t)key * ((j * 31 + column * 7) % 13 - 6);
  }
  return sum;
}

/* logits[v] = sum of all keys + three times that of the window, over 1024; the
 * last one is what stands at the end of the block, else 0. */
static void attendWanted(const transom_frame *frame, const int64_t *row,
                         int64_t part, int64_t parts) {
  const transom_segments *segments = frame->segments;
  const int64_t *tokens = (const int64_t *)frame->args[0];
  const int64_t *wanted = (const int64_t *)frame->args[1];
  float *logits = (float *)frame->args[2];
  int64_t begin, end;
  share(frame->symbols[STEP_WANTED], part, parts, &begin, &end);
  for (int64_t w = begin; w != end; ++w) {
    int64_t r = wanted[w], position = segments->row_column[r];
    const transom_sequence *sequence =
        &segments->sequences[segments->row_sequence[r]];
    float *out = logits + w * FAKE_VOCABULARY;
    int64_t first = position - FAKE_WINDOW + 1;
    for (int64_t v = 0; v != FAKE_VOCABULARY - 1; ++v) {
      int64_t sum =
          attend(frame, 0, sequence, 0, position, v) +
          3 * attend(frame, 1, sequence, first < 0 ? 0 : first, position, v);
      out[v] = (float)sum * (1.0f / 1024);
    }
    out[FAKE_VOCABULARY - 1] =
        position + 1 == sequence->past + sequence->rows
            ? block(frame, 0, sequence, position)[TRANSOM_KV_BLOCK_SIZE - 1]
            : 0;
    if (tokens[r] == FAKE_NAN_TOKEN)
      out[0] = __builtin_nanf("");
  }
  (void)row;
}

static const transom_phase phases[] = {embed,   reduce, layer,       scatter,
                                       combine, append, attendWanted};
static const transom_isa_code isas[] = {{"avx2", phases}};
static const transom_code_step encodeSteps[] = {
    {0, -1}, {1, -1}, {2, 0}, {2, 1}, {3, -1}};
static const transom_code_step combineSteps[] = {{4, -1}};
static const transom_code_step stepSteps[] = {{5, -1}, {6, -1}};
static const int64_t layerRows[] = {16, 20};
static const transom_entry_code entries[] = {{"encode", encodeSteps, 5},
                                             {"combine", combineSteps, 1},
                                             {"step", stepSteps, 2}};

EXPORT const transom_artifact_code transom_artifact = {
    FAKE_ABI, 1, isas, 7, 3, 0, entries, layerRows, (const char *)weights};

/* Room for the notes and for a tokenizer's tables; the tests fill it. */
EXPORT __attribute__((section(".note.transom"), used, aligned(4)))
const struct {
  uint32_t nameSize, size, type;
  char name[8];
  char manifest[FAKE_MANIFEST_ROOM];
  uint32_t nameSize2, size2, type2;
  char name2[8];
  char digest[32];
} transom_fake_notes = {
    8,  FAKE_MANIFEST_ROOM, 1,         "transom", FAKE_MANIFEST_MARK, 8,
    32, FAKE_DIGEST_TYPE,   "transom", "digest"};
EXPORT __attribute__((section(".transom.tokenizer"), used, aligned(64)))
const char transom_fake_tokenizer[FAKE_TOKENIZER_ROOM] = FAKE_TOKENIZER_MARK;
