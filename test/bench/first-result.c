/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * first-result MODEL THREADS: prints the milliseconds from loading a compiled
 * model to the embedding of one text, and the time in each step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <transom/transom.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

static void check(transom_status status) {
  if (status == TRANSOM_STATUS_OK)
    return;
  fprintf(stderr, "first-result: error: %s\n", transom_last_error());
  exit((int)status);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: first-result MODEL THREADS\n");
    return TRANSOM_STATUS_USAGE;
  }
  const char *words = "A man is playing the guitar.";
  const transom_text text = {words, strlen(words)};
  transom_session_options options = transom_session_options_default();
  options.threads = (uint32_t)atoi(argv[2]);

  /* Time each step separately. */
  const double start = now();
  transom_model *model;
  check(transom_model_load(argv[1], NULL, &model));
  const double loaded = now();
  transom_session *session;
  check(transom_session_create(model, &options, &session));
  const double created = now();
  transom_model_info info = transom_model_info_default();
  check(transom_model_get_info(model, &info));
  const size_t bytes = info.embedding_size * sizeof(float);
  float *embedding = malloc(bytes);
  check(transom_session_embed(session, &text, 1, NULL, embedding, bytes, NULL));
  const double ended = now();

  /* Print the total first, then each step. */
  printf("%.3f load %.3f session %.3f embed %.3f\n", ended - start,
         loaded - start, created - loaded, ended - created);
  free(embedding);
  transom_session_free(session);
  transom_model_free(model);
  return 0;
}
