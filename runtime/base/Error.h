// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors as values: a status with one line of text, and a result that holds
// either a value or an error. No exception crosses an API boundary.
#pragma once
#include <cassert>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace transom {

/// An error category. The values are the tool's exit codes and the C API's
/// `transom_status`.
enum class Status : int {
  Ok = 0,
  CheckFailed = 1, ///< a check failed (verify, bench against a bound)
  Usage = 2,       ///< a flag, its value, or an entry the model lacks
  Rejected = 3,    ///< malformed or inconsistent input
  Unsupported = 4, ///< well-formed but not supported
  Limit = 5,       ///< refused: over a limit, nothing started
  Unavailable = 6, ///< file missing or unreadable, disk full
  Internal = 70,   ///< our bug
};

/// One error: a one-line message (lower case, no final period), and notes that
/// are shown with `-v`.
struct Error {
  Status status = Status::Internal;
  std::string message;
  std::vector<std::string> notes;
};

/// A value of type T or an error. `TRANSOM_ASSIGN` takes the value or returns
/// the error.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return std::get<0>(state); }
  const T &operator*() const { return std::get<0>(state); }
  T *operator->() { return &std::get<0>(state); }
  const T *operator->() const { return &std::get<0>(state); }
  const Error &error() const { return std::get<1>(state); }
  Error takeError() { return std::move(std::get<1>(state)); }

private:
  std::variant<T, Error> state;
};

/// Success or an error, for calls that return no value.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : failure(std::move(error)), failed(true) {}

  explicit operator bool() const { return !failed; }
  const Error &error() const { return failure; }
  Error takeError() { return std::move(failure); }

private:
  Error failure;
  bool failed = false;
};

/// Shorthands for errors caused by input.
inline Error rejected(std::string text) {
  return {Status::Rejected, std::move(text), {}};
}
inline Error unsupported(std::string text) {
  return {Status::Unsupported, std::move(text), {}};
}
inline Error limitError(std::string text) {
  return {Status::Limit, std::move(text), {}};
}
inline Error unavailable(std::string text) {
  return {Status::Unavailable, std::move(text), {}};
}
inline Error usageError(std::string text) {
  return {Status::Usage, std::move(text), {}};
}
inline Error internalError(std::string text) {
  return {Status::Internal, std::move(text), {}};
}

} // namespace transom

/// Evaluates a `Result<void>` expression and, if it failed, returns its error
/// from the enclosing function.
#define TRANSOM_TRY(...)                                                       \
  do {                                                                         \
    if (auto transomResult = (__VA_ARGS__); !transomResult)                    \
      return transomResult.takeError();                                        \
  } while (false)

/// `TRANSOM_ASSIGN(int n, readCount())` declares `n` with the value of a
/// `Result<int>` expression, or returns its error from the enclosing function.
/// The declaration must not contain a comma.
#define TRANSOM_ASSIGN(declaration, ...)                                       \
  TRANSOM_ASSIGN_RESULT(TRANSOM_CONCATENATE(transomResult, __LINE__),          \
                        declaration, __VA_ARGS__)
#define TRANSOM_CONCATENATE(left, right) TRANSOM_CONCATENATE_TOKENS(left, right)
#define TRANSOM_CONCATENATE_TOKENS(left, right) left##right
#define TRANSOM_ASSIGN_RESULT(result, declaration, ...)                        \
  auto result = (__VA_ARGS__);                                                 \
  if (!result)                                                                 \
    return result.takeError();                                                 \
  declaration = std::move(*result)
