/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Status codes, errors and the version of the library.
 *
 * Rules that hold for all headers of this API:
 * - C99, and C++11 or later.
 * - A function that can fail returns a transom_status and leaves one line of
 * text in transom_last_error(). On error it changes nothing, unless it says so.
 * - A call computes with round-to-nearest, whatever floating-point mode its
 * thread has, and leaves the mode and its exception flags as they were.
 * Callbacks run in the host's own mode.
 * - A callback may throw a C++ exception, which ends the call with
 * TRANSOM_STATUS_USAGE. A pthread_cancel() takes effect in a callback or after
 * the call; the objects stay usable.
 * - An object with a _create() or _load() function is freed with _free().
 * - A struct with a `struct_size` comes from its _default() function, so that
 *   later versions can add fields at the end. A library that is older than the
 *   caller's header accepts a field that it does not know at its default, and
 *   returns TRANSOM_STATUS_USAGE for another value.
 * - A _default() function is inline: it calls the library's _init() function
 *   with the size that the struct has in the caller's header, so a newer
 *   library never writes more than that. Callers from other languages call
 *   _init().
 * - TRANSOM_FROM_MODEL as the value of an option means "as the model's files
 * say".
 * - A `capacity` is the size in bytes of the memory that a pointer refers to.
 * If it is too small, the function returns TRANSOM_STATUS_LIMIT.
 * - An enumeration is an int32_t. A value that the header does not name is
 * TRANSOM_STATUS_USAGE; for the type of a tensor it is REJECTED.
 */
#ifndef TRANSOM_BASE_H
#define TRANSOM_BASE_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TRANSOM_API __attribute__((visibility("default")))
#else
#define TRANSOM_API
#endif

/* The type of enumerations. Without it a wrong value would be undefined
 * behavior in C++. In C they have the same size. */
#if defined(__cplusplus)
#define TRANSOM_ENUM_TYPE : int32_t
#else
#define TRANSOM_ENUM_TYPE
#endif

/** Version of this header. */
#define TRANSOM_VERSION_MAJOR 0
#define TRANSOM_VERSION_MINOR 1
#define TRANSOM_VERSION_PATCH 0

/** The value of an option, of any arithmetic type, that leaves the choice to
 * the model's files. It is outside of the range of every option. */
#define TRANSOM_FROM_MODEL (-2147483647 - 1)

/** Status codes. The numbers are also the exit codes of the command line tool.
 */
typedef enum transom_status TRANSOM_ENUM_TYPE {
  /** success */
  TRANSOM_STATUS_OK = 0,
  /** a comparison found a difference; only the tool uses it */
  TRANSOM_STATUS_CHECK_FAILED = 1,
  /** an argument is wrong: NULL, out of range, or the name of nothing; a
   * session that is in use; a callback that threw an exception */
  TRANSOM_STATUS_USAGE = 2,
  /** a file, tensor or text is malformed or inconsistent */
  TRANSOM_STATUS_REJECTED = 3,
  /** the request is well-formed but not supported: no code for this CPU, no
   * tokenizer */
  TRANSOM_STATUS_UNSUPPORTED = 4,
  /** the request exceeds a maximum, the planned memory or a capacity */
  TRANSOM_STATUS_LIMIT = 5,
  /** a file is missing or unreadable, or memory or threads are not available */
  TRANSOM_STATUS_UNAVAILABLE = 6,
  /** a bug of transom */
  TRANSOM_STATUS_INTERNAL = 70,
  /** transom_session_cancel() ended the call */
  TRANSOM_STATUS_CANCELLED = 130
} transom_status;

/** Returns the version of the library, such as "0.1.0". */
TRANSOM_API const char *transom_version(void);

/** Returns one line about the error of this thread's last failed call, or "" if
 * no call has failed. Valid until the thread's next call. */
TRANSOM_API const char *transom_last_error(void);

/** Returns a status as one or two words, such as "rejected". */
TRANSOM_API const char *transom_status_name(transom_status status);

#ifdef __cplusplus
}
#endif
#endif
