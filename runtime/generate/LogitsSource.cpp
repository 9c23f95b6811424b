// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks and messages that generation and scoring share.
#include "runtime/generate/LogitsSource.h"

using namespace transom;

Result<void> transom::checkTokens(const int64_t *tokens, size_t count,
                                  int64_t vocabulary, const std::string &what) {
  for (size_t i = 0; i != count; ++i)
    if (tokens[i] < 0 || tokens[i] >= vocabulary)
      return rejected(what + ": id " + std::to_string(tokens[i]) +
                      " at position " + std::to_string(i) +
                      " lies outside the vocabulary of " +
                      std::to_string(vocabulary));
  return {};
}

Error transom::nonFiniteLogit(int64_t position, const std::string &sequence) {
  return rejected("non-finite logit at position " + std::to_string(position) +
                  " of " + sequence +
                  ": the weights or the input give NaN or infinity");
}
