// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The corpus of the golden data: strings of mixed scripts, marks, controls,
// emoji, long words and added tokens, made from an index. The script that made
// the golden data, tools/dev/goldens/make-tokenizer-goldens.py, makes the same
// ones.
#pragma once
#include <cstddef>
#include <string>

namespace transom::test {

/// How many strings of random elements there are; they are followed by two
/// strings per block of 1024 code points.
inline constexpr size_t randomStrings = 102400;
inline constexpr size_t corpusSize = randomStrings + 2 * (0x110000 / 1024);

/// Tests look at every so many strings. Sanitizers make them slow, so a build
/// with sanitizers looks at a sample, which has no sum over the whole corpus.
#ifdef TRANSOM_TEST_SANITIZED
inline constexpr size_t corpusStride = 31;
#else
inline constexpr size_t corpusStride = 1;
#endif

/// The string of an index below `corpusSize`, in UTF-8.
std::string corpusString(size_t index);

} // namespace transom::test
