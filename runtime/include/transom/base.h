/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Status codes, errors and the library version.
 *
 * Rules for all headers in this API:
 * - The headers are C99, and C++11 or later.
 * - A function that can fail returns a transom_status and sets the one-line
 *   message that transom_last_error() returns. On error it changes nothing,
 *   unless documented otherwise.
 * - Calls compute with round-to-nearest, regardless of the floating-point mode
 *   in the calling thread, and leave the mode and its exception flags
 *   unchanged. Callbacks run in the caller's mode.
 * - A callback may throw a C++ exception, which ends the call with
 *   TRANSOM_STATUS_USAGE. A pthread_cancel() takes effect in a callback or
 *   after the call; the objects stay usable.
 * - An object with a _create() or _load() function is freed with _free().
 * - A struct with a `struct_size` is initialized by its _default() function, so
 *   that later versions can add fields at the end. A library that is older than
 *   the caller's header accepts default values in fields that it does not know,
 *   and returns TRANSOM_STATUS_USAGE for other values.
 * - A _default() function is inline: it calls the library's _init() function
 *   with the struct size in the caller's header, so a newer library never
 *   writes past the struct. Callers from other languages call _init().
 * - The option value TRANSOM_FROM_MODEL selects the setting in the model's
 *   files.
 * - A `capacity` is the size in bytes of the memory at a pointer. If it is
 *   too small, the function returns TRANSOM_STATUS_LIMIT.
 * - Enumerations are int32_t. A value that is not an enumerator is a
 *   TRANSOM_STATUS_USAGE error; for a tensor dtype it is
 *   TRANSOM_STATUS_REJECTED.
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

/* The underlying type of enumerations. Without it, an invalid value would be
 * undefined behavior in C++. In C they have the same size. */
#if defined(__cplusplus)
#define TRANSOM_ENUM_TYPE : int32_t
#else
#define TRANSOM_ENUM_TYPE
#endif

/** Header version. */
#define TRANSOM_VERSION_MAJOR 0
#define TRANSOM_VERSION_MINOR 1
#define TRANSOM_VERSION_PATCH 0

/** The value of an option, of any arithmetic type, that leaves the choice to
 * the model's files. It is outside the range of every option. */
#define TRANSOM_FROM_MODEL (-2147483647 - 1)

/** Status codes, which are also the exit codes of the command line tool. */
typedef enum transom_status TRANSOM_ENUM_TYPE {
  /** success */
  TRANSOM_STATUS_OK = 0,
  /** a comparison found a difference; only the tool uses it */
  TRANSOM_STATUS_CHECK_FAILED = 1,
  /** an argument is wrong: NULL, out of range or an unknown name; a session is
   * already in use; a callback threw an exception */
  TRANSOM_STATUS_USAGE = 2,
  /** a file, tensor or text is malformed or inconsistent */
  TRANSOM_STATUS_REJECTED = 3,
  /** the request is well-formed but not supported, for example no code for this
   * CPU or no tokenizer */
  TRANSOM_STATUS_UNSUPPORTED = 4,
  /** the request exceeds a maximum, the planned memory or a capacity */
  TRANSOM_STATUS_LIMIT = 5,
  /** a file is missing or unreadable, or memory or threads are unavailable */
  TRANSOM_STATUS_UNAVAILABLE = 6,
  /** a bug in transom */
  TRANSOM_STATUS_INTERNAL = 70,
  /** transom_session_cancel() ended the call */
  TRANSOM_STATUS_CANCELLED = 130
} transom_status;

/** Returns the library version, such as "0.1.0". */
TRANSOM_API const char *transom_version(void);

/** Returns the one-line error message of this thread's last failed call, or ""
 * if no call has failed. Valid until the thread's next call. */
TRANSOM_API const char *transom_last_error(void);

/** Returns the status name in one or two words, such as "rejected". */
TRANSOM_API const char *transom_status_name(transom_status status);

#ifdef __cplusplus
}
#endif
#endif
