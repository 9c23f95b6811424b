// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ragged batch tables: row order, first columns kept, key panels.
#include "runtime/execute/RaggedBatch.h"
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace transom;

namespace {

/// A table with its memory.
struct Table {
  std::vector<transom_sequence> sequences;
  std::vector<int32_t> tokenSequence, tokenColumn;
  std::vector<int64_t> tokenKey;
  transom_ragged_batch ragged{};

  RaggedBatchStorage storage(int64_t batch, int64_t rows) {
    sequences.resize(size_t(batch));
    tokenSequence.resize(size_t(rows));
    tokenColumn.resize(size_t(rows));
    tokenKey.resize(size_t(rows));
    return {sequences.data(), tokenSequence.data(), tokenColumn.data(),
            tokenKey.data()};
  }
};

template <typename Mask>
Table build(const std::vector<Mask> &mask, int64_t batch, bool keepFirst) {
  Table table;
  int64_t columns = int64_t(mask.size()) / batch;
  int64_t rows = countTokens(mask.data(), batch, columns, keepFirst);
  buildRagged(mask.data(), batch, columns, keepFirst,
              table.storage(batch, rows), table.ragged);
  EXPECT_EQ(table.ragged.num_tokens, rows);
  return table;
}

} // namespace

TEST(RaggedBatch, tokens_are_in_column_order) {
  Table table = build<int64_t>({1, 0, 1, 1, 0, 0, 1, 0}, 2, false);
  EXPECT_EQ(table.tokenColumn, (std::vector<int32_t>{0, 2, 3, 2}));
  EXPECT_EQ(table.tokenSequence, (std::vector<int32_t>{0, 0, 0, 1}));
  EXPECT_EQ(table.tokenKey, (std::vector<int64_t>{0, 1, 2, 32}));
  EXPECT_EQ(table.ragged.key_positions, 64);
  EXPECT_EQ(table.sequences[0].column0_token, 0);
  EXPECT_EQ(table.sequences[1].column0_token, -1);
  EXPECT_EQ(table.sequences[1].first_token, 3);
  EXPECT_EQ(table.sequences[1].num_keys, 1);
}

TEST(RaggedBatch, keeps_a_masked_first_column_as_the_last_token) {
  Table table = build<uint8_t>({0, 1, 1, 0, 0, 0}, 2, true);
  EXPECT_EQ(table.tokenColumn, (std::vector<int32_t>{1, 2, 0, 0}));
  EXPECT_EQ(table.sequences[0].num_tokens, 3);
  EXPECT_EQ(table.sequences[0].num_keys, 2);
  EXPECT_EQ(table.sequences[0].column0_token, 2);
  EXPECT_EQ(table.sequences[1].num_tokens, 1);
  EXPECT_EQ(table.sequences[1].num_keys, 0);
  EXPECT_EQ(table.sequences[1].column0_token, 3);
  EXPECT_EQ(table.sequences[1].key_base, 32);
}

TEST(RaggedBatch, an_empty_sequence_takes_no_panel) {
  Table table = build<int64_t>({0, 0, 1, 1}, 2, false);
  EXPECT_EQ(table.sequences[0].num_tokens, 0);
  EXPECT_EQ(table.sequences[1].key_base, 0);
  EXPECT_EQ(table.ragged.key_positions, 32);
}

TEST(RaggedBatch, uniform_batches_have_all_tokens) {
  Table table;
  buildUniform(2, 33, table.storage(2, 66), table.ragged);
  EXPECT_EQ(table.ragged.num_tokens, 66);
  EXPECT_EQ(table.ragged.columns, 33);
  EXPECT_EQ(table.sequences[1].first_token, 33);
  EXPECT_EQ(table.sequences[1].num_keys, 33);
  EXPECT_EQ(table.sequences[1].key_base, 64);
  EXPECT_EQ(table.sequences[1].column0_token, 33);
  EXPECT_EQ(table.ragged.key_positions, 128);
}

TEST(RaggedBatch, hold_for_random_masks) {
  std::mt19937 random(3);
  for (int round = 0; round != 300; ++round) {
    int64_t batch = 1 + int64_t(random() % 5),
            columns = 1 + int64_t(random() % 70);
    bool keepFirst = random() % 2;
    std::vector<int64_t> mask(size_t(batch * columns));
    for (int64_t &value : mask)
      value = random() % 4 != 0;
    Table table = build(mask, batch, keepFirst);
    const transom_ragged_batch &ragged = table.ragged;
    EXPECT_LE(ragged.key_positions, ragged.num_tokens + 31 * batch);
    EXPECT_EQ(ragged.key_positions % 32, 0);
    std::vector<bool> used(size_t(ragged.key_positions));
    std::vector<int64_t> seen(mask.size());
    // Rows are in key order; each key position is used once.
    for (int64_t b = 0; b != batch; ++b) {
      const transom_sequence &sequence = table.sequences[size_t(b)];
      EXPECT_EQ(sequence.key_base % 32, 0);
      for (int64_t r = 0; r != sequence.num_tokens; ++r) {
        size_t row = size_t(sequence.first_token + r);
        EXPECT_EQ(table.tokenSequence[row], b);
        EXPECT_EQ(table.tokenKey[row], sequence.key_base + r);
        EXPECT_FALSE(used[size_t(table.tokenKey[row])]);
        used[size_t(table.tokenKey[row])] = true;
        size_t at = size_t(b * columns + table.tokenColumn[row]);
        EXPECT_EQ(mask[at], r < sequence.num_keys);
        ++seen[at];
        EXPECT_EQ(table.tokenColumn[row] == 0,
                  int64_t(row) == sequence.column0_token);
      }
    }
    // Exactly the masked columns and the first ones kept have rows.
    for (size_t i = 0; i != mask.size(); ++i)
      EXPECT_EQ(seen[i], mask[i] || (keepFirst && i % size_t(columns) == 0));
  }
}
