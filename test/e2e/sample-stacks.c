/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A profiler in one file: embeds a text repeatedly on the calling thread,
 * and on each process clock tick follows the unwind tables up from the
 * interrupted instruction:
 *   sample-stacks model.so SAMPLES
 * prints the addresses in each stack that started in the model's code, as
 * `address-in-the-file` within the model and `-` elsewhere.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unwind.h>

#include "transom/transom.h"

enum { maxDepth = 32, maxSamples = 4096 };

static uintptr_t stacks[maxSamples][maxDepth];
static volatile sig_atomic_t numSamples;
static int limit;
/* The model's code in memory. */
static uintptr_t base, begin, end;

struct stack {
  uintptr_t *addresses;
  int depth;
};

static _Unwind_Reason_Code takeFrame(struct _Unwind_Context *context,
                                     void *arg) {
  struct stack *stack = arg;
  if (stack->depth == maxDepth)
    return _URC_END_OF_STACK;
  stack->addresses[stack->depth++] = _Unwind_GetIP(context);
  return _URC_NO_REASON;
}

static int isCode(uintptr_t address) {
  return address >= begin && address < end;
}

static void onTick(int signal) {
  uintptr_t addresses[maxDepth] = {0};
  struct stack stack = {addresses, 0};
  int first = 0;
  (void)signal;
  if (numSamples >= limit)
    return;
  _Unwind_Backtrace(takeFrame, &stack);
  /* Drop this function and the signal's own frame. A stack that is in the
   * runtime when the signal comes has no frame of the model on top. */
  while (first < stack.depth && first < 4 && !isCode(addresses[first]))
    ++first;
  if (first < stack.depth && isCode(addresses[first]))
    memcpy(stacks[numSamples++], addresses + first,
           sizeof addresses - (size_t)first * sizeof *addresses);
}

/* Finds the code segment in the artifact that is loaded from `arg`. */
static int findCode(struct dl_phdr_info *info, size_t size, void *arg) {
  int i;
  (void)size;
  if (strcmp(info->dlpi_name, arg) != 0)
    return 0;
  for (i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD &&
        info->dlpi_phdr[i].p_flags & PF_X) {
      base = info->dlpi_addr;
      begin = base + info->dlpi_phdr[i].p_vaddr;
      end = begin + info->dlpi_phdr[i].p_memsz;
    }
  return 1;
}

static int fail(const char *what) {
  fprintf(stderr, "sample-stacks: %s: %s\n", what, transom_last_error());
  return 1;
}

int main(int argc, char **argv) {
  transom_model *model = NULL;
  transom_session *session = NULL;
  transom_session_options options = transom_session_options_default();
  transom_text text = {"the guitar is on the table and a man plays it", 45};
  const struct itimerval tick = {{0, 1000}, {0, 1000}};
  float embedding[4096];
  int calls, i, j;
  if (argc != 3)
    return 2;
  limit = atoi(argv[2]) < maxSamples ? atoi(argv[2]) : maxSamples;
  options.threads = 1;
  if (transom_model_load(argv[1], NULL, &model) != TRANSOM_STATUS_OK)
    return fail("load");
  if (transom_session_create(model, &options, &session) != TRANSOM_STATUS_OK)
    return fail("session");
  dl_iterate_phdr(findCode, argv[1]);
  if (begin == end) {
    fprintf(stderr, "sample-stacks: '%s' is not in the list of libraries\n",
            argv[1]);
    return 1;
  }
  signal(SIGPROF, onTick);
  setitimer(ITIMER_PROF, &tick, NULL);
  for (calls = 0; numSamples < limit && calls < 1000000; ++calls)
    if (transom_session_embed(session, &text, 1, NULL, embedding,
                              sizeof embedding, NULL) != TRANSOM_STATUS_OK)
      return fail("embed");
  signal(SIGPROF, SIG_IGN);
  for (i = 0; i < numSamples; ++i) {
    for (j = 0; j < maxDepth && stacks[i][j]; ++j)
      if (isCode(stacks[i][j]))
        printf("%lx ", (unsigned long)(stacks[i][j] - base));
      else
        printf("- ");
    printf("\n");
  }
  transom_session_free(session);
  transom_model_free(model);
  return 0;
}
