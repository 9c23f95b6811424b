// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an attention divides its work, and the scratch memory required. All
// schedules compute the same bits.
#pragma once
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace transom::kern {

/// Max query rows per work item.
constexpr int64_t kQueryBlock = 24;
/// The same with AMX: two tiles.
constexpr int64_t kAmxQueryBlock = 32;
/// KV blocks whose values a worker keeps in AMX panels.
constexpr int64_t kPackedBlocks = 4;
/// Max KV blocks whose scores the two-pass schedule holds simultaneously. A
/// work item with more KV blocks is streamed.
constexpr int64_t kTwoPassBlocks = 8;
/// KV blocks per worker for which the split-kv schedule has memory. A call with
/// more KV blocks is streamed.
constexpr int64_t kSplitKvSlots = 32;
/// Length of an f32 vector with one value per row in a work item.
constexpr int64_t kRowValues = 32;

/// A schedule, written `KIND` or `KIND:ROWS`.
struct AttentionSchedule {
  /// Auto: streaming or split-kv, depending on a call's shapes. Streaming: a
  /// work item processes one KV block after another. TwoPass: a work item
  /// computes all its scores first. SplitKv: a work item's KV blocks are
  /// distributed over workers, and the last worker merges them.
  enum class Kind { Auto, Streaming, TwoPass, SplitKv };
  Kind kind = Kind::Auto;
  int64_t maxRows = 0; ///< per work item; 0: depends on the call's shapes

  bool operator==(const AttentionSchedule &other) const {
    return kind == other.kind && maxRows == other.maxRows;
  }
  bool isTwoPass() const { return kind == Kind::TwoPass; }
  std::string str() const;
  /// The text in `#kern.schedule`: `KIND` or `KIND, rows ROWS`, with
  /// underscores in the kind.
  std::string getAttrText() const;
  /// Parses a schedule; nullopt if invalid.
  static std::optional<AttentionSchedule> parse(llvm::StringRef text);
  /// The accepted syntax, for messages.
  static llvm::StringRef getSupported();
};

llvm::hash_code hash_value(const AttentionSchedule &schedule);

/// Score row stride in floats: the KV blocks held simultaneously, and one cache
/// line more, so that rows do not share cache sets.
int64_t getScoreStride(const AttentionSchedule &schedule);

/// Scratch floats per worker for heads with this value size: scores, their
/// maxima, two tiles of the GEMM with the values, and six vectors with row
/// values; for AMX also the values from some KV blocks in bf16 panels.
int64_t getAttentionScratchFloats(const AttentionSchedule &schedule,
                                  int64_t valueSize, bool suitsAmx);

/// Floats in a KV block's partial result in the split-kv schedule.
int64_t getAttentionSlotFloats(int64_t valueSize, bool suitsAmx);

/// Max rows in a work item.
constexpr int64_t getQueryBlock(bool suitsAmx) {
  return suitsAmx ? kAmxQueryBlock : kQueryBlock;
}

} // namespace transom::kern
