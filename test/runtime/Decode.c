/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An application that fills one decoder sequence: a prompt in one step, then
 * the most probable tokens, one by one. It prints the predicted and the used
 * memory in bytes, resident memory after the prompt, after a thousand tokens
 * and at the end, and the number of allocations in the steps.
 * Usage: runtime-decode MODEL CONTEXT PROMPT TOKENS THREADS
 */
#include "test/runtime/Process.h"

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
static unsigned long allocations;

#ifndef TRANSOM_TEST_SANITIZED
void *malloc(size_t size) {
  __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
  return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
  __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
  return __libc_realloc(old, size);
}
#endif

static int64_t most_probable(const float *logits, int64_t width) {
  int64_t best = 0, i;
  for (i = 1; i < width; ++i)
    if (logits[i] > logits[best])
      best = i;
  return best;
}

int main(int argc, char **argv) {
  transom_model *model = NULL;
  transom_session *session = NULL;
  transom_session_options options = transom_session_options_default();
  transom_model_info info = transom_model_info_default();
  transom_decoder_info decoder = transom_decoder_info_default();
  transom_step_input rows;
  unsigned long long before, mapped, filled = 0, early = 0;
  unsigned long counted;
  uint64_t foretold = 0;
  int64_t *ids, i, tokens;
  float *logits;
  if (argc != 6) {
    fprintf(stderr,
            "usage: runtime-decode MODEL CONTEXT PROMPT TOKENS THREADS\n");
    return 2;
  }
  /* Request a session with one sequence and this cache size. */
  need(transom_model_load(argv[1], NULL, &model), "load");
  need(transom_model_get_info(model, &info), "info");
  options.threads = (uint32_t)atoi(argv[5]);
  options.max_sequences = 1;
  options.max_kv_tokens = (uint64_t)atoi(argv[2]);
  options.max_tokens = 256;
  need(transom_model_memory(model, &options, &foretold), "memory");
  before = anonymous_bytes();
  need(transom_session_create(model, &options, &session), "session");
  mapped = anonymous_bytes() - before;
  need(transom_session_get_decoder(session, &decoder), "decoder");
  /* Prepare the prompt. */
  rows.num_tokens = atoi(argv[3]);
  rows.num_logits = 1;
  rows.tokens = ids = malloc((size_t)rows.num_tokens * sizeof *ids);
  logits = malloc((size_t)decoder.width * sizeof *logits);
  if (!ids || !logits)
    return 1;
  for (i = 0; i != rows.num_tokens; ++i)
    ids[i] = (i * 7919 + 13) % decoder.vocabulary;
  need(transom_sequence_create(session, &rows.sequence), "sequence");
  /* The first step reads the prompt, the others the most probable token. */
  counted = allocations;
  tokens = atoi(argv[4]);
  for (i = 0; i <= tokens; ++i) {
    need(transom_session_step(session, &rows, 1, logits,
                              (size_t)decoder.width * sizeof *logits),
         "step");
    rows.num_tokens = 1;
    ids[0] = most_probable(logits, decoder.width);
    if (i == 0 || i == 1000) { /* reading it allocates */
      unsigned long kept = allocations;
      *(i ? &early : &filled) = status_bytes("VmRSS");
      counted += allocations - kept;
    }
  }
  counted = allocations - counted;
  printf("{\"weights\": %lld, \"foretold\": %llu, \"mapped\": %llu, "
         "\"filled\": %llu, \"early\": %llu, \"end\": %llu, \"peak\": %llu, "
         "\"allocations\": %lu}\n",
         (long long)info.weights_bytes, (unsigned long long)foretold, mapped,
         filled, early, status_bytes("VmRSS"), status_bytes("VmHWM"), counted);
  free(logits);
  free(ids);
  transom_session_free(session);
  transom_model_free(model);
  return 0;
}
