// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicts tokens for the mask tokens with a masked language model.
#pragma once
#include "runtime/session/Session.h"
#include <vector>

namespace transom {

/// The most probable tokens for one mask token, best first; ties are sorted by
/// id.
struct FilledMask {
  size_t token; ///< the mask token's index in the text
  std::vector<transom_fill> fills;
};

/// Fills the masks in a text, as transom_session_fill_masks(). `encoding`
/// receives the text's tokens.
Result<std::vector<FilledMask>> fillMasks(Session &session,
                                          const transom_text &text,
                                          const transom_fill_options &options,
                                          Encoding &encoding);

} // namespace transom
