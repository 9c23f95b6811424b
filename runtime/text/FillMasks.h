// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokens that a masked language model puts in place of mask tokens.
#pragma once
#include "runtime/session/Session.h"
#include <vector>

namespace transom {

/// The most probable tokens of one mask, best first; of equal ones, that of the
/// smaller id.
struct FilledMask {
  size_t token; ///< the mask's index among the tokens of the text
  std::vector<transom_fill> fills;
};

/// The masks of a text, as transom_session_fill_masks(). `encoding` gets the
/// text's tokens.
Result<std::vector<FilledMask>> fillMasks(Session &session,
                                          const transom_text &text,
                                          const transom_fill_options &options,
                                          Encoding &encoding);

} // namespace transom
