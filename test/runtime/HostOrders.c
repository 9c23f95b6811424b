/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An application whose thread pool runs an encoder's workers sequentially, in
 * several orders; it also runs them on session threads. Prints the number of
 * pool calls in a run, and exits with 1 if the worker order or count changes
 * the result bits. Usage:
 * runtime-host-orders MODEL BATCH LENGTH WORKERS
 */
#include "test/runtime/Process.h"

/* How the pool orders workers: upwards, downwards, and from the middle; or
 * session threads run them. */
enum { UP, DOWN, ROTATED, AT_ONCE };

/* Session threads have a different order each time. */
#define TIMES_AT_ONCE 10

typedef struct {
  int order;
  int calls;
} pool;

static void run_in_order(void *context, size_t count, transom_task task,
                         void *arg) {
  pool *host = (pool *)context;
  size_t i;
  ++host->calls;
  for (i = 0; i < count; ++i)
    task(arg, host->order == UP     ? i
              : host->order == DOWN ? count - 1 - i
                                    : (i + (count + 1) / 2) % count);
}

/* Runs the encoder once; returns the number of pool calls. */
static int run(const transom_model *model, const transom_tensor *input,
               uint32_t workers, int order, transom_tensor *output) {
  transom_session_options options = transom_session_options_default();
  transom_session *session = NULL;
  pool host = {0, 0};
  host.order = order;
  options.threads = workers;
  if (order != AT_ONCE)
    options.parallel = run_in_order;
  options.parallel_context = &host;
  options.max_batch = (uint32_t)input->shape[0];
  options.max_tokens = (uint64_t)(input->shape[0] * input->shape[1]);
  need(transom_session_create(model, &options, &session), "session");
  memset(output, 0, sizeof *output);
  need(transom_session_shape(session, "encode", input, 1, "last_hidden_state",
                             output),
       "shape");
  output->name = "last_hidden_state";
  output->data = malloc(output->capacity);
  need(transom_session_run(session, "encode", input, 1, output, 1), "run");
  transom_session_free(session);
  return host.calls;
}

int main(int argc, char **argv) {
  transom_model *model = NULL;
  transom_tensor input, expected, output;
  uint32_t workers;
  int order, run_index, calls = 0;
  if (argc != 5) {
    fprintf(stderr, "usage: runtime-host-orders MODEL BATCH LENGTH WORKERS\n");
    return 2;
  }
  need(transom_model_load(argv[1], NULL, &model), "load");
  input = make_ids(argv[2], argv[3]);
  workers = (uint32_t)atoi(argv[4]);

  run(model, &input, 1, UP, &expected);
  /* Each order must give the bits of one worker. */
  for (run_index = 0; run_index != AT_ONCE + TIMES_AT_ONCE; ++run_index) {
    order = run_index < AT_ONCE ? run_index : AT_ONCE;
    if (order == AT_ONCE)
      run(model, &input, workers, order, &output);
    else
      calls = run(model, &input, workers, order, &output);
    if (memcmp(expected.data, output.data, expected.capacity) != 0) {
      fprintf(stderr, "%u workers in order %d give other bits\n", workers,
              order);
      return 1;
    }
    free(output.data);
  }
  printf("%d\n", calls);
  free(expected.data);
  free(input.data);
  transom_model_free(model);
  return 0;
}
