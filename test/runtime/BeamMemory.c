/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An application that translates with beams and prints the predicted and the
 * used memory in bytes: the weights, the result from transom_model_memory(),
 * the memory mapped by session creation, the resident memory after a tenth of
 * the calls and after all calls, and its peak. Usage:
 * runtime-beam-memory MODEL BEAMS SOURCES LENGTH CALLS THREADS
 */
#include "test/runtime/Process.h"

/* Sources with 1 to `longest` tokens, the longest first. */
static transom_prompt *make_sources(size_t count, size_t longest, int call) {
  transom_prompt *sources = calloc(count, sizeof *sources);
  size_t i, k;
  for (i = 0; sources && i < count; ++i) {
    const size_t length = i == 0 ? longest : 1 + (i * 7 + call) % longest;
    int64_t *ids = malloc(length * sizeof *ids);
    for (k = 0; ids && k < length; ++k)
      ids[k] = (int64_t)(3 + (k * 5 + i * 3 + call) % 30);
    sources[i].ids = ids;
    sources[i].num_ids = length;
  }
  return sources;
}

static void free_sources(transom_prompt *sources, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i)
    free((void *)sources[i].ids);
  free(sources);
}

/* Translates some sources and discards the results. */
static void translate(transom_session *session, size_t count, size_t longest,
                      int call, const transom_generate_options *options) {
  transom_prompt *sources = make_sources(count, longest, call);
  transom_generation *generation = NULL;
  need(transom_session_generate(session, sources, count, options, &generation),
       "generate");
  transom_generation_free(generation);
  free_sources(sources, count);
}

int main(int argc, char **argv) {
  transom_model *model = NULL;
  transom_session *session = NULL;
  transom_session_options options = transom_session_options_default();
  transom_generate_options generation = transom_generate_options_default();
  transom_model_info info = transom_model_info_default();
  unsigned long long before, mapped, early = 0;
  uint64_t foretold = 0;
  size_t *lengths, i, count, longest;
  int call, calls;
  if (argc != 7) {
    fprintf(stderr, "usage: runtime-beam-memory MODEL BEAMS SOURCES LENGTH "
                    "CALLS THREADS\n");
    return 2;
  }
  generation.num_beams = atoi(argv[2]);
  count = (size_t)atoi(argv[3]);
  longest = (size_t)atoi(argv[4]);
  calls = atoi(argv[5]);
  options.threads = (uint32_t)atoi(argv[6]);
  need(transom_model_load(argv[1], NULL, &model), "load");
  need(transom_model_get_info(model, &info), "info");

  /* A session in which all beams for all sources run at the same time. */
  lengths = malloc(count * sizeof *lengths);
  for (i = 0; lengths && i < count; ++i)
    lengths[i] = longest;
  options.max_sequences = (uint32_t)(count * (size_t)generation.num_beams);
  need(transom_session_options_fit_generate(model, lengths, count, &generation,
                                            &options),
       "fit");
  need(transom_model_memory(model, &options, &foretold), "memory");
  before = anonymous_bytes();
  need(transom_session_create(model, &options, &session), "session");
  mapped = anonymous_bytes() - before;

  for (call = 0; call < calls; ++call) {
    translate(session, count, longest, call, &generation);
    if (call == calls / 10)
      early = status_bytes("VmRSS");
  }
  printf("{\"weights\": %lld, \"foretold\": %llu, \"mapped\": %llu, "
         "\"sequences\": %u, \"early\": %llu, \"late\": %llu, "
         "\"peak\": %llu}\n",
         (long long)info.weights_bytes, (unsigned long long)foretold, mapped,
         (unsigned)options.max_sequences, early, status_bytes("VmRSS"),
         status_bytes("VmHWM"));
  free(lengths);
  transom_session_free(session);
  transom_model_free(model);
  return 0;
}
