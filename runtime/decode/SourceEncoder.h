// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder-decoder sources: encodes them and fills new sequences' read-only
// caches with the keys and values that cross attention reads. Each source is
// computed once, however many sequences share it later.
#pragma once
#include "runtime/decode/DecodeLayout.h"
#include "runtime/execute/Executor.h"
#include "runtime/kvcache/PagedKvCache.h"

namespace transom {

/// One source's token ids.
struct SourceInput {
  const int64_t *ids;  ///< [columns]
  const int64_t *mask; ///< [columns], 0 or 1; NULL: all are tokens
  int64_t columns;
};

/// Uses a decode engine's memory. Allocates nothing.
class SourceEncoder {
public:
  /// The executor's model has a source entry. All arguments outlive this.
  SourceEncoder(Executor &executor, const DecodeLayout &layout,
                PagedKvCache &cache);

  /// See DecodeEngine::addSources().
  Result<void> add(const SourceInput *sources, size_t count,
                   int32_t *sequences);

  /// Maximum number of columns per source.
  int64_t longest() const;

private:
  Result<void> check(const SourceInput *sources, size_t count) const;
  Result<void> checkSource(const SourceInput &source, size_t index) const;
  Result<void> fillAll(const SourceInput *sources, size_t count,
                       const int32_t *sequences);
  Result<void> fillGroup(const SourceInput *sources, const SourceOrder *order,
                         int64_t batch, const int32_t *sequences);
  Result<void> stage(const SourceInput &source, int32_t sequence, int64_t row,
                     int64_t columns);
  transom_tensor makeTensor(const Argument &argument, const Region &region,
                            int64_t batch, int64_t columns) const;

  Executor &executor;
  const DecodeLayout &layout;
  PagedKvCache &cache;
  const Entry &source;
  const Entry &encoder;
  const Argument *ids, *mask; // encoder inputs
};

} // namespace transom
