/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Timing data from a session's last run. It requires the session option
 * `profile`.
 */
#ifndef TRANSOM_PROFILE_H
#define TRANSOM_PROFILE_H
#include "transom/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Gets the duration of each dispatch in the last run: `nanoseconds` is
 * [count], in manifest order. The session owns the array. USAGE if the session
 * does not record times. */
TRANSOM_API transom_status transom_session_get_profile(
    const transom_session *session, const int64_t **nanoseconds, size_t *count);

/** Begin and end times at which a worker ran its share of a dispatch, in
 * CLOCK_MONOTONIC nanoseconds. */
typedef struct transom_worker_time {
  /** begin */
  int64_t begin;
  /** end */
  int64_t end;
} transom_worker_time;

/** Gets the worker times for the last run: `times` is [num_dispatches,
 * num_workers]. The session owns the array. USAGE unless `profile` is 2. */
TRANSOM_API transom_status transom_session_get_trace(
    const transom_session *session, const transom_worker_time **times,
    size_t *num_dispatches, size_t *num_workers);

#ifdef __cplusplus
}
#endif
#endif
