// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds stop strings in text that arrives in deltas. A match may begin in one
// token and end in another, so text is held back while it could be the
// beginning of a match.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// Searches for the strings in one text stream. A copy continues independently.
class StopStrings {
public:
  /// The strings must not be empty.
  explicit StopStrings(std::vector<std::string> strings)
      : strings(std::move(strings)) {}

  /// Takes the next delta, and appends to `out` the text in which no stop
  /// string can begin any more. Returns true if a stop string is found: the
  /// text ends before it, and the rest is dropped.
  bool feed(std::string_view delta, std::string &out);
  /// Appends the text that is held back.
  void flush(std::string &out);

private:
  size_t holdFrom() const;
  std::vector<std::string> strings;
  std::string held;
};

} // namespace transom
