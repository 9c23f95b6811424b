// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows for texts that are too long to embed at once: each contains the
// text's special and prompt tokens and a part of its own tokens.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <vector>

namespace transom {

/// A window in a text.
struct TextWindow {
  Encoding encoding;
  size_t own = 0; ///< tokens that are neither special nor in the prompt
};

/// Splits an untruncated text into windows with at most `most` tokens, where
/// adjacent windows share `overlap`. The prompt is the first `promptBytes`. A
/// text that fits is one window. `Usage` if a window has no room for more
/// tokens than it shares.
Result<std::vector<TextWindow>> splitIntoWindows(const Encoding &text,
                                                 size_t promptBytes,
                                                 size_t most, size_t overlap);

} // namespace transom
