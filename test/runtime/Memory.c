/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An application that runs an encoder once on full sequences and prints the
 * predicted and the used memory in bytes: the weights, the result from
 * transom_model_memory(), the memory mapped by session creation, the results,
 * and the process's peak resident memory. Usage:
 * runtime-memory MODEL BATCH LENGTH SHARES team|host
 */
#include "test/runtime/Process.h"

static void alone(void *context, size_t count, transom_task task, void *arg) {
  size_t i;
  (void)context;
  for (i = 0; i < count; ++i)
    task(arg, i);
}

int main(int argc, char **argv) {
  transom_model *model = NULL;
  transom_session *session = NULL;
  transom_session_options options = transom_session_options_default();
  transom_model_info info = transom_model_info_default();
  transom_tensor input, output;
  unsigned long long before, mapped;
  uint64_t foretold = 0;
  if (argc != 6) {
    fprintf(stderr,
            "usage: runtime-memory MODEL BATCH LENGTH SHARES team|host\n");
    return 2;
  }
  /* Request a session for exactly this input. */
  need(transom_model_load(argv[1], NULL, &model), "load");
  need(transom_model_get_info(model, &info), "info");
  memset(&output, 0, sizeof output);
  input = make_ids(argv[2], argv[3]);
  options.threads = (uint32_t)atoi(argv[4]);
  options.hold_results = 0;
  if (strcmp(argv[5], "host") == 0)
    options.parallel = alone;
  need(transom_session_options_fit(model, "encode", &input, 1, &options),
       "fit");
  options.max_batch = (uint32_t)input.shape[0];
  options.max_tokens = (uint64_t)(input.shape[0] * input.shape[1]);
  need(transom_model_memory(model, &options, &foretold), "memory");
  /* Measure the memory that the session maps. */
  before = anonymous_bytes();
  need(transom_session_create(model, &options, &session), "session");
  mapped = anonymous_bytes() - before;
  /* Run into memory that the caller allocates. */
  need(transom_session_shape(session, "encode", &input, 1, "last_hidden_state",
                             &output),
       "shape");
  output.name = "last_hidden_state";
  output.data = malloc(output.capacity);
  need(transom_session_run(session, "encode", &input, 1, &output, 1), "run");
  printf("{\"weights\": %lld, \"foretold\": %llu, \"mapped\": %llu, "
         "\"results\": %llu, \"peak\": %llu}\n",
         (long long)info.weights_bytes, (unsigned long long)foretold, mapped,
         (unsigned long long)output.capacity, status_bytes("VmHWM"));
  free(output.data);
  free(input.data);
  transom_session_free(session);
  transom_model_free(model);
  return 0;
}
