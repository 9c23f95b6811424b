/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Row summaries for logits: for each group of columns the maximum m, which is
 * NaN if a logit is not finite, and the sum over exp(x - m). Generated code
 * writes them and the generator reads them.
 */
#ifndef TRANSOM_RUNTIME_ABI_ROWSUMMARY_H
#define TRANSOM_RUNTIME_ABI_ROWSUMMARY_H
#include <stdint.h>

/* Group size in columns, divisible by the panel width; the last group in a row
 * may have fewer. */
#define TRANSOM_SUMMARY_GROUP 64

#ifdef __cplusplus
namespace transom {

inline constexpr int64_t summaryGroup = TRANSOM_SUMMARY_GROUP;

/* Returns the group count for rows with `columns` columns. */
constexpr int64_t getNumSummaryGroups(int64_t columns) {
  return (columns + summaryGroup - 1) / summaryGroup;
}

} /* namespace transom */
#endif
#endif
