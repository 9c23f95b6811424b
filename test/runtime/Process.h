/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Shared helpers for applications that measure their own memory or compare
 * results.
 */
#pragma once
#include "transom/transom.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if a call failed. */
static inline void need(transom_status status, const char *what) {
  if (status == TRANSOM_STATUS_OK)
    return;
  fprintf(stderr, "%s: %s\n", what, transom_last_error());
  exit(1);
}

/* The encoder input `input_ids`, [batch, length] ids below 50; the caller frees
 * its data. Sizes are strings from the command line. */
static inline transom_tensor make_ids(const char *batch, const char *length) {
  transom_tensor input;
  size_t i, count;
  int64_t *ids;
  memset(&input, 0, sizeof input);
  input.name = "input_ids";
  input.dtype = TRANSOM_DTYPE_I64;
  input.rank = 2;
  input.shape[0] = atoi(batch);
  input.shape[1] = atoi(length);
  count = (size_t)(input.shape[0] * input.shape[1]);
  input.capacity = count * sizeof *ids;
  input.data = ids = (int64_t *)malloc(input.capacity);
  for (i = 0; ids && i < count; ++i)
    ids[i] = (int64_t)(i * 7 % 50);
  return input;
}

/* The size of this process's mappings without file and name, in bytes. */
static inline unsigned long long anonymous_bytes(void) {
  char line[1024], name[512];
  unsigned long long begin, end, total = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    name[0] = '\0';
    if (sscanf(line, "%llx-%llx %*s %*s %*s %*s %511s", &begin, &end, name) >=
            2 &&
        name[0] == '\0')
      total += end - begin;
  }
  if (maps)
    fclose(maps);
  return total;
}

/* A kilobyte value in /proc/self/status, in bytes. */
static inline unsigned long long status_bytes(const char *key) {
  char line[256];
  unsigned long long kilobytes = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, key, strlen(key)) == 0 &&
        sscanf(line + strlen(key), ": %llu", &kilobytes) == 1)
      break;
  if (status)
    fclose(status);
  return kilobytes * 1024;
}
