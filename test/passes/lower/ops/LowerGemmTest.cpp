// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs with weights against one chain of fused multiply-adds per output: all
// values for MR, tails, K lengths, epilogues and splits over workers give these
// bits on every instruction set, and nothing outside the operands is touched.
#include "test/passes/lower/Products.h"
#include <gtest/gtest.h>

using namespace transom::test;

static std::string str(int64_t value) { return std::to_string(value); }

TEST(Gemm, EveryHeightAndColumnTail) {
  std::vector<Product> list;
  for (int64_t n = 1; n <= 70; ++n) {
    Product p;
    p.name = "n" + str(n);
    p.k = 16;
    p.splits = {n};
    p.bias = true;
    list.push_back(p);
  }
  Products products(list);
  for (int64_t rows = 0; rows <= 40; ++rows)
    products.check(rows, 1 + rows % 3);
}

TEST(Gemm, EveryHeightAndChainLength) {
  std::vector<Product> list;
  for (int64_t k : {1, 2, 7, 64, 100, 1600, 4100})
    for (bool bias : {false, true}) {
      Product p;
      p.name = "k" + str(k) + (bias ? "bias" : "");
      p.k = k;
      p.splits = {bias ? 33 : 70};
      p.bias = bias;
      list.push_back(p);
    }
  Products products(list);
  for (int64_t rows = 1; rows <= 40; ++rows)
    products.check(rows, 1);
  for (int64_t numWorkers : {2, 3, 5, 16})
    for (int64_t rows : {1, 7, 25})
      products.check(rows, numWorkers);
  // More rows than one chunk holds.
  for (int64_t rows : {85, 86, 173})
    products.check(rows, 3);
}

TEST(Gemm, Epilogues) {
  std::vector<Product> list;
  auto add = [&](const std::string &name, int64_t k,
                 std::vector<int64_t> splits) -> Product & {
    list.emplace_back();
    list.back().name = name;
    list.back().k = k;
    list.back().splits = std::move(splits);
    return list.back();
  };
  // Activations alone.
  for (const char *kind : {"tanh", "sigmoid", "quick_gelu"}) {
    Product &p = add(std::string("act_only_") + kind, 24, {70});
    p.activation = kind;
    p.bias = true;
  }
  // One K block and several: residuals, norms, splits and strides.
  for (int64_t k : {24, 4100}) {
    Product &residual = add("residual" + str(k), k, {49});
    residual.residual = residual.bias = true;
    Product &both = add("both" + str(k), k, {49});
    both.residual = true;
    both.activation = "gelu";
    Product &norm = add("norm" + str(k), k, {70});
    norm.norm = norm.bias = norm.residual = true;
    Product &split = add("split" + str(k), k, {33, 64, 5});
    split.bias = true;
    split.keyPanels = 1;
    Product &strided = add("strided" + str(k), k, {40});
    strided.inputStride = k + 16;
    strided.outStride = 56;
    strided.norm = strided.residual = true;
  }
  // In place, key panels, GLU and RMSNorm.
  Product &inPlace = add("in_place", 24, {49});
  inPlace.residual = inPlace.inPlace = inPlace.norm = true;
  Product &keys = add("keys", 24, {10});
  keys.keyPanels = 0;
  Product &glu = add("glu", 24, {112});
  glu.glu = "silu";
  glu.outStride = 60;
  Product &rms = add("rms", 24, {70});
  rms.norm = rms.rms = rms.residual = true;
  Products products(list);
  for (int64_t rows : {0, 1, 2, 5, 6, 7, 11, 12, 13, 24, 25, 37, 40})
    products.check(rows, 1);
  for (int64_t numWorkers : {2, 3, 5})
    for (int64_t rows : {1, 13, 40, 100})
      products.check(rows, numWorkers);
}

// Row chunks with a norm are smaller than others, and a worker has at most as
// many as there are tile counters.
TEST(Gemm, ManyRowsWithNorms) {
  Product norm;
  norm.name = "norm";
  norm.k = 24;
  norm.splits = {40};
  norm.norm = norm.bias = norm.residual = true;
  Products products({norm});
  for (int64_t rows : {64, 126, 127, 1400})
    for (int64_t numWorkers : {1, 2})
      products.check(rows, numWorkers);
}

// One worker has all column groups, so all workers together give the same bits
// as one.
TEST(Gemm, Summaries) {
  std::vector<Product> list;
  for (int64_t n : {1, 16, 33, 64, 65, 200, 515})
    for (int64_t k : {24, 4100}) {
      Product p;
      p.name = "n" + str(n) + "k" + str(k);
      p.k = k;
      p.splits = {n};
      p.bias = n != 64;
      p.summary = true;
      list.push_back(p);
    }
  Product strided = list[8];
  strided.name = "strided";
  strided.outStride = 80;
  strided.residual = true;
  list.push_back(strided);
  Product rounded = list[10];
  rounded.name = "rounded";
  rounded.bf16 = true;
  list.push_back(rounded);
  Products products(list);
  for (int64_t rows : {0, 1, 2, 5, 6, 7, 13, 25, 40})
    products.check(rows, 1);
  for (int64_t numWorkers : {2, 3, 5, 8, 16})
    for (int64_t rows : {1, 13, 40, 200})
      products.check(rows, numWorkers);
}
