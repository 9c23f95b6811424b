// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a causal language model scores pairs of texts, as the user says it.
#pragma once
#include <string>

namespace transom {

/// What scores pairs of texts with a causal language model whose folder does
/// not say it.
struct ScoringOptions {
  std::string trueToken, falseToken; ///< as in the vocabulary; empty: none
  std::string chatTemplate;          ///< a file; empty: that of the folder
};

} // namespace transom
