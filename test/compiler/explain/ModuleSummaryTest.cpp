// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module counts and costs, with hand-computed values.
#include "compiler/explain/ModuleSummary.h"
#include "test/compiler/explain/ExplainModule.h"

using namespace transom;
using transom::test::ExplainModule;

namespace {

TEST(ModuleSummary, ofTensors) {
  ExplainModule module(R"mlir(
    attn.weight @w : [16, 8] f32 = #weight.expr<file("w")>
    func.func @f(%x: tensor<?x8xf32, #attn.shape<[seq, 8]>>) -> tensor<?x16xf32, #attn.shape<[seq, 16]>> {
      %w = attn.get_weight @w : [16, 8] f32
      %y = attn.linear %x, %w : [seq, 8] f32, [16, 8] f32
      %z = attn.add %y, %y : [seq, 16] f32
      return %z : tensor<?x16xf32, #attn.shape<[seq, 16]>>
    })mlir");
  const ModuleSummary summary = summarizeModule(module.get());
  EXPECT_EQ(summary.operations,
            (std::map<std::string, int64_t>{{"attn.add", 1},
                                            {"attn.get_weight", 1},
                                            {"attn.linear", 1},
                                            {"attn.weight", 1},
                                            {"func.func", 1}}));
  EXPECT_EQ(summary.computing, 2);
  EXPECT_EQ(summary.functions, 1);
  EXPECT_EQ(summary.weights, 1);
  EXPECT_EQ(summary.weightBytes, 16 * 8 * 4);
  ASSERT_EQ(summary.entries.size(), 1u);
  EXPECT_EQ(summary.entries[0].entry, "f");
  // 8 multiply-adds for each of 16 columns; additions are not counted.
  EXPECT_EQ(summary.entries[0].flops.formula, "256*seq");
  EXPECT_EQ(summary.entries[0].buffers, 0);
}

TEST(ModuleSummary, aBodyCostsOnceForEachLayer) {
  ExplainModule module(R"mlir(
    kern.weight @w : !kern.weight<[32, 32] x f32, panels32> = #weight.expr<file("w")>
    func.func private @layer(%x: !kern.buffer<[n, 32] x f32>, %w: !kern.weight<[32, 32] x f32, panels32>) {
      %y = kern.alloc : !kern.buffer<[n, 32] x f32>
      kern.phase "layer.0" {
        kern.gemm %x, %w outs(%y) : !kern.buffer<[n, 32] x f32>, !kern.weight<[32, 32] x f32, panels32>, !kern.buffer<[n, 32] x f32>
      }
      kern.phase "layer.1" {
        kern.softmax %y outs(%x) : !kern.buffer<[n, 32] x f32>, !kern.buffer<[n, 32] x f32>
      }
      return
    }
    func.func @f(%x: !kern.buffer<[n, 32] x f32>) attributes {kern.symbols = ["n"]} {
      kern.layers %x [@layer(@w), @layer(@w), @layer(@w)] : !kern.buffer<[n, 32] x f32>
      return
    })mlir");
  const ModuleSummary summary = summarizeModule(module.get());
  EXPECT_EQ(summary.functions, 2);
  EXPECT_EQ(summary.computing, 2);
  ASSERT_EQ(summary.entries.size(), 1u);
  const EntryCost &cost = summary.entries[0];
  EXPECT_EQ(cost.flops.formula, std::to_string(3 * 2 * 32 * 32) + "*n");
  EXPECT_EQ(cost.phases, 2);
  EXPECT_EQ(cost.barriers, 3 * 2);
  // All layers use one buffer.
  EXPECT_EQ(cost.buffers, 1);
  EXPECT_EQ(cost.bufferBytes.formula, "128*n");
}

} // namespace
