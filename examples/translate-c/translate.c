/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Translates texts with a compiled encoder-decoder, all together, and prints
 * the score and the text of each translation:
 *   translate model.so BEAMS "a text" ["another text" ...]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transom/transom.h"

/* Prints the error of the last call; its status is the exit code. */
static int fail(const char *what, transom_status status) {
  fprintf(stderr, "translate: %s: %s\n", what, transom_last_error());
  return (int)status;
}

/* Prints the continuations of a generation: the translations in the order of
 * the texts, of each text the best one first. */
static void print(const transom_generation *generation) {
  size_t i;
  for (i = 0; i != transom_generation_count(generation); ++i) {
    transom_continuation result = transom_continuation_default();
    if (transom_generation_get(generation, i, &result) != TRANSOM_STATUS_OK)
      return;
    if (!isnan(result.score)) /* only beams have scores */
      printf("%.4f\t", result.score);
    printf("%.*s\n", (int)result.text.size, result.text.data);
  }
}

/* Creates a session that has room for all texts. */
static transom_status make_session(const transom_model *model,
                                   const transom_prompt *sources, size_t count,
                                   const transom_generate_options *options,
                                   transom_session **session) {
  transom_session_options room = transom_session_options_default();
  transom_status status = TRANSOM_STATUS_OK;
  size_t *lengths = malloc(count * sizeof *lengths);
  size_t i;
  for (i = 0; lengths != NULL && i != count; ++i) {
    /* Without memory for tokens the call only counts them. */
    status = transom_model_tokenize(model, &sources[i].text, NULL, NULL, NULL,
                                    0, &lengths[i], NULL);
    if (status != TRANSOM_STATUS_OK && status != TRANSOM_STATUS_LIMIT) {
      free(lengths);
      return status;
    }
  }
  status = transom_session_options_fit_generate(model, lengths, count, options,
                                                &room);
  free(lengths);
  if (status != TRANSOM_STATUS_OK)
    return status;
  return transom_session_create(model, &room, session);
}

static int translate(const transom_model *model, const char *beams,
                     const transom_prompt *sources, size_t count) {
  transom_generate_options options = transom_generate_options_default();
  transom_generation *generation = NULL;
  transom_session *session = NULL;
  transom_status status;
  options.num_beams = atol(beams);
  status = make_session(model, sources, count, &options, &session);
  if (status != TRANSOM_STATUS_OK)
    return fail("session", status);
  status =
      transom_session_generate(session, sources, count, &options, &generation);
  if (status == TRANSOM_STATUS_OK)
    print(generation);
  transom_generation_free(generation);
  transom_session_free(session);
  return status == TRANSOM_STATUS_OK ? 0 : fail("generate", status);
}

int main(int argc, char **argv) {
  transom_model *model = NULL;
  transom_prompt *sources;
  transom_status status;
  size_t count, i;
  int result;
  if (argc < 4) {
    fprintf(stderr, "usage: translate MODEL.so BEAMS TEXT...\n");
    return TRANSOM_STATUS_USAGE;
  }
  status = transom_model_load(argv[1], NULL, &model);
  if (status != TRANSOM_STATUS_OK)
    return fail(argv[1], status);
  count = (size_t)argc - 3;
  sources = calloc(count, sizeof *sources);
  if (sources == NULL)
    return TRANSOM_STATUS_UNAVAILABLE;
  for (i = 0; i != count; ++i) {
    sources[i].text.data = argv[3 + i];
    sources[i].text.size = strlen(argv[3 + i]);
  }
  result = translate(model, argv[2], sources, count);
  free(sources);
  transom_model_free(model);
  return result;
}
