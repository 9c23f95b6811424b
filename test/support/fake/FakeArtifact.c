/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A hand-written artifact for tests of the runtime: phases that embed, reduce
 * and scatter rows through the frame as generated code does, and a decoder's
 * step over a cache. It is linked into the tests, and built as a shared object
 * with room for a manifest, which the tests fill in. Its rows have four floats.
 */
#include "test/support/fake/FakeArtifact.h"
#include "runtime/abi/Abi.h"

#define EXPORT __attribute__((visibility("default")))

/* Symbols and buffers in the manifest's order. */
enum { BATCH, KEYS, WORKERS, ROWS, SEQ };
enum { ROWS_BUFFER, MEANS_BUFFER };
enum { WIDTH = FAKE_WIDTH };

static const float weights[] = {1.0f, 2.0f, 3.0f, 4.0f, /* added to each row */
                                0.5f, 0.25f}; /* factors for two layers */

/* The worker's share in `count` items: [*begin, *end). */
static void share(int64_t count, int64_t worker, int64_t num_workers,
                  int64_t *begin, int64_t *end) {
  *begin = count * worker / num_workers;
  *end = count * (worker + 1) / num_workers;
}

static float *buffer(const transom_frame *frame, int index) {
  return (float *)(frame->arena + frame->offsets[index]);
}

/* rows[r] = id + 1000 * type + weights */
static void embed(const transom_frame *frame, const int64_t *layer,
                  int64_t worker, int64_t num_workers) {
  const transom_ragged_batch *ragged = frame->ragged_batches;
  const float *table = (const float *)frame->weights;
  float *rows = buffer(frame, ROWS_BUFFER);
  int64_t begin, end;
  share(frame->symbols[ROWS], worker, num_workers, &begin, &end);
  for (int64_t r = begin; r != end; ++r) {
    int64_t at =
        ragged->token_sequence[r] * ragged->columns + ragged->token_column[r];
    int64_t id = ((const int64_t *)frame->args[0])[at];
    int64_t type = ((const int64_t *)frame->args[2])[at];
    for (int i = 0; i != WIDTH; ++i)
      rows[r * WIDTH + i] = (float)id + 1000.0f * (float)type + table[i];
  }
  (void)layer;
}

/* means[b] = mean over the rows that are keys; counts its workers. */
static void reduce(const transom_frame *frame, const int64_t *layer,
                   int64_t worker, int64_t num_workers) {
  const float *rows = buffer(frame, ROWS_BUFFER);
  float *means = buffer(frame, MEANS_BUFFER);
  int64_t begin, end;
  share(frame->symbols[BATCH], worker, num_workers, &begin, &end);
  for (int64_t b = begin; b != end; ++b) {
    const transom_sequence *sequence = &frame->ragged_batches->sequences[b];
    for (int i = 0; i != WIDTH; ++i) {
      float sum = 0;
      for (int64_t r = 0; r != sequence->num_keys; ++r)
        sum += rows[(sequence->first_token + r) * WIDTH + i];
      means[b * WIDTH + i] =
          sequence->num_keys ? sum / (float)sequence->num_keys : 0;
    }
  }
  if (__atomic_add_fetch(&frame->counters[0], 1, __ATOMIC_ACQ_REL) ==
      num_workers)
    __atomic_store_n(&frame->counters[0], 0, __ATOMIC_RELEASE);
  (void)layer;
}

/* rows[r] += factor * its sequence's mean, with the layer entry's factor. */
static void addMean(const transom_frame *frame, const int64_t *layer,
                    int64_t worker, int64_t num_workers) {
  float factor = *(const float *)(frame->weights + layer[0]);
  float *rows = buffer(frame, ROWS_BUFFER);
  const float *means = buffer(frame, MEANS_BUFFER);
  int64_t begin, end;
  share(frame->symbols[ROWS], worker, num_workers, &begin, &end);
  for (int64_t r = begin; r != end; ++r)
    for (int i = 0; i != WIDTH; ++i)
      rows[r * WIDTH + i] +=
          factor * means[frame->ragged_batches->token_sequence[r] * WIDTH + i];
}

/* Results: zero at padding, else the rows; the pooled result is column 0. */
static void scatter(const transom_frame *frame, const int64_t *layer,
                    int64_t worker, int64_t num_workers) {
  const transom_ragged_batch *ragged = frame->ragged_batches;
  const float *rows = buffer(frame, ROWS_BUFFER);
  float *hidden = (float *)frame->args[3];
  float *pooled = (float *)frame->args[4];
  const int64_t *mask = (const int64_t *)frame->args[1];
  int64_t begin, end;
  share(ragged->num_sequences, worker, num_workers, &begin, &end);
  for (int64_t b = begin; b != end; ++b) {
    const transom_sequence *sequence = &ragged->sequences[b];
    for (int64_t i = 0; i != ragged->columns * WIDTH; ++i)
      hidden[b * ragged->columns * WIDTH + i] = 0;
    for (int64_t r = 0; r != sequence->num_tokens; ++r) {
      int64_t column = ragged->token_column[sequence->first_token + r];
      int64_t at = b * ragged->columns + column;
      for (int i = 0; i != WIDTH && mask[at]; ++i)
        hidden[at * WIDTH + i] = rows[(sequence->first_token + r) * WIDTH + i];
    }
    for (int i = 0; i != WIDTH; ++i)
      pooled[b * WIDTH + i] = sequence->column0_token < 0
                                  ? 0
                                  : rows[sequence->column0_token * WIDTH + i];
  }
  (void)layer;
}

/* The second entry: y = 2 * x + z where the bool mask is set; rows in a uniform
 * batch; a count per sequence; and whether denormals are zero. */
static void combine(const transom_frame *frame, const int64_t *layer,
                    int64_t worker, int64_t num_workers) {
  const transom_ragged_batch *ragged = frame->ragged_batches;
  const float *x = (const float *)frame->args[0];
  const uint8_t *mask = (const uint8_t *)frame->args[1];
  const float *z = (const float *)frame->args[2];
  float *y = (float *)frame->args[3];
  int64_t *count = (int64_t *)frame->args[4];
  float *tiny = (float *)frame->args[5];
  volatile float small = 1e-30f;
  int64_t begin, end;
  share(ragged->num_sequences, worker, num_workers, &begin, &end);
  for (int64_t b = begin; b != end; ++b) {
    const transom_sequence *sequence = &ragged->sequences[b];
    count[b] = 0;
    tiny[b] = small * small * 1e15f + small * 1e-10f;
    for (int64_t r = sequence->first_token;
         r != sequence->first_token + sequence->num_tokens; ++r) {
      count[b] += mask[r];
      for (int i = 0; i != 3; ++i)
        y[r * 3 + i] = mask[r] ? 2 * x[r * 3 + i] + z[i] : 0;
    }
  }
  (void)layer;
}

/* A decoder's step. A position's key is its token + 1, in both groups. */
enum { STEP_KEYS, STEP_WORKERS, STEP_ROWS, STEP_LOGITS, STEP_LISTED };

/* The block that holds a position of a sequence. */
static float *block(const transom_frame *frame, int group,
                    const transom_sequence *sequence, int64_t position) {
  int64_t entry = sequence->first_block + position / TRANSOM_KV_BLOCK_SIZE;
  return (float *)frame->caches[group].block_table[entry];
}

static void append(const transom_frame *frame, const int64_t *layer,
                   int64_t worker, int64_t num_workers) {
  const transom_ragged_batch *ragged = frame->ragged_batches;
  const int64_t *tokens = (const int64_t *)frame->args[0];
  int64_t begin, end;
  share(frame->symbols[STEP_ROWS], worker, num_workers, &begin, &end);
  for (int64_t r = begin; r != end; ++r) {
    const transom_sequence *sequence =
        &ragged->sequences[ragged->token_sequence[r]];
    int64_t position = ragged->token_column[r];
    for (int group = 0; group != 2; ++group)
      block(frame, group, sequence,
            position)[position % TRANSOM_KV_BLOCK_SIZE] =
          (float)(tokens[r] + 1);
  }
  (void)layer;
}

/* The weighted sum over the keys from `begin` on; the weights depend on the
 * distance between key and column. */
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

/* logits[v] = (sum over all keys + 3 * sum over the window) / 1024; the last
 * one is the value at the end of the block, else 0. */
static void computeLogits(const transom_frame *frame, const int64_t *layer,
                          int64_t worker, int64_t num_workers) {
  const transom_ragged_batch *ragged = frame->ragged_batches;
  const int64_t *tokens = (const int64_t *)frame->args[0];
  const int64_t *logitTokens = (const int64_t *)frame->args[1];
  float *logits = (float *)frame->args[2];
  int64_t begin, end;
  share(frame->symbols[STEP_LOGITS], worker, num_workers, &begin, &end);
  for (int64_t w = begin; w != end; ++w) {
    int64_t r = logitTokens[w], position = ragged->token_column[r];
    const transom_sequence *sequence =
        &ragged->sequences[ragged->token_sequence[r]];
    float *out = logits + w * FAKE_VOCABULARY;
    int64_t first = position - FAKE_WINDOW + 1;
    for (int64_t v = 0; v != FAKE_VOCABULARY - 1; ++v) {
      int64_t sum =
          attend(frame, 0, sequence, 0, position, v) +
          3 * attend(frame, 1, sequence, first < 0 ? 0 : first, position, v);
      out[v] = (float)sum * (1.0f / 1024);
    }
    out[FAKE_VOCABULARY - 1] =
        position + 1 == sequence->past + sequence->num_tokens
            ? block(frame, 0, sequence, position)[TRANSOM_KV_BLOCK_SIZE - 1]
            : 0;
    if (tokens[r] == FAKE_NAN_TOKEN)
      out[0] = __builtin_nanf("");
  }
  (void)layer;
}

EXPORT int64_t transom_fake_num_sources;

/* The last logit is the sum over the sequence's keys in the third, read-only
 * group, each times its position + 1. */
static void addSource(const transom_frame *frame, const int64_t *layer,
                      int64_t worker, int64_t num_workers) {
  const transom_ragged_batch *ragged = frame->ragged_batches;
  const int64_t *logitTokens = (const int64_t *)frame->args[1];
  float *logits = (float *)frame->args[2];
  int64_t begin, end;
  if (worker == 0)
    transom_fake_num_sources = ragged[1].num_sequences;
  share(frame->symbols[STEP_LOGITS], worker, num_workers, &begin, &end);
  for (int64_t w = begin; w != end; ++w) {
    const transom_sequence *source = ragged[1].sequences;
    while (logitTokens[w] >= source->first_token + source->num_tokens)
      ++source;
    float sum = 0;
    for (int64_t j = 0; j != source->num_keys; ++j)
      sum += block(frame, 2, source, j)[j % TRANSOM_KV_BLOCK_SIZE] *
             (float)(j + 1);
    logits[(w + 1) * FAKE_VOCABULARY - 1] = sum;
  }
  (void)layer;
}

/* The source encoder: a token's state is its id + 1, its column, and the sum
 * over its source's ids; zero at padding. */
int64_t transom_fake_encoded;
static void encodeSources(const transom_frame *frame, const int64_t *layer,
                          int64_t worker, int64_t num_workers) {
  const transom_ragged_batch *ragged = frame->ragged_batches;
  const int64_t *ids = (const int64_t *)frame->args[0];
  float *states = (float *)frame->args[2];
  int64_t begin, end;
  share(ragged->num_sequences, worker, num_workers, &begin, &end);
  for (int64_t b = begin; b != end; ++b) {
    const transom_sequence *sequence = &ragged->sequences[b];
    const int64_t *row = ids + b * ragged->columns;
    float *out = states + b * ragged->columns * WIDTH, sum = 0;
    for (int64_t i = 0; i != ragged->columns * WIDTH; ++i)
      out[i] = 0;
    for (int64_t i = 0; i != sequence->num_tokens; ++i)
      sum += (float)row[ragged->token_column[sequence->first_token + i]];
    for (int64_t i = 0; i != sequence->num_tokens; ++i) {
      int64_t column = ragged->token_column[sequence->first_token + i];
      out[column * WIDTH] = (float)(row[column] + 1);
      out[column * WIDTH + 1] = (float)column;
      out[column * WIDTH + 2] = sum;
    }
    __atomic_add_fetch(&transom_fake_encoded, 1, __ATOMIC_RELAXED);
  }
  (void)layer;
}

/* A token's key, at its rank in the third group: a weighted sum over its
 * state. */
static void fillSources(const transom_frame *frame, const int64_t *layer,
                        int64_t worker, int64_t num_workers) {
  const transom_ragged_batch *ragged = frame->ragged_batches;
  const float *states = (const float *)frame->args[0];
  int64_t begin, end;
  share(frame->symbols[ROWS], worker, num_workers, &begin, &end);
  for (int64_t r = begin; r != end; ++r) {
    const transom_sequence *sequence =
        &ragged->sequences[ragged->token_sequence[r]];
    int64_t rank = ragged->token_key[r] - sequence->key_base;
    const float *state = states + (ragged->token_sequence[r] * ragged->columns +
                                   ragged->token_column[r]) *
                                      WIDTH;
    block(frame, 2, sequence, rank)[rank % TRANSOM_KV_BLOCK_SIZE] =
        (state[0] + 2 * state[1]) / 1024 + state[2] / 4096;
  }
  (void)layer;
}

/* The logit summary: the max, and the plain sum in place of the sum over
 * exponentials. */
static void summarize(const transom_frame *frame, const int64_t *layer,
                      int64_t worker, int64_t num_workers) {
  const float *logits = (const float *)frame->args[2];
  float *maxima = (float *)frame->args[3], *sums = (float *)frame->args[4];
  int64_t begin, end;
  share(frame->symbols[STEP_LOGITS], worker, num_workers, &begin, &end);
  for (int64_t w = begin; maxima && w != end; ++w) {
    const float *row = logits + w * FAKE_VOCABULARY;
    float sum = 0;
    maxima[w] = row[0];
    for (int64_t v = 0; v != FAKE_VOCABULARY; ++v) {
      maxima[w] = row[v] > maxima[w] ? row[v] : maxima[w];
      sum += row[v];
    }
    if (sums)
      sums[w] = sum;
  }
  (void)layer;
}

/* The logits of all tokens or of selected ones. Selected logits are columns of
 * all logits, which are computed in persistent memory; the number of such
 * calls precedes them. */
int64_t transom_fake_listed_calls;
static void computeListed(const transom_frame *frame, const int64_t *layer,
                          int64_t worker, int64_t num_workers) {
  const int64_t *columns = (const int64_t *)frame->args[2];
  const int64_t count = frame->symbols[STEP_LISTED];
  float *kept = (float *)(void *)(frame->arena + frame->offsets[0]);
  float *listed = (float *)frame->args[4];
  void *args[3] = {frame->args[0], frame->args[1], frame->args[3]};
  transom_frame own = *frame;
  own.args = args;
  if (count)
    args[2] = kept + FAKE_VOCABULARY;
  computeLogits(&own, layer, worker, num_workers);
  if (!count)
    return;
  int64_t begin, end;
  share(frame->symbols[STEP_LOGITS], worker, num_workers, &begin, &end);
  for (int64_t w = begin; w != end; ++w)
    for (int64_t i = 0; i != count; ++i)
      listed[w * count + i] = kept[(w + 1) * FAKE_VOCABULARY + columns[i]];
  if (worker == 0)
    transom_fake_listed_calls = (int64_t)(kept[0] += 1);
}

static const transom_phase phases[] = {embed,         reduce,    addMean,
                                       scatter,       combine,   append,
                                       computeLogits, addSource, encodeSources,
                                       fillSources,   summarize, computeListed};
static const transom_isa_code isas[] = {{"avx2", phases}};
static const transom_dispatch encodeDispatches[] = {
    {0, -1}, {1, -1}, {2, 0}, {2, 1}, {3, -1}};
static const transom_dispatch combineDispatches[] = {{4, -1}};
static const transom_dispatch stepDispatches[] = {{5, -1}, {6, -1}};
static const transom_dispatch crossDispatches[] = {{5, -1}, {6, -1}, {7, -1}};
static const transom_dispatch encodeSourcesDispatches[] = {{8, -1}};
static const transom_dispatch fillSourcesDispatches[] = {{9, -1}};
static const transom_dispatch summaryDispatches[] = {
    {5, -1}, {6, -1}, {10, -1}};
static const transom_dispatch listedDispatches[] = {{5, -1}, {11, -1}};
static const int64_t layerEntries[] = {16, 20};
static const transom_entry_code entries[] = {
    {"encode", encodeDispatches, 5},
    {"combine", combineDispatches, 1},
    {"step", stepDispatches, 2},
    {"cross", crossDispatches, 3},
    {"encode_sources", encodeSourcesDispatches, 1},
    {"fill", fillSourcesDispatches, 1},
    {"summary", summaryDispatches, 3},
    {"listed", listedDispatches, 2}};

EXPORT const transom_artifact_code transom_artifact = {
    FAKE_ABI, 1, isas, 12, 8, 0, entries, layerEntries, (const char *)weights};

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
