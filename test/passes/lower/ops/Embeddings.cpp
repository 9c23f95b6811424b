// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/passes/lower/ops/Embeddings.h"
#include "test/passes/lower/PhaseText.h"
#include "test/passes/lower/RunPhase.h"
#include <cstring>

using namespace transom::test;

/// A phase that embeds two id buffers.
static std::string getText(const EmbeddingTables &tables) {
  std::string shape =
      "[" + str(kEmbeddingWords) + ", " + str(tables.width) + "]";
  std::string ids = bufferType("batch, seq", "i64"),
              out = bufferType("batch, seq, " + str(tables.width)),
              rows = "!kern.weight<" + shape + " x " + tables.type + ", rows>",
              panels =
                  "!kern.weight<" + shape + " x " + tables.type + ", panels32>";
  return weightDefinition("rows", rows) + weightDefinition("panels", panels) +
         phaseFunction(
             {"embed", "%i: " + ids + ", %j: " + ids + ", %y: " + out,
              weightValue("r", "rows", rows) +
                  weightValue("p", "panels", panels),
              "kern.embedding ids(%i, %j) tables(%r, %p) outs(%y) {scales = "
              "array<f64: 1.0, 0.3>} : (" +
                  ids + ", " + ids + "), (" + rows + ", " + panels + "), " +
                  out});
}

/// Some ids, the last word first.
static Guarded<int64_t> makeIds(Random &random, int64_t count) {
  Guarded<int64_t> ids(count);
  for (int64_t r = 0; r < count; ++r)
    ids[r] = r == 0 ? kEmbeddingWords - 1 : random.below(kEmbeddingWords);
  return ids;
}

void transom::test::checkEmbeddings(const EmbeddingTables &tables) {
  KernelHarness harness(getText(tables));
  memcpy(harness.weight("rows"), tables.rows.data(), tables.rows.size());
  memcpy(harness.weight("panels"), tables.panels.data(), tables.panels.size());
  Random random(3);
  const int64_t width = tables.width;
  // Random ids, also none.
  for (int64_t batch : {1, 2})
    for (int64_t seq : {0, 1, 9}) {
      int64_t count = batch * seq;
      Guarded<int64_t> i = makeIds(random, count), j = makeIds(random, count);
      Guarded<float> y(count * width);
      auto check = [&] {
        for (int64_t r = 0; r < count; ++r)
          for (int64_t c = 0; c < width; ++c) {
            float expected = tables.first[i[r] * width + c] +
                             tables.second[j[r] * width + c] * 0.3f;
            EXPECT_EQ(y[r * width + c], expected) << r << " " << c;
          }
      };
      runAll(harness, "embed",
             {{{"batch", batch}, {"seq", seq}},
              {i.data(), j.data(), y.data()},
              {},
              1},
             check);
    }
}
