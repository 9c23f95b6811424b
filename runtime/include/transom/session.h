/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sessions: the memory and threads that run the entry points of a model.
 */
#ifndef TRANSOM_SESSION_H
#define TRANSOM_SESSION_H
#include "transom/model.h"
#include "transom/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Memory and threads that run a model. One thread may use a session at a time;
 * a call on a session that is in use returns USAGE. */
typedef struct transom_session transom_session;

/** One of the tasks that a host runs: number `index`. */
typedef void (*transom_task)(void *arg, size_t index);

/** A host's thread pool: calls `task(arg, i)` once for each i below `count`, in
 * any order and on any number of threads, and returns when all calls have
 * returned. A call whose pool leaves a task out, repeats one or returns before
 * a task ends returns USAGE, and its results are not complete. */
typedef void (*transom_parallel)(void *context, size_t count, transom_task task,
                                 void *arg);

/** Maximum sizes and resources of a session. 0 means the default. */
typedef struct transom_session_options {
  /** set by transom_session_options_default() */
  size_t struct_size;
  /** number of threads including the caller's, at most the number of CPUs in
   * the affinity mask; with `parallel`: number of workers of a dispatch.
   * Default: physical cores in the affinity mask within the cgroup's quota, or
   * fewer if the system does not start that many */
  uint32_t threads;
  /** maximum number of sequences of a run; default 8 */
  uint32_t max_batch;
  /** maximum number of tokens of a run, over all sequences. Padding does not
   * count if the model removes it. Default: max_batch times the model's maximum
   * length, at most 4096. For a decoder: tokens that are computed at once,
   * which does not limit a call; default 1024 */
  uint64_t max_tokens;
  /** for a decoder: maximum number of sequences; default max_batch */
  uint32_t max_sequences;
  /** for a decoder: maximum number of tokens in the KV cache, over all
   * sequences. A sequence takes whole blocks of 256 tokens and shares blocks
   * with its copies. Layers with a sliding window hold the tokens of the window
   * only. Default: max_sequences times the model's context, or times 4096 if
   * the model has no limit. The cache's memory is counted when the session is
   * created and taken from the system when it is first used */
  uint64_t max_kv_tokens;
  /** maximum memory of the session in bytes; default: no limit */
  uint64_t mem_limit;
  /** the host's thread pool; if it is set, the session starts no threads */
  transom_parallel parallel;
  /** first argument of `parallel` */
  void *parallel_context;
  /** 1: reserve memory for results with strides and for results that a run
   * leaves out; 0: do not; TRANSOM_FROM_MODEL (default): if the model embeds or
   * classifies texts */
  int32_t hold_results;
  /** 0: record no times; 1: the time of each dispatch; 2: also of each worker
   */
  uint32_t profile;
  /** for an encoder-decoder: maximum number of tokens of the sources whose keys
   * and values are in the caches, over all sequences. A source takes whole
   * blocks of 256 tokens, and copies of its sequence share them. Default:
   * max_sequences times the longest source, which is at most max_tokens */
  uint64_t max_source_tokens;
} transom_session_options;

/** Initializes options of `struct_size` bytes, as
 * transom_session_options_default() does. */
TRANSOM_API void transom_session_options_init(transom_session_options *options,
                                              size_t struct_size);

/** Returns the default options. */
static inline transom_session_options transom_session_options_default(void) {
  transom_session_options options;
  transom_session_options_init(&options, sizeof options);
  return options;
}

/** Raises max_batch and max_tokens of `options`, for a decoder max_sequences
 * and max_kv_tokens, and for an encoder-decoder max_source_tokens, to what a
 * run of `entry` on inputs of these shapes needs (for `generate`: without the
 * new tokens). The inputs' data is not read. Call it once for each kind of run.
 * Errors: as transom_session_run() for wrong inputs. */
TRANSOM_API transom_status transom_session_options_fit(
    const transom_model *model, const char *entry, const transom_tensor *inputs,
    size_t num_inputs, transom_session_options *options);

/** Computes the memory in bytes of a session with these options: exactly what
 * transom_session_create() maps, without the stacks of threads and without what
 * oneDNN allocates. `options` may be NULL. */
TRANSOM_API transom_status
transom_model_memory(const transom_model *model,
                     const transom_session_options *options, uint64_t *bytes);

/** Creates a session: maps all its memory and starts its threads. `options` may
 * be NULL. On error `session` is set to NULL. Errors: USAGE (options out of
 * range), LIMIT (more than mem_limit, or more than the system has), UNAVAILABLE
 * (threads cannot be started). */
TRANSOM_API transom_status transom_session_create(
    const transom_model *model, const transom_session_options *options,
    transom_session **session);

/** Ends the session's threads and frees it; NULL is allowed. If a call on the
 * session is in progress, as in a callback, that call returns CANCELLED at its
 * next dispatch and frees the session. */
TRANSOM_API void transom_session_free(transom_session *session);

/** Computes the shape of result `name` of `entry` for inputs of these shapes.
 * The inputs' data is not read. Fills in the result's dtype, rank and shape,
 * and sets its `capacity` to the bytes of a dense result. */
TRANSOM_API transom_status transom_session_shape(const transom_session *session,
                                                 const char *entry,
                                                 const transom_tensor *inputs,
                                                 size_t num_inputs,
                                                 const char *name,
                                                 transom_tensor *result);

/** Runs an entry. Inputs and results are found by name, in any order. Results
 * may be left out if the session holds results. On success each result's dtype,
 * rank and shape are filled in. On error no result is written, except after
 * CANCELLED, after REJECTED for a decoder's logits that are not finite, and
 * after USAGE for what `parallel` did.
 * Allocates no memory. An entry of a decoder uses free sequences of the session
 * during the call.
 * Errors: USAGE (no such entry, argument or result, NULL data), REJECTED (wrong
 * dtype, shape or values), LIMIT (over max_batch or max_tokens, capacity too
 * small), CANCELLED. */
TRANSOM_API transom_status transom_session_run(
    transom_session *session, const char *entry, const transom_tensor *inputs,
    size_t num_inputs, transom_tensor *outputs, size_t num_outputs);

/** Makes the current call, or else the next one, return CANCELLED at its next
 * dispatch. Any thread and a signal handler may call it; all other functions
 * belong to the thread that uses the session. */
TRANSOM_API void transom_session_cancel(transom_session *session);

#ifdef __cplusplus
}
#endif
#endif
