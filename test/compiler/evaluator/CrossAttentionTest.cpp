// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small encoder-decoder without its encoder: `source` fills the read-only
// caches for two layers, `step` reads them together with growing caches. Every
// pass preserves the results.
#include "compiler/pipeline/Register.h"
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "mlir/Parser/Parser.h"
#include "test/compiler/evaluator/Compare.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// Graph passes may reorder float64 sums; kern constants are f32.
constexpr double reordered = 1e-11, inKern = 1e-5;

constexpr const char *head = R"mlir(
!states = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!x1 = tensor<?x8xf32, #attn.shape<[rows1, 8]>>
!v1 = tensor<?x12xf32, #attn.shape<[rows1, 12]>>
!seg1 = !attn.ragged<rows1, keys1>
!ids = tensor<?xi64, #attn.shape<[rows]>>
!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!k = tensor<?x4xf32, #attn.shape<[rows, 4]>>
!y = tensor<?x24xf32, #attn.shape<[rows, 24]>>
!seg = !attn.ragged<rows, keys>
!self = !attn.cache<heads 1, key 4, value 8>
!cross = !attn.cache<heads 2, key 4, value 6, read_only 96>
)mlir";

/// Layer I in `source`, from state %sI to %s(I + 1).
constexpr const char *sourceLayer = R"mlir(
  %ckw#I = attn.get_weight @l#I.cross.k : [8, 8] f32
  %cvw#I = attn.get_weight @l#I.cross.v : [12, 8] f32
  %cvb#I = attn.get_weight @l#I.cross.b : [12] f32
  %sc#I = attn.get_cache @l#I.cross : !cross
  %ck#I = attn.linear %s#I, %ckw#I : !x1, [8, 8] f32
  %cv#I = attn.linear %s#I, %cvw#I, %cvb#I : !x1, [12, 8] f32, [12] f32
  %s#N = attn.append %s#I, %ck#I, %cv#I ragged(%seg : !seg1) cache(%sc#I : !cross) : !x1, !x1, !v1
)mlir";

/// Layer I in `step`: two query heads read one growing cache, four read the two
/// heads of the other cache.
constexpr const char *stepLayer = R"mlir(
  %kw#I = attn.get_weight @l#I.k : [4, 8] f32
  %bias#I = attn.get_weight @bias : [2, 7] f32
  %gc#I = attn.get_cache @l#I.self : !self
  %q#I = attn.linear %x#I, %kw#I : !x, [4, 8] f32
  %qq#I = attn.concat %q#I, %q#I axis 1 : !k, !k
  %a#I = attn.sdpa %qq#I, %q#I, %x#I ragged(%seg : !seg) cache(%gc#I : !self) relative_bias(%bias#I : [2, 7] f32) heads 2 kv_heads 1 scale 0.5 <ragged> {causal} : !x, !k, !x
  %ow#I = attn.get_weight @l#I.o : [8, 16] f32
  %o#I = attn.linear %a#I, %ow#I : [rows, 16] f32, [8, 16] f32
  %r#I = attn.add %o#I, %x#I : !x
  %cqw#I = attn.get_weight @l#I.cross.q : [16, 8] f32
  %cc#I = attn.get_cache @l#I.cross : !cross
  %cq#I = attn.linear %r#I, %cqw#I : !x, [16, 8] f32
  %ca#I = attn.cross_sdpa %cq#I ragged(%seg : !seg) cache(%cc#I : !cross) heads 4 scale 0.5 : [rows, 16] f32
  %cow#I = attn.get_weight @l#I.cross.o : [8, 24] f32
  %co#I = attn.linear %ca#I, %cow#I : !y, [8, 24] f32
  %x#N = attn.add %co#I, %r#I : !x
)mlir";

/// Returns the source for layer `number`.
std::string getLayer(std::string text, int number) {
  for (auto [mark, value] : {std::make_pair("#I", number), {"#N", number + 1}})
    for (size_t at; (at = text.find(mark)) != std::string::npos;)
      text.replace(at, 2, std::to_string(value));
  return text;
}

class CrossAttention : public ::testing::Test {
protected:
  CrossAttention() {
    DialectRegistry registry;
    registerTransomDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(getText(), &context);
    module->walk([&](Operation *op) {
      op->setLoc(makeLocation(&context, "model", "graph.json", "/"));
    });
    options.caches = &store;
  }

  std::vector<double> numbers(int64_t count) {
    std::normal_distribution<double> normal;
    std::vector<double> result(count);
    for (double &number : result)
      number = static_cast<float>(0.5 * normal(random));
    return result;
  }

  /// Declares a weight with random values.
  std::string weight(const std::string &name, std::vector<int64_t> shape) {
    std::string sizes, values;
    int64_t count = 1;
    for (int64_t size : shape) {
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
      count *= size;
    }
    for (double value : numbers(count))
      values += (values.empty() ? "" : ", ") + std::to_string(value);
    return "attn.weight @" + name + " : [" + sizes +
           "] f32 = #weight.expr<values([" + sizes + "], [" + values + "])>\n";
  }

  std::string getText() {
    // Declare weights and caches for two layers, and collect their bodies.
    std::string text = head, source, step;
    for (int i : {0, 1}) {
      std::string layer = "l" + std::to_string(i);
      text += weight(layer + ".k", {4, 8}) + weight(layer + ".o", {8, 16}) +
              weight(layer + ".cross.q", {16, 8}) +
              weight(layer + ".cross.k", {8, 8}) +
              weight(layer + ".cross.v", {12, 8}) +
              weight(layer + ".cross.b", {12}) +
              weight(layer + ".cross.o", {8, 24});
      text += "attn.cache @" + layer + ".self : !self\nattn.cache @" + layer +
              ".cross : !cross\n";
      source += getLayer(sourceLayer, i);
      step += getLayer(stepLayer, i);
    }
    return text + weight("bias", {2, 7}) + weight("table", {9, 8}) + R"mlir(
func.func @source(%states: !states {attn.name = "states"}, %mask: !mask {attn.name = "mask"}) attributes {transom.kind = "source"} {
  %seg = attn.ragged_batch %mask : !mask -> <rows1, keys1>
  %s0 = attn.gather_rows %states, %seg : !states, <rows1, keys1>
)mlir" + source +
           R"mlir(
  return
}
func.func @step(%tokens: !ids {attn.name = "tokens"}) -> (!x {attn.name = "y"}) {
  %seg = attn.decode_batch : !seg
  %table = attn.get_weight @table : [9, 8] f32
  %x0 = attn.embedding %tokens, %table : !ids, [9, 8] f32
)mlir" + step +
           R"mlir(
  return %x2 : !x
}
)mlir";
  }

  /// Three sources with holes between their tokens, then two steps.
  std::vector<Case> makeCases() {
    std::vector<int64_t> mask = {1,      0, 1, 1, 0, /**/ 0, 0, 0, 1, 0,
                                 /**/ 1, 1, 1, 1, 1};
    Case source, first, second;
    source.entry = "source";
    source.sequences = {{4}, {2}, {3}};
    source.inputs = {{"states", Tensor::of({3, 5, 8}, numbers(3 * 5 * 8))},
                     {"mask", Tensor::of({3, 5}, mask)}};
    first.entry = second.entry = "step";
    first.sequences = {{2, 0, 3}, {4, 0, 1}, {3, 0, 2}};
    first.inputs = {{"tokens", getTokens({1, 2, 3, 4, 5, 6})}};
    second.sequences = {{3, 2, 1}, {2, 3, 2}};
    second.inputs = {{"tokens", getTokens({7, 8, 0})}};
    return {source, first, second};
  }
  static Tensor getTokens(std::vector<int64_t> tokens) {
    return Tensor::of({static_cast<int64_t>(tokens.size())}, tokens);
  }

  void check(const char *dtype, const char *kvDtype) {
    (*module)->setAttr("transom.dtype", StringAttr::get(&context, dtype));
    (*module)->setAttr("transom.kv_dtype", StringAttr::get(&context, kvDtype));
    std::vector<Case> cases = makeCases();
    for (Case &test : cases) {
      auto result = evaluateCase(*module, test, options);
      ASSERT_TRUE(result) << result.error().message;
      test.outputs = *result;
    }
    EXPECT_EQ(checkPasses(*module, Stage::AttnOpt, options, cases, reordered),
              "");
    // Both entries run their layers in bodies.
    auto layers = 0;
    module->walk([&](attn::LayersOp) { ++layers; });
    EXPECT_EQ(layers, 2);
    EXPECT_EQ(checkPasses(*module, Stage::Kern, options, cases, inKern), "");
  }

  MLIRContext context;
  std::mt19937 random{5};
  OwningOpRef<ModuleOp> module;
  CacheStore store;
  EvaluateOptions options;
};

} // namespace

TEST_F(CrossAttention, EachPassKeepsTheResults) { check("f32", "f32"); }

TEST_F(CrossAttention, EachPassKeepsTheResultsInBf16) { check("bf16", "bf16"); }

TEST_F(CrossAttention, EachPassKeepsTheResultsWithCachesInInt8) {
  check("f32", "int8");
}
