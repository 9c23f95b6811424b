// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns that GEMMs and attention compute only to fill tiles and vectors.
#pragma once
#include "compiler/explain/Explanation.h"

namespace transom::tools {

/// Operations at one location that compute unused columns.
struct UnusedColumns {
  const PhaseOperation *operation = nullptr; ///< the first of them
  int64_t used = 0, computed = 0;            ///< in one operation
  int64_t multiple = 0;                      ///< width granularity
  double share = 0; ///< unused columns' share in the call's work

  /// Returns `attention.self: attention 12 heads of 20, 240 of 384 columns
  /// used`.
  std::string describe() const;
  /// Returns widths without unused columns: `32 or 48 in place of 33`.
  std::string getBetterWidths() const;
};

/// Unused columns in an entry with one instruction set.
struct ColumnUse {
  std::string isa;
  int64_t tileColumns = 0;               ///< GEMM tile width
  double share = 0;                      ///< in the call's work
  std::vector<UnusedColumns> operations; ///< largest share first
};

/// Min share that is reported without `-v`.
inline constexpr double leastUnusedShare = 0.05;

/// Returns one item for each instruction set, largest share first.
std::vector<ColumnUse> findUnusedColumns(const Explanation &explanation,
                                         const ExplainedEntry &entry);

/// Formats all of them as text lines.
std::string listUnusedColumns(const Explanation &explanation,
                              const ExplainedEntry &entry);

} // namespace transom::tools
