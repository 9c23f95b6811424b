// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most steps have the same texts as the previous step; then nothing changes.
#include "runtime/generate/ListedColumns.h"
#include <algorithm>

using namespace transom;

ListedColumns::ListedColumns(int64_t width, int64_t most) : most(most) {
  if (most == 0)
    return;
  columns.assign(size_t(width), -1);
  seenAt.resize(size_t(width));
  tokens.reserve(size_t(most));
  added.reserve(size_t(most));
}

void ListedColumns::add(const std::vector<int64_t> &list) {
  if (list.empty())
    needsAll = true;
  // Texts for the same prompt are adjacent.
  else if (lists.empty() || lists.back() != &list)
    lists.push_back(&list);
}

bool ListedColumns::update() {
  if (most == 0 || needsAll || lists.empty())
    return false;
  if (lists == known)
    return fits;
  known = lists;
  return fits = list();
}

bool ListedColumns::list() {
  if (++set == 0) {
    std::fill(seenAt.begin(), seenAt.end(), 0);
    set = 1;
  }
  // Count the tokens, and find those without a column.
  int64_t count = 0;
  added.clear();
  for (const std::vector<int64_t> *own : lists)
    for (int64_t token : *own) {
      if (seenAt[size_t(token)] == set)
        continue;
      seenAt[size_t(token)] = set;
      if (++count > most)
        return false;
      if (columns[size_t(token)] < 0)
        added.push_back(token);
    }

  // Start again if too many columns would be unused.
  if (int64_t(tokens.size() + added.size()) > std::min(most, 2 * count)) {
    added.clear();
    for (int64_t token : tokens)
      columns[size_t(token)] = -1;
    tokens.clear();
    for (const std::vector<int64_t> *own : lists)
      for (int64_t token : *own)
        if (seenAt[size_t(token)] == set) {
          seenAt[size_t(token)] = 0;
          added.push_back(token);
        }
  }
  for (int64_t token : added) {
    columns[size_t(token)] = int32_t(tokens.size());
    tokens.push_back(token);
  }
  return true;
}
