// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared helpers for derived entry tests: batches with padding anywhere, and
// entry runs on them.
#pragma once
#include "test/support/fake/FakeDecoder.h"
#include <cmath>
#include <random>

namespace transom::test {

/// A batch with ids and its mask.
struct LoopBatch {
  LoopBatch(int64_t batch, int64_t seq, unsigned seed, unsigned hidden = 0)
      : batch(batch), seq(seq), ids(randomTokens(size_t(batch * seq), seed)),
        mask(ids.size(), 1) {
    std::mt19937 random(seed);
    for (size_t i = 0; i != mask.size(); ++i)
      if (hidden && random() % hidden == 0) {
        mask[i] = 0;
        ids[i] = -7; // unused
      }
  }
  std::vector<transom_tensor> inputs() {
    return {
        makeTensor("input_ids", TRANSOM_DTYPE_I64, {batch, seq}, ids),
        makeTensor("attention_mask", TRANSOM_DTYPE_I64, {batch, seq}, mask)};
  }
  /// The real tokens in a row up to a column.
  std::vector<int64_t> tokens(int64_t row, int64_t column) const {
    std::vector<int64_t> found;
    for (int64_t i = 0; i <= column; ++i)
      if (mask[size_t(row * seq + i)])
        found.push_back(ids[size_t(row * seq + i)]);
    return found;
  }
  bool isReal(int64_t row, int64_t column) const {
    return mask[size_t(row * seq + column)] != 0;
  }

  int64_t batch, seq;
  std::vector<int64_t> ids, mask;
};

/// Runs a derived entry on a batch; all sequences are free afterwards.
inline Result<void> runDerivedEntry(FakeDecoder &fake, const char *entry,
                                    LoopBatch &batch, const char *result,
                                    std::vector<float> &out) {
  auto inputs = batch.inputs();
  transom_tensor output = makeTensor(result, TRANSOM_DTYPE_F32, {}, out);
  Result<void> done =
      fake.session().run(entry, inputs.data(), inputs.size(), &output, 1);
  EXPECT_EQ(fake->freeSequences(), fake->maxSequences());
  EXPECT_EQ(fake->freePositions(), fake->allPositions());
  return done;
}

/// log(softmax(logits))[token] in the simplest way.
inline double logProbability(std::vector<float> logits, int64_t token) {
  long double sum = 0;
  for (float logit : logits)
    sum += std::exp((long double)(logit));
  return double((long double)(logits[size_t(token)]) - std::log(sum));
}

} // namespace transom::test
