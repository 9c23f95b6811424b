/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Embeds the texts of the command line with a compiled model and prints the
 * cosine similarity of the first to each of the others:
 *   embed model.so "a query" "a text" "another text"
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transom/transom.h"

/* Prints the error of the last call; its status is the exit code. */
static int fail(const char *what, transom_status status) {
  fprintf(stderr, "embed: %s: %s\n", what, transom_last_error());
  return (int)status;
}

static float cosine(const float *left, const float *right, size_t size) {
  float dot = 0, leftSquared = 0, rightSquared = 0;
  size_t i;
  for (i = 0; i < size; ++i) {
    dot += left[i] * right[i];
    leftSquared += left[i] * left[i];
    rightSquared += right[i] * right[i];
  }
  return dot / sqrtf(leftSquared * rightSquared);
}

/* Embeds `count` texts with a session of its own and prints their similarities
 * to the first. */
static int compare(const transom_model *model, char **words, size_t count) {
  transom_model_info info = transom_model_info_default();
  transom_session_options options = transom_session_options_default();
  transom_session *session = NULL;
  transom_text *texts = NULL;
  float *embeddings = NULL;
  size_t bytes, i;
  int result = 0;
  transom_status status = transom_model_get_info(model, &info);
  if (status != TRANSOM_STATUS_OK)
    return fail("info", status);
  if (info.embedding_size == 0) {
    fprintf(stderr, "embed: '%s' does not embed texts\n", info.name);
    return TRANSOM_STATUS_UNSUPPORTED;
  }
  status = transom_session_create(model, &options, &session);
  if (status != TRANSOM_STATUS_OK)
    return fail("session", status);

  bytes = count * info.embedding_size * sizeof(float);
  texts = calloc(count, sizeof(transom_text));
  embeddings = malloc(bytes);
  if (texts == NULL || embeddings == NULL) {
    fprintf(stderr, "embed: no memory for %lu bytes\n", (unsigned long)bytes);
    result = TRANSOM_STATUS_UNAVAILABLE;
  } else {
    for (i = 0; i < count; ++i) {
      texts[i].data = words[i];
      texts[i].size = strlen(words[i]);
    }
    status = transom_session_embed(session, texts, count, NULL, embeddings,
                                   bytes, NULL);
    if (status != TRANSOM_STATUS_OK)
      result = fail("embed", status);
    else
      for (i = 1; i < count; ++i)
        printf("%.3f  %s\n",
               cosine(embeddings, embeddings + i * info.embedding_size,
                      info.embedding_size),
               words[i]);
  }
  free(embeddings);
  free(texts);
  transom_session_free(session);
  return result;
}

int main(int argc, char **argv) {
  transom_model *model = NULL;
  transom_status status;
  int result;
  if (argc < 4) {
    fprintf(stderr, "usage: embed MODEL.so TEXT TEXT...\n");
    return TRANSOM_STATUS_USAGE;
  }
  status = transom_model_load(argv[1], NULL, &model);
  if (status != TRANSOM_STATUS_OK)
    return fail(argv[1], status);
  result = compare(model, argv + 2, (size_t)(argc - 2));
  transom_model_free(model);
  return result;
}
