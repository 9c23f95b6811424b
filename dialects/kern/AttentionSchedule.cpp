// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedule names and scratch memory sizes.
#include "dialects/kern/AttentionSchedule.h"
#include "dialects/kern/Kern.h"
#include "llvm/Support/MathExtras.h"

using namespace transom;
using namespace transom::kern;

static constexpr llvm::StringLiteral kNames[] = {"auto", "streaming",
                                                 "two-pass", "split-kv"};

std::string AttentionSchedule::str() const {
  std::string text = kNames[static_cast<int>(kind)].str();
  return maxRows ? text + ":" + std::to_string(maxRows) : text;
}

std::string AttentionSchedule::getAttrText() const {
  std::string text = kNames[static_cast<int>(kind)].str();
  std::replace(text.begin(), text.end(), '-', '_');
  return maxRows ? text + ", rows " + std::to_string(maxRows) : text;
}

std::optional<AttentionSchedule>
AttentionSchedule::parse(llvm::StringRef text) {
  auto [name, number] = text.split(':');
  for (int i = 0; i < 4; ++i)
    if (name == kNames[i]) {
      AttentionSchedule schedule{static_cast<Kind>(i), 0};
      if (text.contains(':') &&
          (number.getAsInteger(10, schedule.maxRows) || schedule.maxRows < 1 ||
           schedule.maxRows > kQueryBlock))
        return std::nullopt;
      return schedule;
    }
  return std::nullopt;
}

llvm::StringRef AttentionSchedule::getSupported() {
  return "auto, streaming, two-pass, split-kv, each optionally with ':' and 1 "
         "to 24 "
         "rows";
}

int64_t kern::getScoreStride(const AttentionSchedule &schedule) {
  return kvBlockSize * (schedule.isTwoPass() ? kTwoPassBlocks : 1) + 16;
}

static int64_t getPaddedSize(int64_t valueSize) {
  return llvm::alignTo(valueSize, panelWidth);
}

int64_t kern::getAttentionScratchFloats(const AttentionSchedule &schedule,
                                        int64_t valueSize, bool suitsAmx) {
  int64_t maxima = 16 * (schedule.isTwoPass() ? kTwoPassBlocks : 1);
  const int64_t columns = getPaddedSize(valueSize);
  return getQueryBlock(suitsAmx) *
             (getScoreStride(schedule) + maxima + 2 * columns) +
         6 * kRowValues +
         (suitsAmx ? kPackedBlocks * kvBlockSize * columns / 2 : 0);
}

int64_t kern::getAttentionSlotFloats(int64_t valueSize, bool suitsAmx) {
  return getQueryBlock(suitsAmx) * getPaddedSize(valueSize) + 2 * kRowValues;
}
