// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which bytes of the original text the characters of a changed text stand for,
// as Hugging Face counts it.
#pragma once
#include "runtime/tokenizer/Normalizer.h"
#include <algorithm>

namespace transom::tokenizer {

/// Makes a text of another one character by character.
class Aligner {
public:
  /// `source` is not empty and outlives this.
  explicit Aligner(const Characters &source) : source(source) {}

  void reserve(size_t size) { result.reserve(size); }

  /// Appends `code`. With `change` 1 it shares the place of the character
  /// before it; with 0 it takes that of the next character of the source, and
  /// with -n it skips n more of them.
  void add(char32_t code, int64_t change) {
    size_t place = change > 0 ? std::max<size_t>(taken, 1) - 1 : taken;
    const Character &from = source[std::min(place, source.size() - 1)];
    result.push_back({code, from.begin, from.end});
    if (change <= 0)
      taken += static_cast<size_t>(1 - change);
  }

  Characters take() { return std::move(result); }

private:
  const Characters &source;
  Characters result;
  size_t taken = 0;
};

} // namespace transom::tokenizer
