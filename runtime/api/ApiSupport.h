// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the C API functions: handles, a wrapper that lets no exceptions
// escape, and support for older and newer callers' structs. An older caller's
// options are shorter; missing fields keep our defaults. A newer caller's
// options are longer; fields unknown to us must have their defaults, 0 or
// TRANSOM_FROM_MODEL. So new fields need such a default.
#pragma once
#include "runtime/api/SessionLock.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Finally.h"
#include "runtime/execute/HostCall.h"
#include "runtime/include/transom/transom.h"
#include "runtime/session/Session.h"
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

/// The object that a model handle points to. Sessions share the model, so
/// handles may be freed in any order.
struct transom_model {
  std::shared_ptr<const transom::Model> model;
};

/// The object that a session handle points to.
struct transom_session {
  std::shared_ptr<const transom::Model> model; // outlives the session
  std::unique_ptr<transom::Session> session;
  transom::api::SessionLock lock;
};

namespace transom::api {

/// Stores the message for transom_last_error() and returns the status.
transom_status fail(Status status, std::string_view message);

/// Runs an API function's body, which returns a Result<void>, in the library's
/// floating-point mode. No exception escapes, except to unwind a thread that
/// was cancelled in a host function.
template <typename Body> transom_status guarded(Body body) {
  const HostCall call;
  try {
    Result<void> result = body();
    if (result)
      return TRANSOM_STATUS_OK;
    return fail(result.error().status, result.error().message);
#if defined(__GLIBCXX__)
  } catch (abi::__forced_unwind &) {
    throw;
#endif
  } catch (const HostError &thrown) {
    return fail(Status::Usage, thrown.what());
  } catch (const std::bad_alloc &) {
    return fail(Status::Unavailable, "out of memory");
  } catch (const std::length_error &) {
    return fail(Status::Limit, "a count or a size is too large");
  } catch (...) {
    return fail(Status::Internal, "an unexpected exception");
  }
}

/// Does the same for a session, which no other call may use: body(session).
template <typename Body>
transom_status onSession(const transom_session *given, Body body) {
  return guarded([&]() -> Result<void> {
    if (!given)
      return usageError("the argument 'session' is NULL");
    auto *handle = const_cast<transom_session *>(given);
    TRANSOM_TRY(handle->lock.acquire());
    const Finally release([&] {
      if (handle->lock.release())
        delete handle;
    });
    return body(*handle->session);
  });
}

/// True if the bytes after the fields that this version has contain default
/// values: 0 or TRANSOM_FROM_MODEL, in any arithmetic type.
bool areDefaults(const char *bytes, size_t size);

/// Copies the caller's options over the defaults.
template <typename T> Result<void> readOptions(const T *given, T &options) {
  if (!given)
    return {};
  size_t size = given->struct_size;
  if (size <= sizeof(size_t) || size > 65536)
    return usageError("struct_size is " + std::to_string(size) +
                      "; start from the struct's _default() function");
  auto bytes = reinterpret_cast<const char *>(given);
  if (size > sizeof(T) && !areDefaults(bytes + sizeof(T), size - sizeof(T)))
    return usageError("the caller sets an option of a newer version of transom "
                      "than " +
                      std::string(transom_version()));
  std::memcpy(&options, given, std::min(size, sizeof(T)));
  options.struct_size = sizeof(T);
  return {};
}

/// Copies the fields in `filled` that the caller's struct has.
template <typename T> Result<void> writeInfo(T filled, T *out) {
  size_t size = out ? out->struct_size : 0;
  if (size <= sizeof(size_t))
    return usageError("the info struct is missing or its struct_size is " +
                      std::to_string(size));
  filled.struct_size = size;
  std::memcpy(out, &filled, std::min(size, sizeof(T)));
  return {};
}

/// Returns the error for a NULL argument.
inline Error nullArgument(const char *what) {
  return usageError(std::string("the argument '") + what + "' is NULL");
}

/// Checks that a caller's array with `count` elements is not NULL, and is
/// possible: no object in memory has more than PTRDIFF_MAX bytes.
template <typename T>
Result<void> checkArray(const char *what, const T *data, size_t count) {
  if (count && !data)
    return nullArgument(what);
  if (count > size_t(PTRDIFF_MAX) / sizeof(T))
    return usageError("the argument '" + std::string(what) + "' cannot have " +
                      std::to_string(count) + " elements");
  return {};
}

/// Checks a caller's texts: only an empty text may have no data.
inline Result<void> checkTexts(const char *what, const transom_text *texts,
                               size_t count) {
  TRANSOM_TRY(checkArray(what, texts, count));
  for (size_t i = 0; i != count; ++i)
    if ((!texts[i].data && texts[i].size) ||
        texts[i].size > size_t(PTRDIFF_MAX))
      return usageError(
          std::string("the argument '") + what + "' has a text of " +
          std::to_string(texts[i].size) + " bytes" +
          (texts[i].data ? ", which cannot exist" : " whose data is NULL"));
  return {};
}

/// Copies text if it fits, and sets its size in any case.
inline Result<void> writeText(std::string_view from, char *to, size_t capacity,
                              size_t *size) {
  if (capacity && !to)
    return nullArgument("text");
  if (size)
    *size = from.size();
  if (from.size() > capacity || (!to && !from.empty()))
    return limitError(std::to_string(from.size()) +
                      " bytes of text do not fit into " +
                      std::to_string(capacity) + " bytes");
  std::copy(from.begin(), from.end(), to);
  return {};
}

/// Checks that a result with `count` elements fits into `capacity` bytes.
template <typename T>
Result<void> checkRoom(const char *what, CheckedSize count, const T *data,
                       size_t capacity) {
  const std::optional<uint64_t> bytes = (count * sizeof(T)).value();
  if (bytes && *bytes && !data)
    return nullArgument(what);
  if (!bytes || *bytes > capacity)
    return limitError("the " + std::string(what) + " need " +
                      (bytes ? std::to_string(*bytes) : "too many") +
                      " bytes, got a capacity of " + std::to_string(capacity));
  return {};
}

/// Writes the defaults that fit into the caller's struct, and zeros if it is
/// longer.
template <typename T> void initialize(const T &defaults, T *out, size_t size) {
  if (!out || size < sizeof(size_t))
    return;
  std::memset(static_cast<void *>(out), 0, size);
  std::memcpy(static_cast<void *>(out), &defaults, std::min(size, sizeof(T)));
  out->struct_size = size;
}

} // namespace transom::api
