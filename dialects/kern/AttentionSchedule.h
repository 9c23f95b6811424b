// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an attention divides its work, and the scratch memory that it needs for
// that. All schedules give the same bits.
#pragma once
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace transom::kern {

/// Maximum number of query rows of a work item.
constexpr int64_t kQueryBlock = 24;
/// The same with AMX: two tiles.
constexpr int64_t kAmxQueryBlock = 32;
/// KV blocks whose values a worker keeps in panels for AMX.
constexpr int64_t kPackedBlocks = 4;
/// Maximum number of KV blocks whose scores the two-pass schedule holds at
/// once. A work item with more KV blocks is streamed.
constexpr int64_t kTwoPassBlocks = 8;
/// Number of KV blocks per worker that the split-kv schedule has memory for. A
/// call with more KV blocks is streamed.
constexpr int64_t kSplitKvSlots = 32;
/// Length of a vector of f32 with one value per row of a work item.
constexpr int64_t kRowValues = 32;

/// A schedule, written `KIND` or `KIND:ROWS`.
struct AttentionSchedule {
  /// Auto: streaming or split-kv, by the shapes of a call. Streaming: a work
  /// item computes one KV block after the other. TwoPass: a work item computes
  /// all its scores first. SplitKv: the KV blocks of a work item are
  /// distributed over workers, and the last worker merges them.
  enum class Kind { Auto, Streaming, TwoPass, SplitKv };
  Kind kind = Kind::Auto;
  int64_t maxRows = 0; ///< of a work item; 0: by the shapes of a call

  bool operator==(const AttentionSchedule &other) const {
    return kind == other.kind && maxRows == other.maxRows;
  }
  bool isTwoPass() const { return kind == Kind::TwoPass; }
  std::string str() const;
  /// The text of `#kern.schedule`: `KIND` or `KIND, rows ROWS`, with
  /// underscores in the kind.
  std::string getAttrText() const;
  /// Parses a schedule; nothing for other text.
  static std::optional<AttentionSchedule> parse(llvm::StringRef text);
  /// The accepted text, for messages.
  static llvm::StringRef getSupported();
};

llvm::hash_code hash_value(const AttentionSchedule &schedule);

/// Floats from one row of scores to the next: the KV blocks that are held at
/// once, and one cache line more, so that rows do not share cache sets.
int64_t getScoreStride(const AttentionSchedule &schedule);

/// Floats of scratch that a worker needs for heads with values of this size:
/// scores, their maxima, two tiles of the product with the values, and six
/// vectors of row values; for AMX also the values of some KV blocks in panels
/// of bf16.
int64_t getAttentionScratchFloats(const AttentionSchedule &schedule,
                                  int64_t valueSize, bool suitsAmx);

/// Floats of the partial result of one KV block in the split-kv schedule.
int64_t getAttentionSlotFloats(int64_t valueSize, bool suitsAmx);

/// Rows that a work item has memory for.
constexpr int64_t getQueryBlock(bool suitsAmx) {
  return suitsAmx ? kAmxQueryBlock : kQueryBlock;
}

} // namespace transom::kern
