// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The columns of the output head that a step multiplies: those of the tokens
// that any of its texts may have next.
#pragma once
#include <cstdint>
#include <vector>

namespace transom {

/// The columns of the steps of a generation. A token keeps its column while
/// texts come and go, since a step copies the columns that are new. Once half
/// of them are of no text, or there is no room, they are listed anew.
class ListedColumns {
public:
  /// Lists have tokens below `width`; a step multiplies at most `most` columns.
  ListedColumns(int64_t width, int64_t most);

  /// Begins the lists of a step.
  void begin() {
    lists.clear();
    needsAll = false;
  }
  /// Adds the list of a text, which has to stay; an empty one has all tokens.
  void add(const std::vector<int64_t> &list);
  /// Gives the tokens of the lists their columns. False where the step needs
  /// all columns: there are too many tokens, or no lists.
  bool update();

  /// The token of each column.
  const std::vector<int64_t> &getTokens() const { return tokens; }
  /// By token: its column, or -1.
  const int32_t *getColumns() const { return columns.data(); }

private:
  bool list();

  int64_t most;
  bool needsAll = false, fits = false;
  std::vector<const std::vector<int64_t> *> lists, known;
  std::vector<int64_t> tokens, added;
  std::vector<int32_t> columns;
  std::vector<uint32_t> seenAt; ///< by token: the set that it was seen in
  uint32_t set = 0;
};

} // namespace transom
