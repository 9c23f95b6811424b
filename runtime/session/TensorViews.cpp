// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks for the caller's token ids.
#include "runtime/session/TensorViews.h"

using namespace transom;

TokenRows TokenRows::fromMask(const Entry &entry, const Call &call,
                              size_t ids) {
  TokenRows rows(entry.inputs[ids], call.input(ids), call.input(ids + 1),
                 call.inputShape(ids).dims[1]);
  rows.maskArgument = &entry.inputs[ids + 1];
  return rows;
}

TokenRows TokenRows::fromLabels(const Entry &entry, const Call &call,
                                size_t labels, int64_t bound) {
  TokenRows rows(entry.inputs[labels], call.input(labels), nullptr,
                 call.inputShape(labels).dims[1]);
  rows.isLabels = true;
  rows.bound = bound;
  return rows;
}

Result<int64_t> TokenRows::check(int64_t row, bool all) const {
  int64_t tokens = 0;
  for (int64_t column = 0; column != columns; ++column) {
    const int64_t real = isLabels ? isToken(row, column) : mask(row, column);
    const int64_t id = ids(row, column);
    auto at = [&] {
      return " at [" + std::to_string(row) + ", " + std::to_string(column) +
             "]";
    };
    if (real != 0 && real != 1)
      return rejected("input '" + maskArgument->name + "' has the value " +
                      std::to_string(real) + at() + "; masks hold 0 and 1");
    if ((real || all) && (id < 0 || id >= bound))
      return rejected(
          "input '" + argument->name + "' has the value " + std::to_string(id) +
          at() + "; ids of this model are 0 to " + std::to_string(bound - 1) +
          (isLabels ? ", and -100 where there is no token" : ""));
    tokens += real;
  }
  return tokens;
}

int64_t TokenRows::count(int64_t row) const {
  int64_t tokens = 0;
  for (int64_t column = 0; column != columns; ++column)
    tokens += isToken(row, column);
  return tokens;
}
