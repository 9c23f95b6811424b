/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Summaries of rows of logits: for each group of columns its maximum m, which
 * is NaN where a logit is not finite, and the sum of exp(x - m). Generated code
 * writes them, the generator reads them.
 */
#ifndef TRANSOM_RUNTIME_ABI_ROWSUMMARY_H
#define TRANSOM_RUNTIME_ABI_ROWSUMMARY_H
#include <stdint.h>

/* Columns of a group; the last group of a row may have fewer. A multiple of the
 * panel's width. */
#define TRANSOM_SUMMARY_GROUP 64

#ifdef __cplusplus
namespace transom {

inline constexpr int64_t summaryGroup = TRANSOM_SUMMARY_GROUP;

/* The number of groups of a row of `columns` columns. */
constexpr int64_t getNumSummaryGroups(int64_t columns) {
  return (columns + summaryGroup - 1) / summaryGroup;
}

} /* namespace transom */
#endif
#endif
