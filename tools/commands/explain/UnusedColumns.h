// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns that products and attention compute since tiles and vectors are full,
// and that nothing uses.
#pragma once
#include "compiler/explain/Explanation.h"

namespace transom::tools {

/// Operations of one place that compute columns which nothing uses.
struct UnusedColumns {
  const PhaseOperation *operation = nullptr; ///< the first of them
  int64_t used = 0, computed = 0;            ///< in one of them
  int64_t multiple = 0; ///< of which widths without such columns are one
  double share = 0;     ///< of the work of the call, that in these columns

  /// `attention.self: attention 12 heads of 20, 240 of 384 columns used`.
  std::string describe() const;
  /// `32 or 48 in place of 33`: widths without such columns.
  std::string getBetterWidths() const;
};

/// What an entry computes in vain with one instruction set.
struct ColumnUse {
  std::string isa;
  int64_t tileColumns = 0;               ///< of products
  double share = 0;                      ///< of the work of the call
  std::vector<UnusedColumns> operations; ///< largest share first
};

/// The least share that is told without being asked.
inline constexpr double leastUnusedShare = 0.05;

/// One item for each instruction set, the one with the largest share first.
std::vector<ColumnUse> findUnusedColumns(const Explanation &explanation,
                                         const ExplainedEntry &entry);

/// All of them as lines of text.
std::string listUnusedColumns(const Explanation &explanation,
                              const ExplainedEntry &entry);

} // namespace transom::tools
