// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory and operations of a model over numbers and lengths of sequences, from
// the formulas of its manifest.
#pragma once
#include "runtime/json/Json.h"
#include "runtime/manifest/Manifest.h"
#include <optional>
#include <utility>
#include <vector>

namespace transom::tools {

/// The sizes that a table has rows for.
struct MemorySizes {
  std::vector<int64_t> batches, lengths; ///< empty: those that suit the model

  bool isEmpty() const { return batches.empty() && lengths.empty(); }
};

/// What a session takes for so many sequences of one length.
struct MemoryRow {
  int64_t batch = 0, length = 0;
  uint64_t arenaBytes = 0; ///< of the entry that needs most
  /// Of a decoder: keys and values of all sequences, and of an encoder-decoder
  /// those of as many sources of this length.
  uint64_t cacheBytes = 0;
  uint64_t allBytes = 0; ///< weights, arena and caches
  /// Floating-point operations by entry; a step computes whole prompts.
  std::vector<std::pair<std::string, int64_t>> flops;
  /// Of a decoder: those of the last token of each sequence.
  std::optional<int64_t> tokenFlops;
};

/// The table of a model.
struct MemoryTable {
  uint64_t weightsBytes = 0;
  bool hasCaches = false;
  /// Tokens that a step of a decoder computes together: longer prompts are
  /// computed in chunks, so that the arena does not grow with them.
  static constexpr int64_t stepTokens = 1024;
  std::vector<MemoryRow> rows;

  /// `Usage` for lengths that the model does not take, `Limit` for sizes that
  /// overflow.
  static Result<MemoryTable> create(const Manifest &manifest,
                                    const MemorySizes &sizes);
  /// Adds lines for people.
  void addText(std::string &text) const;
  /// Adds the member `memory` to the open object.
  void writeJson(JsonWriter &json) const;
};

} // namespace transom::tools
