/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sessions: the memory and threads that run a model's entry points.
 */
#ifndef TRANSOM_SESSION_H
#define TRANSOM_SESSION_H
#include "transom/model.h"
#include "transom/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Memory and threads that run a model. One thread at a time may use a session;
 * a call on a session that is already in use returns USAGE. */
typedef struct transom_session transom_session;

/** A task for a host's thread pool; `index` is its index in the call. */
typedef void (*transom_task)(void *arg, size_t index);

/** A host's thread pool: calls `task(arg, i)` once for each i below `count`, in
 * any order and on any number of threads, and returns when all calls have
 * returned. If it omits or repeats a task, or returns before a task ends, the
 * session's call returns USAGE with incomplete results. */
typedef void (*transom_parallel)(void *context, size_t count, transom_task task,
                                 void *arg);

/** Maximum sizes and resources of a session. 0 selects the default. */
typedef struct transom_session_options {
  /** set by transom_session_options_default() */
  size_t struct_size;
  /** number of threads including the caller's, at most the CPU count in the
   * affinity mask; with `parallel`: workers per dispatch. Default: physical
   * cores in the affinity mask within the cgroup's quota, or fewer if the
   * system cannot start all threads */
  uint32_t threads;
  /** maximum number of sequences per run; default 8 */
  uint32_t max_batch;
  /** maximum number of tokens per run, over all sequences. Padding does not
   * count if the model removes it. Default: max_batch times the model's maximum
   * length, at most 4096. For a decoder: tokens that are computed at once;
   * calls may exceed it; default 1024 */
  uint64_t max_tokens;
  /** for a decoder: maximum number of sequences; default max_batch */
  uint32_t max_sequences;
  /** for a decoder: KV cache capacity in tokens, over all sequences. A sequence
   * uses whole blocks with 256 tokens each and shares blocks with its copies.
   * Layers with a sliding window hold only the tokens in the window. Default:
   * max_sequences times the model's context, or times 4096 if the model has no
   * limit. The session's memory includes the cache from its creation; the
   * system allocates cache pages at first use */
  uint64_t max_kv_tokens;
  /** session memory limit in bytes; default: no limit */
  uint64_t mem_limit;
  /** the host's thread pool; if it is set, the session starts no threads */
  transom_parallel parallel;
  /** first argument of `parallel` */
  void *parallel_context;
  /** 1: reserve memory for strided results and for results that a run omits; 0:
   * do not; TRANSOM_FROM_MODEL (default): if the model embeds or classifies
   * texts */
  int32_t hold_results;
  /** 0: record no times; 1: record the time of each dispatch; 2: also for each
   * worker */
  uint32_t profile;
  /** for an encoder-decoder: source cache capacity in tokens, over all
   * sequences. A source uses whole blocks with 256 tokens each, which copies of
   * its sequence share. Default: max_sequences times the longest source, which
   * has at most max_tokens tokens */
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

/** Raises max_batch and max_tokens in `options`, for a decoder max_sequences
 * and max_kv_tokens, and for an encoder-decoder max_source_tokens, to the
 * values that a run of `entry` with these input shapes needs (for `generate`:
 * without the new tokens). It does not read the input data. Call it once for
 * each kind of run. Errors: as transom_session_run() for invalid inputs. */
TRANSOM_API transom_status transom_session_options_fit(
    const transom_model *model, const char *entry, const transom_tensor *inputs,
    size_t num_inputs, transom_session_options *options);

/** Computes a session's memory use in bytes: exactly the memory that
 * transom_session_create() maps with these options, excluding thread stacks and
 * oneDNN's allocations. `options` may be NULL. */
TRANSOM_API transom_status
transom_model_memory(const transom_model *model,
                     const transom_session_options *options, uint64_t *bytes);

/** Creates a session: maps all its memory and starts its threads. `options` may
 * be NULL. On error `session` is set to NULL. Errors: USAGE (options out of
 * range), LIMIT (more memory than mem_limit or the system has), UNAVAILABLE
 * (threads cannot be started). */
TRANSOM_API transom_status transom_session_create(
    const transom_model *model, const transom_session_options *options,
    transom_session **session);

/** Ends the session's threads and frees it; NULL is allowed. If a call on the
 * session is in progress, such as from a callback, that call returns CANCELLED
 * at its next dispatch and then frees the session. */
TRANSOM_API void transom_session_free(transom_session *session);

/** Computes the shape of result `name` of `entry` for these input shapes. It
 * does not read the input data. Fills in the result's dtype, rank and shape,
 * and sets its `capacity` to the dense size in bytes. */
TRANSOM_API transom_status transom_session_shape(const transom_session *session,
                                                 const char *entry,
                                                 const transom_tensor *inputs,
                                                 size_t num_inputs,
                                                 const char *name,
                                                 transom_tensor *result);

/** Runs an entry. Inputs and results are matched by name, in any order. Results
 * may be omitted if the session holds results. On success the dtype, rank and
 * shape of each result are filled in. On error no result is written, except
 * after CANCELLED, after REJECTED for a decoder's logits that are not finite,
 * and after USAGE for an invalid `parallel`.
 * Allocates no memory. A decoder's entry uses free sequences in the session
 * during the call.
 * Errors: USAGE (no such entry, argument or result, NULL data), REJECTED (wrong
 * dtype, shape or values), LIMIT (exceeds max_batch or max_tokens, capacity too
 * small), CANCELLED. */
TRANSOM_API transom_status transom_session_run(
    transom_session *session, const char *entry, const transom_tensor *inputs,
    size_t num_inputs, transom_tensor *outputs, size_t num_outputs);

/** Makes the current call, or else the next one, return CANCELLED at its next
 * dispatch. It may be called from any thread and from a signal handler; all
 * other functions belong to the thread that uses the session. */
TRANSOM_API void transom_session_cancel(transom_session *session);

#ifdef __cplusplus
}
#endif
#endif
