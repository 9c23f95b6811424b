// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention over a read-only cache: a sequence's keys are all its cached keys,
// and all are visible, independent of the sequence's own length.
#include "compiler/evaluator/Evaluator.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

constexpr const char *text = R"mlir(
!x = !kern.buffer<[rows, 2] x f32>
!cache = !kern.cache<heads 1, key 2, value 2, read_only 1500, f32>
kern.cache @cross : !cache
func.func @step(%q: !x {attn.name = "q"}, %y: !x {attn.name = "y"})
    attributes {kern.inputs = 1 : i64, kern.symbols = ["keys", "parts", "rows", "source_keys"]} {
  %s = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
  %u = kern.cache_batch @cross {keys = "source_keys"} : !kern.ragged<1>
  %c = kern.get_cache @cross : !cache
  %t = kern.alloc : !kern.buffer<[parts, 8640] x f32>
  kern.attention %q ragged %s, %u cache %c scratch %t outs(%y) heads 1 kv_heads 1 scale 0.5 :
      !x, !kern.ragged<0>, !kern.ragged<1>, !cache, !kern.buffer<[parts, 8640] x f32>, !x
  return
}
)mlir";

/// Returns position `i` of a sequence in the cache.
std::vector<double> makeKey(int64_t sequence, int64_t i) {
  return {double(sequence + 1) * 0.25, double(i) - 1};
}
std::vector<double> makeValue(int64_t sequence, int64_t i) {
  return {double(i * i), double(sequence) - double(i)};
}

} // namespace

TEST(KernCaches, AttendsToAllOfAReadOnlyCache) {
  MLIRContext context;
  context.loadDialect<kern::KernDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);

  // Two sequences whose cached lengths differ from their own lengths.
  const std::vector<int64_t> lengths = {3, 1};
  CacheStore store;
  for (int64_t sequence : {0, 1})
    for (int64_t i = 0; i < lengths[sequence]; ++i)
      ASSERT_TRUE(store.put("cross", sequence, i,
                            Tensor::of({2}, makeKey(sequence, i)).real,
                            Tensor::of({2}, makeValue(sequence, i)).real));
  EvaluateOptions options;
  options.caches = &store;
  options.sequences = {{0, 5, 1}, {1, 0, 2}};
  const std::vector<double> q = {1, 2, 3, 4, 5, 6};
  auto result =
      evaluate(*module, "step", {{"q", Tensor::of({3, 2}, q)}}, options);
  ASSERT_TRUE(result) << result.error().message;

  const std::vector<int64_t> sequences = {0, 1, 1}; // sequence of each row
  for (int64_t row = 0; row < 3; ++row) {
    const int64_t sequence = sequences[row];
    double sum = 0, first = 0, second = 0;
    for (int64_t i = 0; i < lengths[sequence]; ++i) {
      std::vector<double> key = makeKey(sequence, i),
                          value = makeValue(sequence, i);
      double share =
          std::exp(0.5 * (q[2 * row] * key[0] + q[2 * row + 1] * key[1]));
      sum += share;
      first += share * value[0];
      second += share * value[1];
    }
    EXPECT_NEAR((*result)[0].tensor.getReal(2 * row), first / sum, 1e-12);
    EXPECT_NEAR((*result)[0].tensor.getReal(2 * row + 1), second / sum, 1e-12);
  }
}
