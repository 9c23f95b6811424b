// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of a small decoder in the reference evaluator: any chunks, batch
// neighbours and pasts return the same results as one pass over each complete
// sequence. Cross attention returns a softmax over the source tokens.
#include "compiler/evaluator/Evaluator.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mlir;
using namespace transom;

namespace {

/// Two layers: rope, a window and a soft cap; slopes. The entry `step` has
/// caches, `whole` has none.
constexpr const char *decoder = R"mlir(
!ids = tensor<?xi64, #attn.shape<[rows]>>
!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!q = tensor<?x16xf32, #attn.shape<[rows, 16]>>
!k = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!v = tensor<?x12xf32, #attn.shape<[rows, 12]>>
!o = tensor<?x24xf32, #attn.shape<[rows, 24]>>
!r = tensor<?x2xf32, #attn.shape<[rows, 2]>>
!bids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!bx = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!bq = tensor<?x?x16xf32, #attn.shape<[batch, seq, 16]>>
!bk = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!bv = tensor<?x?x12xf32, #attn.shape<[batch, seq, 12]>>
!bo = tensor<?x?x24xf32, #attn.shape<[batch, seq, 24]>>
!br = tensor<?x?x2xf32, #attn.shape<[batch, seq, 2]>>
!wq = tensor<16x8xf32>
!wk = tensor<8x8xf32>
!wv = tensor<12x8xf32>
!wo = tensor<8x24xf32>
!seg = !attn.ragged<rows, keys>
!short = !attn.cache<heads 2, key 4, value 6, window 5>
!full = !attn.cache<heads 2, key 4, value 6>
attn.weight @embed : !wk = #weight.expr<file("embed")>
attn.weight @q0 : !wq = #weight.expr<file("q0")>
attn.weight @k0 : !wk = #weight.expr<file("k0")>
attn.weight @v0 : !wv = #weight.expr<file("v0")>
attn.weight @o0 : !wo = #weight.expr<file("o0")>
attn.weight @q1 : !wq = #weight.expr<file("q1")>
attn.weight @k1 : !wk = #weight.expr<file("k1")>
attn.weight @v1 : !wv = #weight.expr<file("v1")>
attn.weight @o1 : !wo = #weight.expr<file("o1")>
attn.weight @slopes : [4] f32 = #weight.expr<values([4], [0.5, 0.25, 0.125, 0.0625])>
attn.cache @c0 : !short
attn.cache @c1 : !full

func.func @step(%tokens: !ids {attn.name = "tokens"}, %logits: tensor<?xi64, #attn.shape<[num_logits]>> {attn.name = "logit_tokens"}) -> (tensor<?x8xf32, #attn.shape<[num_logits, 8]>> {attn.name = "state"}) {
  %s = attn.decode_batch : !seg
  %w = attn.get_weight @embed : !wk
  %x = attn.embedding %tokens, %w : !ids, !wk
  %p = attn.position <column> %tokens ragged(%s : !seg) : !ids
  %r = attn.rope_table %p {frequencies = array<f64: 0.7>, factor = 1.25, limit = 64 : i64} : !ids
  %c0 = attn.get_cache @c0 : !short
  %wq0 = attn.get_weight @q0 : !wq
  %wk0 = attn.get_weight @k0 : !wk
  %wv0 = attn.get_weight @v0 : !wv
  %wo0 = attn.get_weight @o0 : !wo
  %q0 = attn.linear %x, %wq0 : !x, !wq
  %k0 = attn.linear %x, %wk0 : !x, !wk
  %v0 = attn.linear %x, %wv0 : !x, !wv
  %qr0 = attn.rope %q0, %r heads 4 : !q, !r
  %kr0 = attn.rope %k0, %r heads 2 : !k, !r
  %a0 = attn.sdpa %qr0, %kr0, %v0 ragged(%s : !seg) cache(%c0 : !short) heads 4 kv_heads 2 scale 0.5 <ragged> {causal, window = 5 : i64, soft_cap = 3.0} : !q, !k, !v
  %o0 = attn.linear %a0, %wo0 : !o, !wo
  %x1 = attn.add %x, %o0 : !x
  %y = attn.layers %x1 invariants(%s : !seg) [@last(@c1, @q1, @k1, @v1, @o1, @slopes)] : !x
  %z = attn.gather %y, %logits : !x, [num_logits] i64
  return %z : tensor<?x8xf32, #attn.shape<[num_logits, 8]>>
}
func.func private @last(%x1: !x, %s: !seg, %c1: !full, %wq1: !wq, %wk1: !wk, %wv1: !wv, %wo1: !wo, %al: tensor<4xf32>) -> !x {
  %q1 = attn.linear %x1, %wq1 : !x, !wq
  %k1 = attn.linear %x1, %wk1 : !x, !wk
  %v1 = attn.linear %x1, %wv1 : !x, !wv
  %a1 = attn.sdpa %q1, %k1, %v1 ragged(%s : !seg) cache(%c1 : !full) slopes(%al : [4] f32) heads 4 kv_heads 2 scale 0.5 <ragged> {causal} : !q, !k, !v
  %o1 = attn.linear %a1, %wo1 : !o, !wo
  %x2 = attn.add %x1, %o1 : !x
  return %x2 : !x
}
func.func @whole(%ids: !bids {attn.name = "ids"}) -> (!bx {attn.name = "state"}) {
  %w = attn.get_weight @embed : !wk
  %x = attn.embedding %ids, %w : !bids, !wk
  %p = attn.position <column> %ids : !bids
  %r = attn.rope_table %p {frequencies = array<f64: 0.7>, factor = 1.25, limit = 64 : i64} : !bids
  %wq0 = attn.get_weight @q0 : !wq
  %wk0 = attn.get_weight @k0 : !wk
  %wv0 = attn.get_weight @v0 : !wv
  %wo0 = attn.get_weight @o0 : !wo
  %q0 = attn.linear %x, %wq0 : !bx, !wq
  %k0 = attn.linear %x, %wk0 : !bx, !wk
  %v0 = attn.linear %x, %wv0 : !bx, !wv
  %qr0 = attn.rope %q0, %r heads 4 : !bq, !br
  %kr0 = attn.rope %k0, %r heads 2 : !bk, !br
  %a0 = attn.sdpa %qr0, %kr0, %v0 heads 4 kv_heads 2 scale 0.5 <none> {causal, window = 5 : i64, soft_cap = 3.0} : !bq, !bk, !bv
  %o0 = attn.linear %a0, %wo0 : !bo, !wo
  %x1 = attn.add %x, %o0 : !bx
  %wq1 = attn.get_weight @q1 : !wq
  %wk1 = attn.get_weight @k1 : !wk
  %wv1 = attn.get_weight @v1 : !wv
  %wo1 = attn.get_weight @o1 : !wo
  %al = attn.get_weight @slopes : [4] f32
  %q1 = attn.linear %x1, %wq1 : !bx, !wq
  %k1 = attn.linear %x1, %wk1 : !bx, !wk
  %v1 = attn.linear %x1, %wv1 : !bx, !wv
  %a1 = attn.sdpa %q1, %k1, %v1 slopes(%al : [4] f32) heads 4 kv_heads 2 scale 0.5 <none> {causal} : !bq, !bk, !bv
  %o1 = attn.linear %a1, %wo1 : !bo, !wo
  %x2 = attn.add %x1, %o1 : !bx
  return %x2 : !bx
}
)mlir";

/// Random file tensors with the shapes of the module's weights.
class RandomFiles : public TensorSource {
public:
  explicit RandomFiles(ModuleOp module) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (auto weight : module.getOps<attn::WeightOp>()) {
      auto shape = cast<RankedTensorType>(weight.getType()).getShape();
      Data &data = tensors[weight.getSymName().str()];
      data.shape.assign(shape.begin(), shape.end());
      for (int64_t i = 0; i < getNumElements(shape); ++i)
        data.values.push_back(normal(random));
    }
  }
  Result<std::vector<int64_t>> shape(const std::string &name) const override {
    return tensors.at(name).shape;
  }
  Result<void> read(const std::string &name, const std::vector<int64_t> &,
                    const std::vector<int64_t> &sizes,
                    float *out) const override {
    const Data &data = tensors.at(name);
    if (sizes != data.shape)
      return rejected("only whole tensors are read here");
    std::copy(data.values.begin(), data.values.end(), out);
    return {};
  }

private:
  struct Data {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  std::map<std::string, Data> tensors;
};

/// The decoder with its run state.
class Decoder : public ::testing::Test {
protected:
  Decoder() {
    context.loadDialect<attn::AttnDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(decoder, &context);
    files = std::make_unique<RandomFiles>(*module);
    options.source = files.get();
    options.caches = &store;
  }

  static Tensor integers(std::vector<int64_t> values) {
    return Tensor::of({static_cast<int64_t>(values.size())}, values);
  }

  /// Returns the states for all new rows.
  Result<std::vector<double>> step(std::vector<SequenceRows> sequences,
                                   std::vector<int64_t> tokens) {
    options.sequences = std::move(sequences);
    std::vector<int64_t> all(tokens.size());
    std::iota(all.begin(), all.end(), 0);
    TRANSOM_ASSIGN(auto result, evaluate(*module, "step",
                                         {{"tokens", integers(tokens)},
                                          {"logit_tokens", integers(all)}},
                                         options));
    return result[0].tensor.getReals();
  }

  /// Returns the states for a sequence, without caches.
  std::vector<double> whole(const std::vector<int64_t> &tokens) {
    auto result = evaluate(
        *module, "whole",
        {{"ids", Tensor::of({1, static_cast<int64_t>(tokens.size())}, tokens)}},
        options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? (*result)[0].tensor.getReals() : std::vector<double>();
  }

  std::string getFailure(std::vector<SequenceRows> sequences,
                         std::vector<int64_t> tokens) {
    auto result = step(std::move(sequences), std::move(tokens));
    EXPECT_FALSE(result);
    return result ? "" : result.error().message;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<RandomFiles> files;
  CacheStore store;
  EvaluateOptions options;
};

TEST_F(Decoder, chunksAndNeighboursDoNotShow) {
  std::mt19937 random(1);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  for (int trial = 0; trial < 20; ++trial) {
    // Draw the sequences.
    store = CacheStore();
    std::vector<std::vector<int64_t>> tokens(1 + below(4));
    for (auto &sequence : tokens)
      for (int64_t n = 1 + below(14); n > 0; --n)
        sequence.push_back(below(8));
    // Append random chunks to random sequences until all are complete.
    std::vector<std::vector<double>> states(tokens.size());
    for (int calls = 0; calls < 1000; ++calls) {
      std::vector<SequenceRows> sequences;
      std::vector<int64_t> rows, owners;
      for (size_t s = tokens.size(); s-- > 0;) {
        auto past = static_cast<int64_t>(states[s].size()) / 8;
        int64_t left = static_cast<int64_t>(tokens[s].size()) - past;
        if (left == 0 || below(3) == 0)
          continue;
        int64_t count = below(left + 1);
        sequences.push_back({static_cast<int64_t>(s), past, count});
        for (int64_t i = 0; i < count; ++i) {
          rows.push_back(tokens[s][past + i]);
          owners.push_back(s);
        }
      }
      if (rows.empty())
        continue;
      auto got = step(sequences, rows);
      ASSERT_TRUE(got) << got.error().message;
      for (size_t row = 0; row < owners.size(); ++row)
        states[owners[row]].insert(states[owners[row]].end(),
                                   got->begin() + row * 8,
                                   got->begin() + row * 8 + 8);
    }
    // Compare with one pass over each sequence.
    for (size_t s = 0; s < tokens.size(); ++s)
      EXPECT_EQ(states[s], whole(tokens[s])) << "sequence " << s;
  }
}

TEST_F(Decoder, aSmallerPastRewinds) {
  ASSERT_TRUE(step({{0, 0, 4}}, {1, 2, 3, 4}));
  auto got = step({{0, 2, 2}}, {5, 6});
  ASSERT_TRUE(got) << got.error().message;
  std::vector<double> expected = whole({1, 2, 5, 6});
  EXPECT_EQ(*got, std::vector<double>(expected.begin() + 16, expected.end()));
  EXPECT_EQ(store.entry("c1", 0).keys.size(), 4u);
}

TEST_F(Decoder, copiesGoTheirOwnWays) {
  ASSERT_TRUE(step({{0, 0, 3}}, {1, 2, 3}));
  store.copy(0, 9);
  auto got = step({{9, 3, 1}, {0, 3, 1}}, {4, 5});
  ASSERT_TRUE(got) << got.error().message;
  std::vector<double> four = whole({1, 2, 3, 4}), five = whole({1, 2, 3, 5});
  std::vector<double> expected(four.end() - 8, four.end());
  expected.insert(expected.end(), five.end() - 8, five.end());
  EXPECT_EQ(*got, expected);
}

TEST_F(Decoder, withoutSequencesAllRowsAreOneNewSequence) {
  options.caches = nullptr;
  for (int repeat = 0; repeat < 2; ++repeat) {
    auto got = step({}, {3, 1, 2});
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(*got, whole({3, 1, 2}));
  }
}

TEST_F(Decoder, refusesStepsThatDoNotFit) {
  EXPECT_EQ(
      getFailure({{4, 2, 1}}, {1}),
      "'attn.sdpa': sequence 4 has 0 positions in cache 'c0', the new one "
      "cannot have position 2");
  EXPECT_EQ(getFailure({{4, 0, 1}, {4, 1, 1}}, {1, 2}),
            "'attn.decode_batch': sequence 4 comes twice");
  EXPECT_EQ(getFailure({{4, -1, 1}}, {1}),
            "'attn.decode_batch': sequence 4 has -1 positions and 1 new rows; "
            "neither may be negative");
  EXPECT_EQ(getFailure({{4, 0, 2}}, {1}),
            "'attn.decode_batch': size 'rows' is both 1 and 2");
  EXPECT_EQ(getFailure({{4, 64, 1}}, {1}),
            "'attn.rope_table': position 64 is not below the limit 64");
}

TEST_F(Decoder, turnsPairsOfHalvesOrNeighbours) {
  for (bool interleaved : {false, true}) {
    std::string text = R"mlir(
      func.func @run(%x: tensor<1x8xf32> {attn.name = "x"}, %p: tensor<1xi64> {attn.name = "p"}) -> (tensor<1x8xf32> {attn.name = "y"}) {
        %r = attn.rope_table %p {frequencies = array<f64: 1.0, 0.1>, factor = 2.0, limit = 8 : i64} : [1] i64
        %y = attn.rope %x, %r heads 1 FLAG : [1, 8] f32, [1, 4] f32
        return %y : tensor<1x8xf32>
      })mlir";
    text.replace(text.find("FLAG"), 4, interleaved ? "{interleaved}" : "");
    auto rope = parseSourceString<ModuleOp>(text, &context);
    std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8};
    auto got = evaluate(*rope, "run",
                        {{"x", Tensor::of({1, 8}, x)}, {"p", integers({3})}});
    ASSERT_TRUE(got) << got.error().message;
    std::vector<double> expected = x;
    for (int n = 0; n < 2; ++n) {
      int a = interleaved ? 2 * n : n, b = interleaved ? a + 1 : n + 2;
      double angle = n == 0 ? 3.0 : 3.0 * 0.1;
      expected[a] = 2 * (x[a] * std::cos(angle) - x[b] * std::sin(angle));
      expected[b] = 2 * (x[b] * std::cos(angle) + x[a] * std::sin(angle));
    }
    for (int i = 0; i < 8; ++i)
      EXPECT_NEAR((*got)[0].tensor.getReal(i), expected[i], 1e-14) << i;
  }
}

//===----------------------------------------------------------------------===//
// Cross attention
//===----------------------------------------------------------------------===//

/// `source` fills a read-only cache, `step` reads it with two query heads per
/// cache head.
constexpr const char *crossAttention = R"mlir(
!states = tensor<?x?x12xf32, #attn.shape<[batch, seq, 12]>>
!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!q = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!y = tensor<?x16xf32, #attn.shape<[rows, 16]>>
!cross = !attn.cache<heads 2, key 2, value 4, read_only 96>
attn.cache @cross : !cross

func.func @source(%x: !states {attn.name = "states"}, %mask: !mask {attn.name = "mask"}) {
  %s = attn.ragged_batch %mask : !mask -> <source_rows, source_keys>
  %r = attn.gather_rows %x, %s : !states, <source_rows, source_keys>
  %k = attn.slice %r axis 1 from 0 size 4 : [source_rows, 12] f32
  %v = attn.slice %r axis 1 from 4 size 8 : [source_rows, 12] f32
  %c = attn.get_cache @cross : !cross
  %y = attn.append %r, %k, %v ragged(%s : <source_rows, source_keys>) cache(%c : !cross) : [source_rows, 12] f32, [source_rows, 4] f32, [source_rows, 8] f32
  return
}
func.func @step(%q: !q {attn.name = "q"}) -> (!y {attn.name = "y"}) {
  %s = attn.decode_batch : !attn.ragged<rows, keys>
  %c = attn.get_cache @cross : !cross
  %y = attn.cross_sdpa %q ragged(%s : <rows, keys>) cache(%c : !cross) heads 4 scale 0.5 SOFT_CAP : !q
  return %y : !y
}
)mlir";

class Cross : public ::testing::Test {
protected:
  Cross() {
    context.loadDialect<attn::AttnDialect, func::FuncDialect>();
    options.caches = &store;
  }

  void parse(const std::string &softCap) {
    std::string text = crossAttention;
    text.replace(text.find("SOFT_CAP"), 8, softCap);
    module = parseSourceString<ModuleOp>(text, &context);
  }

  static std::vector<double> randomNumbers(int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> numbers(count);
    for (double &number : numbers)
      number = normal(random);
    return numbers;
  }

  /// Fills the caches for `sequences`; returns the error message or "".
  std::string fill(std::vector<SequenceRows> sequences, const Tensor &states,
                   const Tensor &mask) {
    options.sequences = std::move(sequences);
    auto done = evaluate(*module, "source",
                         {{"states", states}, {"mask", mask}}, options);
    return done ? "" : done.error().message;
  }

  std::vector<double> step(std::vector<SequenceRows> sequences,
                           const std::vector<double> &query) {
    options.sequences = std::move(sequences);
    int64_t rows = static_cast<int64_t>(query.size()) / 8;
    auto result = evaluate(*module, "step",
                           {{"q", Tensor::of({rows, 8}, query)}}, options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? (*result)[0].tensor.getReals() : std::vector<double>();
  }

  /// Attention from one query [4 heads, 2] to the given columns of `states`
  /// [columns, 12]: keys [2 heads, 2], then values [2 heads, 4].
  static std::vector<double> attend(ArrayRef<double> query,
                                    ArrayRef<double> states,
                                    const std::vector<int64_t> &columns,
                                    double softCap) {
    std::vector<double> result(16);
    for (int64_t head = 0; head < 4; ++head) {
      std::vector<double> shares;
      double sum = 0;
      for (int64_t column : columns) {
        const double *key = &states[column * 12 + head / 2 * 2];
        double score =
            0.5 * (query[head * 2] * key[0] + query[head * 2 + 1] * key[1]);
        if (softCap > 0)
          score = softCap * std::tanh(score / softCap);
        shares.push_back(std::exp(score));
        sum += shares.back();
      }
      for (auto [share, column] : llvm::zip_equal(shares, columns))
        for (int64_t i = 0; i < 4; ++i)
          result[head * 4 + i] +=
              share / sum * states[column * 12 + 4 + head / 2 * 4 + i];
    }
    return result;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  CacheStore store;
  EvaluateOptions options;
};

TEST_F(Cross, readsTheTokensOfTheSource) {
  for (double softCap : {0.0, 1.5}) {
    parse(softCap > 0 ? "{soft_cap = 1.5}" : "");
    std::vector<double> states = randomNumbers(3 * 5 * 12, 3);
    std::vector<int64_t> mask = {1,      0, 1, 1, 0, /**/ 0, 0, 0, 1, 0,
                                 /**/ 1, 1, 1, 1, 1};
    std::vector<std::vector<int64_t>> columns = {
        {0, 2, 3}, {3}, {0, 1, 2, 3, 4}};
    // A longer earlier source leaves no trace.
    ASSERT_EQ(fill({{7}, {5}, {6}}, Tensor::of({3, 5, 12}, states),
                   Tensor::of({3, 5}, std::vector<int64_t>(15, 1))),
              "");
    ASSERT_EQ(fill({{7}, {5}, {6}}, Tensor::of({3, 5, 12}, states),
                   Tensor::of({3, 5}, mask)),
              "");
    EXPECT_EQ(store.entry("cross", 7).keys.size(), 3u);

    // Two rows for sequence 6, one for 7, with different pasts.
    std::vector<double> query = randomNumbers(3 * 8, 4);
    std::vector<double> got = step({{6, 4, 2}, {7, 0, 1}}, query);
    ASSERT_EQ(got.size(), 3u * 16);
    for (int64_t row = 0; row < 3; ++row) {
      int64_t source = row < 2 ? 2 : 0;
      std::vector<double> expected = attend(
          ArrayRef(query).slice(row * 8, 8),
          ArrayRef(states).slice(source * 60, 60), columns[source], softCap);
      for (int64_t i = 0; i < 16; ++i)
        EXPECT_NEAR(got[row * 16 + i], expected[i], 1e-14) << row << " " << i;
    }
  }
}

TEST_F(Cross, sequencesAreNumberedFromZeroWithoutOptions) {
  parse("");
  std::vector<double> states = randomNumbers(2 * 2 * 12, 5);
  ASSERT_EQ(fill({}, Tensor::of({2, 2, 12}, states),
                 Tensor::of({2, 2}, std::vector<int64_t>{1, 1, 0, 1})),
            "");
  EXPECT_EQ(store.entry("cross", 0).keys.size(), 2u);
  ASSERT_EQ(store.entry("cross", 1).keys.size(), 1u);
  EXPECT_EQ(
      Tensor::of({4}, store.entry("cross", 1).keys[0]).getReals(),
      (std::vector<double>{states[36], states[37], states[38], states[39]}));
  // A sequence without keys returns zeros.
  EXPECT_EQ(step({{4, 0, 1}}, randomNumbers(8, 6)), std::vector<double>(16));
}

TEST_F(Cross, refusesAnotherNumberOfSequences) {
  parse("");
  EXPECT_EQ(fill({{1}}, Tensor::of({2, 1, 12}, randomNumbers(24, 7)),
                 Tensor::of({2, 1}, std::vector<int64_t>{1, 1})),
            "'attn.append': the batch has 2 sequences, the options name 1");
}

} // namespace
