// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations in words, and the columns that they compute.
#include "compiler/explain/DescribeOperation.h"
#include "test/compiler/explain/ExplainModule.h"

using namespace transom;
using transom::test::ExplainModule;

namespace {

using Widths = std::vector<int64_t>;
using Names = std::vector<std::string>;

TEST(DescribeOperation, aProductWithItsEpilogue) {
  ExplainModule module(R"mlir(
    kern.weight @w : !kern.weight<[40, 8] x f32, panels32> = #weight.expr<file("w")>
    kern.weight @b : !kern.weight<[40] x f32, padded32> = #weight.expr<file("b")>
    func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 40] x f32>) {
      %w = kern.get_weight @w : !kern.weight<[40, 8] x f32, panels32>
      %b = kern.get_weight @b : !kern.weight<[40] x f32, padded32>
      kern.gemm %x, %w bias %b outs(%y) epilogue <gelu> : !kern.buffer<[rows, 8] x f32>,
        !kern.weight<[40, 8] x f32, panels32>, !kern.weight<[40] x f32, padded32>, !kern.buffer<[rows, 40] x f32>
      return
    })mlir");
  kern::BufferOp op = module.find("kern.gemm");
  EXPECT_EQ(describeOperation(op), "8 -> 40, bias, gelu");
  // Two panels with 32 columns.
  EXPECT_EQ(getPaddedColumns(op), std::make_pair(int64_t(40), int64_t(64)));
  EXPECT_EQ(getWidths(op), (Widths{40}));
}

TEST(DescribeOperation, chosenColumnsOfAProduct) {
  ExplainModule module(R"mlir(
    kern.weight @w : !kern.weight<[40, 8] x f32, panels32> = #weight.expr<file("w")>
    func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %i: !kern.buffer<[c] x i64>, %y: !kern.buffer<[rows, c] x f32>) {
      %w = kern.get_weight @w : !kern.weight<[40, 8] x f32, panels32>
      kern.gemm %x, %w outs(%y) columns(%i) : !kern.buffer<[rows, 8] x f32>,
        !kern.weight<[40, 8] x f32, panels32>, !kern.buffer<[rows, c] x f32>, !kern.buffer<[c] x i64>
      return
    })mlir");
  kern::BufferOp op = module.find("kern.gemm");
  EXPECT_EQ(describeOperation(op), "8 -> chosen of 40 columns");
  // How many are known during a call only.
  EXPECT_EQ(getPaddedColumns(op), std::make_pair(int64_t(0), int64_t(0)));
  EXPECT_EQ(getWidths(op), Widths());
}

TEST(DescribeOperation, slicesOfAProductBeginPanels) {
  ExplainModule module(R"mlir(
    kern.weight @w : !kern.weight<[24, 8] x f32, unset, splits [8, 8, 8]> = #weight.expr<file("w")>
    func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %a: !kern.buffer<[rows, 8] x f32>, %b: !kern.buffer<[rows, 8] x f32>, %c: !kern.buffer<[rows, 8] x f32>) {
      %w = kern.get_weight @w : !kern.weight<[24, 8] x f32, unset, splits [8, 8, 8]>
      kern.gemm %x, %w outs(%a, %b, %c) : !kern.buffer<[rows, 8] x f32>,
        !kern.weight<[24, 8] x f32, unset, splits [8, 8, 8]>, !kern.buffer<[rows, 8] x f32>,
        !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
      return
    })mlir");
  kern::BufferOp op = module.find("kern.gemm");
  EXPECT_EQ(describeOperation(op), "8 -> 8 + 8 + 8");
  EXPECT_EQ(getPaddedColumns(op), std::make_pair(int64_t(24), int64_t(96)));
  EXPECT_EQ(getWidths(op), (Widths{8, 8, 8}));
}

TEST(DescribeOperation, headsOfAttentionFillVectors) {
  ExplainModule module(R"mlir(
    func.func @f(%q: !kern.buffer<[rows, 40] x f32>, %k: !kern.buffer<[keys, 20] x f32, key_panels>,
                 %v: !kern.buffer<[rows, 20] x f32>, %t: !kern.buffer<[parts, 99999] x f32>,
                 %y: !kern.buffer<[rows, 40] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
      %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
      kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 :
        !kern.buffer<[rows, 40] x f32>, !kern.buffer<[keys, 20] x f32, key_panels>, !kern.buffer<[rows, 20] x f32>,
        !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 99999] x f32>, !kern.buffer<[rows, 40] x f32>
      return
    })mlir");
  kern::BufferOp op = module.find("kern.attention");
  EXPECT_EQ(describeOperation(op), "2 heads over 1 key-value heads of 20");
  // Each of 2 heads takes two vectors with 16 elements.
  EXPECT_EQ(getPaddedColumns(op), std::make_pair(int64_t(40), int64_t(64)));
  EXPECT_EQ(getWidths(op), (Widths{20}));
}

TEST(DescribeOperation, otherOperationsHaveNoColumns) {
  ExplainModule module(R"mlir(
    func.func @f(%x: !kern.buffer<[n, 16] x f32>, %y: !kern.buffer<[n, 16] x f32>) {
      kern.softmax %x outs(%y) : !kern.buffer<[n, 16] x f32>, !kern.buffer<[n, 16] x f32>
      return
    })mlir");
  kern::BufferOp op = module.find("kern.softmax");
  EXPECT_EQ(describeOperation(op), "");
  EXPECT_EQ(getPaddedColumns(op), std::make_pair(int64_t(0), int64_t(0)));
  EXPECT_TRUE(getWidths(op).empty());
}

TEST(DescribeOperation, joinedWeightsNameTheirProjections) {
  EXPECT_EQ(getJoinedProjections("layer.0.self.query+key+value.weight"),
            (Names{"query", "key", "value"}));
  EXPECT_EQ(getJoinedProjections("layer.0.self.query.weight"), Names());
}

} // namespace
