// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory and FLOP of a model by sequence count and length, from the formulas in
// its manifest.
#pragma once
#include "runtime/json/Json.h"
#include "runtime/manifest/Manifest.h"
#include <optional>
#include <utility>
#include <vector>

namespace transom::tools {

/// Sizes for the table rows.
struct MemorySizes {
  std::vector<int64_t> batches, lengths; ///< empty: suitable for the model

  bool isEmpty() const { return batches.empty() && lengths.empty(); }
};

/// Session memory for `batch` sequences with equal length.
struct MemoryRow {
  int64_t batch = 0, length = 0;
  uint64_t arenaBytes = 0; ///< for the entry that needs the most
  /// In a decoder: keys and values for all sequences. An encoder-decoder adds
  /// keys and values for the same number of sources with this length.
  uint64_t cacheBytes = 0;
  uint64_t allBytes = 0; ///< weights, arena, caches and persistent bytes
  /// FLOP by entry; a step computes whole prompts.
  std::vector<std::pair<std::string, int64_t>> flops;
  /// In a decoder: FLOP for the last token in each sequence.
  std::optional<int64_t> tokenFlops;
};

/// The table for a model.
struct MemoryTable {
  uint64_t weightsBytes = 0;
  bool hasCaches = false;
  /// Tokens that a decoder step computes together. Longer prompts are split
  /// into chunks, so that the arena does not grow with them.
  static constexpr int64_t stepTokens = 1024;
  std::vector<MemoryRow> rows;

  /// Fails with `Usage` for lengths that exceed the model's limit, and `Limit`
  /// for sizes that overflow.
  static Result<MemoryTable> create(const Manifest &manifest,
                                    const MemorySizes &sizes);
  /// Adds human-readable lines.
  void addText(std::string &text) const;
  /// Adds the member `memory` to the open object.
  void writeJson(JsonWriter &json) const;
};

} // namespace transom::tools
