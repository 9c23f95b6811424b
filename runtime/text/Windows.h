// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of texts that are longer than what is embedded at once: each has the
// special tokens and the prompt of the text, and a part of its own tokens.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <vector>

namespace transom {

/// A window of a text.
struct TextWindow {
  Encoding encoding;
  size_t own = 0; ///< tokens that are neither special nor of the prompt
};

/// Splits a text that was not cut into windows of at most `most` tokens, of
/// which neighbors share `overlap`. The prompt is the first `promptBytes`. A
/// text that fits is one window. `Usage` where a window has no room for more
/// tokens than it shares.
Result<std::vector<TextWindow>> splitIntoWindows(const Encoding &text,
                                                 size_t promptBytes,
                                                 size_t most, size_t overlap);

} // namespace transom
