// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects the output head columns for a step: the tokens that any text in the
// step may have next.
#pragma once
#include <cstdint>
#include <vector>

namespace transom {

/// Column selection for a generation's steps. A token keeps its column while
/// texts come and go, since a step copies only new columns. If half of the
/// columns are unused, or there is no room, the selection is rebuilt.
class ListedColumns {
public:
  /// Lists contain tokens below `width`; a step computes at most `most`
  /// columns.
  ListedColumns(int64_t width, int64_t most);

  /// Begins the lists for a step.
  void begin() {
    lists.clear();
    needsAll = false;
  }
  /// Adds a text's list, which must stay valid; an empty list means all tokens.
  void add(const std::vector<int64_t> &list);
  /// Assigns columns to the tokens in all lists. Returns false if the step
  /// needs all columns: there are too many tokens, or there is no list.
  bool update();

  /// The token for each column.
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
  std::vector<uint32_t> seenAt; ///< by token: the last set in which it was seen
  uint32_t set = 0;
};

} // namespace transom
