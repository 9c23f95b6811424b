// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the functions of the C API share: handles, bodies that let no exception
// escape, and the structs of callers that are older or newer. An older caller's
// options are shorter than ours; the fields that it lacks keep our defaults. A
// newer caller's options are longer; the fields that we lack must have their
// defaults, 0 or TRANSOM_FROM_MODEL. So new fields need one of these defaults.
#pragma once
#include "runtime/base/Checked.h"
#include "runtime/include/transom/transom.h"
#include "runtime/session/Session.h"
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

/// What the handle of a loaded model points to.
struct transom_model {
  std::unique_ptr<transom::Model> model;
};

/// What the handle of a session points to.
struct transom_session {
  std::unique_ptr<transom::Session> session;
};

namespace transom::api {

/// Keeps the message for transom_last_error() and gives the status.
transom_status fail(Status status, const std::string &message);

/// Runs the body of an API function, which gives a Result<void>.
template <typename Body> transom_status guarded(Body body) {
  try {
    Result<void> result = body();
    if (result)
      return TRANSOM_STATUS_OK;
    return fail(result.error().status, result.error().message);
  } catch (const std::bad_alloc &) {
    return fail(Status::Unavailable, "out of memory");
  } catch (...) {
    return fail(Status::Internal, "an unexpected exception");
  }
}

/// Whether the bytes after the fields that this version knows are the defaults
/// of newer options: 0 or TRANSOM_FROM_MODEL, of any arithmetic type.
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

/// Gives the caller as much of `filled` as it knows of.
template <typename T> Result<void> writeInfo(T filled, T *out) {
  size_t size = out ? out->struct_size : 0;
  if (size <= sizeof(size_t))
    return usageError("the info struct is missing or its struct_size is " +
                      std::to_string(size));
  filled.struct_size = size;
  std::memcpy(out, &filled, std::min(size, sizeof(T)));
  return {};
}

/// The error for an argument that is NULL.
inline Error nullArgument(const char *what) {
  return usageError(std::string("the argument '") + what + "' is NULL");
}

/// Checks texts that a caller passes: only an empty one may have no data.
inline Result<void> checkTexts(const char *what, const transom_text *texts,
                               size_t count) {
  for (size_t i = 0; i != count; ++i)
    if (!texts[i].data && texts[i].size)
      return usageError(std::string("the argument '") + what +
                        "' has a text of " + std::to_string(texts[i].size) +
                        " bytes whose data is NULL");
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

/// Checks that a result of `count` items fits into `capacity` bytes.
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

/// Writes as much of the defaults as the caller knows of, and zeros where its
/// struct is longer.
template <typename T> void initialize(const T &defaults, T *out, size_t size) {
  if (!out || size < sizeof(size_t))
    return;
  std::memset(static_cast<void *>(out), 0, size);
  std::memcpy(static_cast<void *>(out), &defaults, std::min(size, sizeof(T)));
  out->struct_size = size;
}

} // namespace transom::api
