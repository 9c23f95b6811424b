// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The corpus for the golden data: strings with mixed scripts, marks, controls,
// emoji, long words and added tokens, made from an index. The script that made
// the golden data, tools/dev/goldens/make-tokenizer-goldens.py, makes the same
// strings.
#pragma once
#include <cstddef>
#include <string>

namespace transom::test {

/// The number of strings with random elements; two strings per 1024-code-point
/// block follow them.
inline constexpr size_t randomStrings = 102400;
inline constexpr size_t corpusSize = randomStrings + 2 * (0x110000 / 1024);

/// Tests use every N-th string. Sanitizers make them slow, so a build with
/// sanitizers uses a sample, for which there is no sum over the whole corpus.
#ifdef TRANSOM_TEST_SANITIZED
inline constexpr size_t corpusStride = 31;
#else
inline constexpr size_t corpusStride = 1;
#endif

/// The string for an index below `corpusSize`, in UTF-8.
std::string corpusString(size_t index);

} // namespace transom::test
