// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// User options for scoring text pairs with a causal language model.
#pragma once
#include <string>

namespace transom {

/// Options for scoring text pairs with a causal language model whose folder
/// does not specify them.
struct ScoringOptions {
  std::string trueToken, falseToken; ///< as in the vocabulary; empty: none
  std::string chatTemplate;          ///< a file; empty: the folder's template
};

} // namespace transom
