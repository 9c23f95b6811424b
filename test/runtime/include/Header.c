/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An application in C99 that knows the C API's header and the shared library
 * alone: loads the artifact by hand, runs it on the host's own loop, and looks
 * at the results. Usage: runtime-c MODEL
 */
#include "transom/transom.h"
#include <stdio.h>
#include <string.h>

/* Runs the shares one after the other, the last first. */
static void parallel(void *context, size_t count, transom_task task,
                     void *arg) {
  ++*(int *)context;
  while (count--)
    task(arg, count);
}

static int failed(const char *what) {
  fprintf(stderr, "%s: %s\n", what, transom_last_error());
  return 1;
}

int main(int argc, char **argv) {
  transom_model *model = NULL;
  transom_session *session = NULL;
  transom_session_options options = transom_session_options_default();
  transom_tensor input, outputs[2];
  int64_t ids[6] = {5, 6, 7, 8, 9, 10};
  float hidden[24], pooled[8];
  int forks = 0;
  if (argc != 2 ||
      transom_model_load(argv[1], NULL, &model) != TRANSOM_STATUS_OK)
    return failed("load");
  options.threads = 3;
  options.parallel = parallel;
  options.parallel_context = &forks;
  if (transom_session_create(model, &options, &session) != TRANSOM_STATUS_OK)
    return failed("session");
  memset(&input, 0, sizeof input);
  memset(outputs, 0, sizeof outputs);
  input.name = "input_ids";
  input.dtype = TRANSOM_DTYPE_I64;
  input.rank = 2;
  input.shape[0] = 2;
  input.shape[1] = 3;
  input.data = ids;
  input.capacity = sizeof ids;
  outputs[0].name = "last_hidden_state";
  outputs[0].data = hidden;
  outputs[0].capacity = sizeof hidden;
  outputs[1].name = "pooler_output";
  outputs[1].data = pooled;
  outputs[1].capacity = sizeof pooled;
  if (transom_session_run(session, "encode", &input, 1, outputs, 2) !=
      TRANSOM_STATUS_OK)
    return failed("run");
  /* id + weight, and 0.75 times the mean: 5 + 1 + 0.75 * 7 */
  if (forks != 5 || outputs[0].rank != 3 || outputs[0].shape[2] != 4 ||
      hidden[0] != 11.25f || pooled[0] != 11.25f) {
    fprintf(stderr, "wrong results: %d forks, %f\n", forks, hidden[0]);
    return 1;
  }
  transom_session_free(session);
  transom_model_free(model);
  return 0;
}
