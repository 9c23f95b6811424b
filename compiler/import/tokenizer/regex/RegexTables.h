// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of regular expressions (generated): named sets of code points, case
// folding, and the scripts of the pre-tokenizer UnicodeScripts.
#pragma once
#include <cstddef>
#include <cstdint>

namespace transom::tokenizer {

/// A named set of code points: `count` borders, where ranges begin and end
/// alternately. The borders are the running sums of `rangeSteps` from `first`.
struct NamedRanges {
  const char *name; ///< lower case without separators, or `[:posix:]`
  uint32_t first, count;
};
extern const NamedRanges namedRanges[];
extern const size_t namedRangeCount;
extern const uint32_t rangeSteps[];

/// Groups of code points that match each other if case is ignored. The highest
/// bit marks the first member of a group.
extern const uint32_t foldGroups[];
extern const size_t foldGroupsSize;

/// A string that matches a single code point if case is ignored: "ss" and U+DF.
struct FoldString {
  const char *text; ///< UTF-8, folded
  uint32_t code;
};
extern const FoldString foldStrings[];
extern const size_t foldStringCount;

/// Runs of code points of one script: first code point << 8 | script. Script 0
/// does not separate words.
extern const uint32_t scriptRuns[];
extern const size_t scriptRunCount;

} // namespace transom::tokenizer
