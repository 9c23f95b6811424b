// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every micro-kernel against a plain loop: type x instruction set x epilogue x
// K length x N tail x height, all bits. A case has a K and an epilogue; its
// module holds all tails, since these share the kernels.
#include "runtime/base/InstructionSet.h"
#include "test/passes/lower/Products.h"
#include "gtest/gtest.h"

using namespace transom::test;
using transom::amxBf16Depth;

namespace {

std::string str(int64_t value) { return std::to_string(value); }

/// The epilogue after the loop over K.
struct Epilogue {
  const char *name;
  void (*apply)(Product &p);
};

const Epilogue kEpilogues[] = {
    {"plain", [](Product &) {}},
    {"bias", [](Product &p) { p.bias = true; }},
    {"relu", [](Product &p) { p.activation = "relu"; }},
    {"gelu",
     [](Product &p) {
       p.activation = "gelu";
       p.bias = true;
     }},
    {"gelu_tanh", [](Product &p) { p.activation = "gelu_tanh"; }},
    {"silu", [](Product &p) { p.activation = "silu"; }},
    {"residual", [](Product &p) { p.residual = p.bias = true; }},
    {"gelu_residual",
     [](Product &p) {
       p.residual = true;
       p.activation = "gelu";
     }},
    {"norm", [](Product &p) { p.norm = p.bias = p.residual = true; }},
    {"rms_norm", [](Product &p) { p.norm = p.rms = p.residual = true; }},
    {"gate", [](Product &p) { p.glu = "silu"; }},
    {"rounded_gate",
     [](Product &p) {
       p.glu = "gelu_tanh";
       p.outBf16 = p.bias = true;
     }},
    {"keys",
     [](Product &p) {
       p.keyPanels = 0;
       p.bias = true;
     }},
    {"rounded", [](Product &p) { p.outBf16 = p.bias = true; }},
    {"rounded_gelu",
     [](Product &p) {
       p.outBf16 = true;
       p.activation = "gelu";
     }},
    {"rounded_residual", [](Product &p) { p.outBf16 = p.residual = true; }},
    {"rounded_keys",
     [](Product &p) {
       p.outBf16 = p.bias = true;
       p.keyPanels = 0;
     }},
};

/// Longer chains are split; then outputs are f32.
int64_t getMaxKBlock(bool bf16) { return bf16 ? 8192 : 4096; }

/// Columns: all tail kinds for one K, some for the others.
std::vector<int64_t> getTails(int64_t k) {
  if (k == 34)
    return {1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 66};
  if (k == 1 || k == 96)
    return {1, 17, 32, 48, 66};
  return {17, 66};
}

const bool kBf16 = std::string(TRANSOM_TEST_TYPE) == "bf16";

/// K lengths: one; even, but not a multiple of the panel depth; long and odd;
/// longer than one K block; in bf16 also both for AMX.
std::vector<int64_t> getDepths() {
  std::vector<int64_t> depths = {1, 34, 4099};
  if (kBf16)
    depths.insert(depths.end(), {getMaxKBlock(true) + 3, 3 * amxBf16Depth,
                                 getMaxKBlock(true) + amxBf16Depth});
  return depths;
}

/// GEMMs with this epilogue and K, for all tails that it supports.
std::vector<Product> getProducts(int64_t k, const Epilogue &epilogue) {
  std::vector<Product> list;
  for (int64_t n : getTails(k)) {
    Product p;
    p.name = std::string(epilogue.name) + "k" + str(k) + "n" + str(n);
    p.k = k;
    p.splits = {n};
    p.bf16 = kBf16;
    epilogue.apply(p);
    const bool pairs = p.keyPanels == 0 && p.outBf16;
    if ((k > getMaxKBlock(kBf16) && p.outBf16) || (pairs && n % 2))
      continue;
    if (!p.glu.empty() && (n % 16 || k > getMaxKBlock(kBf16)))
      continue;
    list.push_back(p);
  }
  return list;
}

/// A K and an epilogue. The test shards divide the cases.
struct Case {
  int64_t k;
  Epilogue epilogue;
};

/// The cases that have GEMMs.
std::vector<Case> getCases() {
  std::vector<Case> cases;
  for (int64_t k : getDepths())
    for (const Epilogue &epilogue : kEpilogues)
      if (!getProducts(k, epilogue).empty())
        cases.push_back({k, epilogue});
  return cases;
}

class Kernels : public testing::TestWithParam<Case> {};

} // namespace

TEST_P(Kernels, EveryTailAndHeight) {
  Products products(getProducts(GetParam().k, GetParam().epilogue));
  const int64_t k = GetParam().k;
  const bool isForAmx = k % amxBf16Depth == 0;
  // Long chains for AMX only test the K blocks.
  const int64_t step = isForAmx && k > getMaxKBlock(true) ? 14 : 1;
  for (int64_t rows = 1; rows <= 15; rows += step)
    products.check(rows, 1);
  products.check(29, 2);
  if (isForAmx)
    for (int64_t rows : {16, 17, 31, 32, 33, 50})
      if (step == 1 || rows == 33)
        products.check(rows, 1);
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(getCases()),
                         [](const testing::TestParamInfo<Case> &info) {
                           return std::string(info.param.epilogue.name) + "_k" +
                                  str(info.param.k);
                         });
