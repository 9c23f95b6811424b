/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Times of the last run of a session. They need `profile` in its options.
 */
#ifndef TRANSOM_PROFILE_H
#define TRANSOM_PROFILE_H
#include "transom/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Gets the time of each dispatch of the last run: `nanoseconds` is [count], in
 * the order of the manifest's dispatches. The session owns it. USAGE if the
 * session has no profile. */
TRANSOM_API transom_status transom_session_get_profile(
    const transom_session *session, const int64_t **nanoseconds, size_t *count);

/** When a worker began and ended its share of a dispatch: nanoseconds of
 * CLOCK_MONOTONIC. */
typedef struct transom_worker_time {
  /** begin */
  int64_t begin;
  /** end */
  int64_t end;
} transom_worker_time;

/** Gets the times of the workers of the last run: `times` is [num_dispatches,
 * num_workers]. The session owns it. USAGE unless `profile` is 2. */
TRANSOM_API transom_status transom_session_get_trace(
    const transom_session *session, const transom_worker_time **times,
    size_t *num_dispatches, size_t *num_workers);

#ifdef __cplusplus
}
#endif
#endif
