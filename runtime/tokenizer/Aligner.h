// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps characters in changed text to byte ranges in the original text, with the
// same counting rules as Hugging Face.
#pragma once
#include "runtime/tokenizer/Normalizer.h"
#include <algorithm>

namespace transom::tokenizer {

/// Builds the changed text from `source` character by character.
class Aligner {
public:
  /// `source` is not empty and outlives this.
  explicit Aligner(const Characters &source) : source(source) {}

  void reserve(size_t size) { result.reserve(size); }

  /// Appends `code`. If `change` is 1, it shares its position with the
  /// preceding character; if 0, it takes the next position in the source; if
  /// -n, n more source characters are skipped.
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
