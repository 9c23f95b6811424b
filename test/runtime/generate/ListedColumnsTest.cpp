// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns for the tokens of texts that are added and removed.
#include "runtime/generate/ListedColumns.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace transom;

namespace {

using List = std::vector<int64_t>;

/// Runs update() for these lists.
bool update(ListedColumns &columns, std::initializer_list<const List *> lists) {
  columns.begin();
  for (const List *list : lists)
    columns.add(*list);
  return columns.update();
}

/// Tokens and columns are each other's inverse, and the lists have columns.
void check(const ListedColumns &columns, int64_t width,
           const std::vector<const List *> &lists) {
  const List &tokens = columns.getTokens();
  std::set<int64_t> all(tokens.begin(), tokens.end());
  ASSERT_EQ(all.size(), tokens.size());
  for (size_t i = 0; i != tokens.size(); ++i)
    ASSERT_EQ(columns.getColumns()[tokens[i]], int64_t(i));
  for (int64_t token = 0; token != width; ++token)
    ASSERT_EQ(columns.getColumns()[token] >= 0, all.count(token) == 1);
  for (const List *list : lists)
    for (int64_t token : *list)
      ASSERT_TRUE(all.count(token)) << token;
}

} // namespace

TEST(ListedColumns, a_token_keeps_its_column_while_texts_come_and_go) {
  const List a = {0, 1, 5, 9}, b = {0, 1, 6, 7}, c = {0, 1, 2};
  ListedColumns columns(12, 12);
  ASSERT_TRUE(update(columns, {&a, &b}));
  EXPECT_EQ(columns.getTokens(), (List{0, 1, 5, 9, 6, 7}));
  ASSERT_TRUE(update(columns, {&b, &c}));
  EXPECT_EQ(columns.getTokens(), (List{0, 1, 5, 9, 6, 7, 2}));
  check(columns, 12, {&b, &c});
  // Removing a text needs nothing new.
  ASSERT_TRUE(update(columns, {&b}));
  EXPECT_EQ(columns.getTokens(), (List{0, 1, 5, 9, 6, 7, 2}));
}

TEST(ListedColumns, columns_are_listed_anew_where_most_are_of_no_text) {
  const List a = {0, 1, 2, 3, 4, 5}, b = {4, 7};
  ListedColumns columns(10, 10);
  ASSERT_TRUE(update(columns, {&a}));
  ASSERT_TRUE(update(columns, {&b}));
  EXPECT_EQ(columns.getTokens(), (List{4, 7}));
  check(columns, 10, {&b});
}

TEST(ListedColumns, columns_are_listed_anew_where_there_is_no_room) {
  const List a = {0, 1, 2, 3}, b = {2, 3, 4, 5};
  ListedColumns columns(10, 5);
  ASSERT_TRUE(update(columns, {&a}));
  ASSERT_TRUE(update(columns, {&b}));
  EXPECT_EQ(columns.getTokens(), b);
}

TEST(ListedColumns, a_step_needs_all_columns) {
  const List a = {0, 1, 2, 3}, b = {2, 3, 4, 5}, none;
  ListedColumns columns(10, 5), without(10, 0);
  EXPECT_FALSE(update(columns, {}));
  EXPECT_FALSE(update(columns, {&a, &none}));
  EXPECT_FALSE(update(columns, {&a, &b}));
  EXPECT_FALSE(update(columns, {&a, &b}));
  EXPECT_TRUE(update(columns, {&a}));
  EXPECT_FALSE(update(without, {&a}));
}

TEST(ListedColumns, random_texts) {
  constexpr int64_t width = 300;
  // Lists share the first five tokens.
  std::mt19937 random(3);
  std::vector<List> lists(40);
  for (List &list : lists) {
    for (int64_t token = 0; token != width; ++token)
      if (token < 5 || random() % 20 == 0)
        list.push_back(token);
  }
  ListedColumns columns(width, 100);
  int64_t numListed = 0;
  // Each step has a few adjacent lists.
  for (int step = 0; step != 2000; ++step) {
    columns.begin();
    std::vector<const List *> own;
    std::set<int64_t> tokens;
    const size_t first = random() % 36, count = 1 + random() % 4;
    for (size_t i = first; i != first + count; ++i) {
      own.push_back(&lists[i]);
      columns.add(lists[i]);
      tokens.insert(lists[i].begin(), lists[i].end());
    }
    // Too many tokens are refused; the limit also bounds unused columns.
    ASSERT_EQ(columns.update(), tokens.size() <= 100);
    if (tokens.size() > 100)
      continue;
    ++numListed;
    ASSERT_LE(columns.getTokens().size(),
              std::min<size_t>(100, 2 * tokens.size()));
    check(columns, width, own);
  }
  EXPECT_GT(numListed, 1000);
}
