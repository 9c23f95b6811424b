// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The held text is shorter than the longest stop string, so a plain search is
// fast enough. It starts where a stop string could, which is never inside a
// UTF-8 character.
#include "runtime/generate/StopStrings.h"
#include <algorithm>

using namespace transom;

/// Returns the start of the longest suffix of the text that is a prefix of a
/// stop string.
size_t StopStrings::holdFrom() const {
  size_t longest = 0;
  for (const std::string &string : strings)
    for (size_t length = std::min(string.size() - 1, held.size());
         length > longest; --length)
      if (held.compare(held.size() - length, length, string, 0, length) == 0)
        longest = length;
  return held.size() - longest;
}

bool StopStrings::feed(std::string_view delta, std::string &out) {
  if (strings.empty()) {
    out.append(delta);
    return false;
  }
  held.append(delta);
  size_t first = std::string::npos;
  for (const std::string &string : strings)
    first = std::min(first, held.find(string));
  const bool found = first != std::string::npos;
  const size_t given = found ? first : holdFrom();
  out.append(held, 0, given);
  held.erase(0, found ? std::string::npos : given);
  return found;
}

void StopStrings::flush(std::string &out) {
  out.append(held);
  held.clear();
}
