// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of schedules and their sizes in scratch.
#include "dialects/kern/AttentionSchedule.h"
#include "dialects/kern/Kern.h"
#include "llvm/Support/MathExtras.h"

using namespace transom;
using namespace transom::kern;

static constexpr llvm::StringLiteral kNames[] = {"auto", "pieces", "kept",
                                                 "spread"};

std::string AttentionSchedule::str() const {
  std::string text = kNames[static_cast<int>(kind)].str();
  return height ? text + ":" + std::to_string(height) : text;
}

std::optional<AttentionSchedule>
AttentionSchedule::parse(llvm::StringRef text) {
  auto [name, number] = text.split(':');
  for (int i = 0; i < 4; ++i)
    if (name == kNames[i]) {
      AttentionSchedule schedule{static_cast<Kind>(i), 0};
      if (text.contains(':') &&
          (number.getAsInteger(10, schedule.height) || schedule.height < 1 ||
           schedule.height > kQueryBlock))
        return std::nullopt;
      return schedule;
    }
  return std::nullopt;
}

llvm::StringRef AttentionSchedule::supported() {
  return "auto, pieces, kept, spread, each perhaps with ':' and a height of 1 "
         "to 24 rows";
}

int64_t kern::scoreStride(const AttentionSchedule &schedule) {
  return kPiece * (schedule.keeps() ? kKeptPieces : 1) + 16;
}

static int64_t padded(int64_t valueSize) {
  return llvm::alignTo(valueSize, kPanel);
}

int64_t kern::attentionScratchFloats(const AttentionSchedule &schedule,
                                     int64_t valueSize) {
  int64_t maxima = 16 * (schedule.keeps() ? kKeptPieces : 1);
  return kQueryBlock *
             (scoreStride(schedule) + maxima + 2 * padded(valueSize)) +
         6 * kRowNumbers;
}

int64_t kern::attentionSlotFloats(int64_t valueSize) {
  return kQueryBlock * padded(valueSize) + 2 * kRowNumbers;
}
