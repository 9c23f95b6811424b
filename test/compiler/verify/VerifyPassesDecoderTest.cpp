// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults that the exact check finds in two decoder layers, in one step and in
// chunks with a rewind: grouped heads, rope, soft cap, relative bias, window,
// gated MLP.
#include "test/compiler/verify/Replacements.h"
#include <numeric>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

constexpr const char *decoder = R"mlir(
!ids = tensor<?xi64, #attn.shape<[rows]>>
!picked = tensor<?xi64, #attn.shape<[num_logits]>>
!x = tensor<?x16xf32, #attn.shape<[rows, 16]>>
!k = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!h = tensor<?x12xf32, #attn.shape<[rows, 12]>>
!r = tensor<?x4xf32, #attn.shape<[rows, 4]>>
!y = tensor<?x16xf32, #attn.shape<[num_logits, 16]>>
!logits = tensor<?x10xf32, #attn.shape<[num_logits, 10]>>
!g = tensor<16xf32>
!seg = !attn.ragged<rows, keys>
!cache = !attn.cache<heads 2, key 4, value 4, window 4>
module attributes {attn.symbols = {keys = {max = -1 : i64}, rows = {max = -1 : i64}, num_logits = {max = -1 : i64}}} {
attn.weight @table : [10, 16] f32 = #weight.expr<file("table")>
attn.weight @bias : [4, 5] f32 = #weight.expr<file("bias")>
attn.weight @f : !g = #weight.expr<file("f")>
attn.weight @a0 : !g = #weight.expr<file("a0")>
attn.weight @a1 : !g = #weight.expr<file("a1")>
attn.weight @m0 : !g = #weight.expr<file("m0")>
attn.weight @m1 : !g = #weight.expr<file("m1")>
attn.weight @q0 : [16, 16] f32 = #weight.expr<file("q0")>
attn.weight @q1 : [16, 16] f32 = #weight.expr<file("q1")>
attn.weight @k0 : [8, 16] f32 = #weight.expr<file("k0")>
attn.weight @k1 : [8, 16] f32 = #weight.expr<file("k1")>
attn.weight @v0 : [8, 16] f32 = #weight.expr<file("v0")>
attn.weight @v1 : [8, 16] f32 = #weight.expr<file("v1")>
attn.weight @o0 : [16, 16] f32 = #weight.expr<file("o0")>
attn.weight @o1 : [16, 16] f32 = #weight.expr<file("o1")>
attn.weight @g0 : [12, 16] f32 = #weight.expr<file("g0")>
attn.weight @g1 : [12, 16] f32 = #weight.expr<file("g1")>
attn.weight @u0 : [12, 16] f32 = #weight.expr<file("u0")>
attn.weight @u1 : [12, 16] f32 = #weight.expr<file("u1")>
attn.weight @d0 : [16, 12] f32 = #weight.expr<file("d0")>
attn.weight @d1 : [16, 12] f32 = #weight.expr<file("d1")>
attn.cache @c0 : !cache
attn.cache @c1 : !cache
func.func @step(%tokens: !ids {attn.name = "tokens"}, %picked: !picked {attn.name = "picked"})
    -> (!logits {attn.name = "logits"}) {
  %s = attn.decode_batch : !seg
  %t = attn.get_weight @table : [10, 16] f32
  %b = attn.get_weight @bias : [4, 5] f32
  %x = attn.embedding %tokens, %t {scale = 4.0 : f64} : !ids, [10, 16] f32
  %p = attn.position <column> %tokens ragged(%s : !seg) : !ids
  %r = attn.rope_table %p {frequencies = array<f64: 1.0, 0.1>, limit = 100 : i64} : !ids
  %h = attn.layers %x invariants(%s, %r, %b : !seg, !r, [4, 5] f32) [
    @layer(@a0, @q0, @k0, @v0, @o0, @c0, @m0, @g0, @u0, @d0),
    @layer(@a1, @q1, @k1, @v1, @o1, @c1, @m1, @g1, @u1, @d1)] : !x
  %e = attn.gather %h, %picked : !x, !picked
  %f = attn.get_weight @f : !g
  %z = attn.rms_norm %e, %f eps 1.0e-6 : !y, !g
  %l = attn.linear %z, %t : !y, [10, 16] f32
  return %l : !logits
}
func.func private @layer(%x: !x, %s: !seg, %r: !r, %b: tensor<4x5xf32>, %ga: !g, %wq: tensor<16x16xf32>,
    %wk: tensor<8x16xf32>, %wv: tensor<8x16xf32>, %wo: tensor<16x16xf32>, %c: !cache, %gm: !g,
    %wg: tensor<12x16xf32>, %wu: tensor<12x16xf32>, %wd: tensor<16x12xf32>) -> !x {
  %n = attn.rms_norm %x, %ga eps 1.0e-6 : !x, !g
  %q = attn.linear %n, %wq : !x, [16, 16] f32
  %k = attn.linear %n, %wk : !x, [8, 16] f32
  %v = attn.linear %n, %wv : !x, [8, 16] f32
  %qr = attn.rope %q, %r heads 4 : !x, !r
  %kr = attn.rope %k, %r heads 2 : !k, !r
  %a = attn.sdpa %qr, %kr, %v ragged(%s : !seg) cache(%c : !cache) relative_bias(%b : [4, 5] f32)
    heads 4 kv_heads 2 scale 0.5 <ragged> {causal, window = 4 : i64, soft_cap = 3.0 : f64} : !x, !k, !k
  %o = attn.linear %a, %wo : !x, [16, 16] f32
  %h = attn.add %x, %o : !x, !x
  %m = attn.rms_norm %h, %gm eps 1.0e-6 : !x, !g
  %gate = attn.linear %m, %wg : !x, [12, 16] f32
  %up = attn.linear %m, %wu : !x, [12, 16] f32
  %act = attn.activation <silu> %gate : !h
  %p = attn.mul %act, %up : !h, !h
  %d = attn.linear %p, %wd : !h, [16, 12] f32
  %y = attn.add %h, %d : !x, !x
  return %y : !x
}
}
)mlir";

Shapes getShapes() {
  std::map<std::string, std::vector<int64_t>> shapes = {
      {"table", {10, 16}}, {"bias", {4, 5}}, {"f", {16}}};
  for (const char *layer : {"0", "1"})
    for (const auto &[name, shape] :
         std::map<std::string, std::vector<int64_t>>{{"a", {16}},
                                                     {"m", {16}},
                                                     {"q", {16, 16}},
                                                     {"k", {8, 16}},
                                                     {"v", {8, 16}},
                                                     {"o", {16, 16}},
                                                     {"g", {12, 16}},
                                                     {"u", {12, 16}},
                                                     {"d", {16, 12}}})
      shapes[name + layer] = shape;
  return Shapes(shapes);
}

/// New tokens for a sequence with `past` earlier ones.
struct Chunk {
  int64_t sequence, past;
  std::vector<int64_t> tokens;
};

VerifyCall makeStep(const std::vector<Chunk> &chunks) {
  VerifyCall call = {"step", {}, {}};
  std::vector<int64_t> tokens;
  for (const Chunk &chunk : chunks) {
    call.sequences.push_back({chunk.sequence, chunk.past,
                              static_cast<int64_t>(chunk.tokens.size())});
    tokens.insert(tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
  }
  const auto count = static_cast<int64_t>(tokens.size());
  std::vector<int64_t> picked(tokens.size());
  std::iota(picked.begin(), picked.end(), 0);
  call.inputs = {{"tokens", Tensor::of({count}, tokens)},
                 {"picked", Tensor::of({count}, picked)}};
  return call;
}

class VerifyPassesDecoder : public ReplacementTest {
protected:
  VerifyPassesDecoder() : ReplacementTest(decoder, getShapes()) {
    cases = {{makeStep({{0, 0, {3, 1, 4, 1, 5, 9, 2}}, {1, 0, {6, 5, 3}}})},
             // Chunks, and the second one for sequence 0 again with other
             // tokens.
             {makeStep({{0, 0, {3, 1, 4}}, {1, 0, {6}}}),
              makeStep({{1, 1, {5, 3}}, {0, 3, {7, 7}}}),
              makeStep({{0, 3, {1, 5, 9, 2}}, {1, 3, {5}}})}};
  }
};

const std::vector<Replacement> bugs = {
    {"embedding scale forgotten", {{" {scale = 4.0 : f64}", ""}}},
    {"positions of ranks one table entry on",
     {{"array<f64: 1.0, 0.1>", "array<f64: 0.1, 1.0>"}}},
    {"a frequency off", {{"array<f64: 1.0, 0.1>", "array<f64: 1.0, 0.2>"}}},
    {"sine of the other sign",
     {{"array<f64: 1.0, 0.1>", "array<f64: -1.0, -0.1>"}}},
    {"a factor of the rope table",
     {{"limit = 100 : i64}", "limit = 100 : i64, factor = 2.0 : f64}"}}},
    {"pairs of neighbours for halves, queries",
     {{"%q, %r heads 4", "%q, %r heads 4 {interleaved}"}}},
    {"pairs of neighbours for halves, keys",
     {{"%k, %r heads 2", "%k, %r heads 2 {interleaved}"}}},
    {"keys are not rotated", {{"sdpa %qr, %kr", "sdpa %qr, %k"}}},
    {"queries are not rotated", {{"sdpa %qr, %kr", "sdpa %q, %kr"}}},
    {"values are rotated too",
     {{"%a = attn.sdpa %qr, %kr, %v",
       "%vr = attn.rope %v, %r heads 2 : !k, !r\n"
       "  %a = attn.sdpa %qr, %kr, %vr"}}},
    {"keys and values exchanged", {{"%qr, %kr, %v", "%qr, %v, %kr"}}},
    {"keys rotated as one head", {{"%k, %r heads 2", "%k, %r heads 1"}}},
    {"keys of the rows before the norm",
     {{"linear %n, %wk", "linear %x, %wk"}}},
    {"all layers share one cache", {{"@o1, @c1", "@o1, @c0"}}},
    {"group of a head by modulo",
     {{"file(\"q0\")", "concat(0, slice(file(\"q0\"), 0, 0, 4), "
                       "slice(file(\"q0\"), 0, 8, 4), slice(file(\"q0\"), 0, "
                       "4, 4), slice(file(\"q0\"), 0, 12, 4))"}}},
    {"heads of the output exchanged",
     {{"file(\"o1\")", "concat(1, slice(file(\"o1\"), 1, 4, 12), "
                       "slice(file(\"o1\"), 1, 0, 4))"}}},
    {"groups of keys exchanged",
     {{"file(\"k1\")", "concat(0, slice(file(\"k1\"), 0, 4, 4), "
                       "slice(file(\"k1\"), 0, 0, 4))"}}},
    {"all heads read group 0",
     {{"file(\"v0\")", "concat(0, slice(file(\"v0\"), 0, 0, 4), "
                       "slice(file(\"v0\"), 0, 0, 4))"}}},
    {"soft cap forgotten", {{", soft_cap = 3.0 : f64", ""}}},
    {"soft cap of another number", {{"soft_cap = 3.0", "soft_cap = 3.001"}}},
    {"soft cap before the scale",
     {{"scale 0.5", "scale 1.0"}, {"soft_cap = 3.0", "soft_cap = 6.0"}}},
    {"scale forgotten", {{"scale 0.5", "scale 1.0"}}},
    {"scale off by 1e-6", {{"scale 0.5", "scale 0.5000005"}}},
    {"bias forgotten", {{"relative_bias(%b : [4, 5] f32)", ""}}},
    {"bias table one off",
     {{"file(\"bias\")", "concat(1, slice(file(\"bias\"), 1, 1, 4), "
                         "slice(file(\"bias\"), 1, 0, 1))"}}},
    {"bias of the next head",
     {{"file(\"bias\")", "concat(0, slice(file(\"bias\"), 0, 1, 3), "
                         "slice(file(\"bias\"), 0, 0, 1))"}}},
    {"window one off",
     {{"window = 4 : i64", "window = 3 : i64"},
      {"value 4, window 4>", "value 4, window 3>"}}},
    {"window forgotten",
     {{", window = 4 : i64", ""}, {"value 4, window 4>", "value 4>"}}},
    {"residual of the normed rows", {{"attn.add %x, %o", "attn.add %n, %o"}}},
    {"residual of the MLP forgotten", {{"attn.add %h, %d", "attn.add %d, %d"}}},
    {"norm of the MLP has the gamma of attention",
     {{"rms_norm %h, %gm", "rms_norm %h, %ga"}}},
    {"norm of the MLP before attention",
     {{"rms_norm %h, %gm", "rms_norm %x, %gm"}}},
    {"layer 1 has the gate of layer 0", {{"@m1, @g1, @u1", "@m1, @g0, @u1"}}},
    {"layers in another order",
     {{"@layer(@a0, @q0, @k0, @v0, @o0, @c0, @m0, @g0, @u0, @d0),\n    "
       "@layer(@a1, @q1, @k1, @v1, @o1, @c1, @m1, @g1, @u1, @d1)",
       "@layer(@a1, @q1, @k1, @v1, @o1, @c1, @m1, @g1, @u1, @d1),\n    "
       "@layer(@a0, @q0, @k0, @v0, @o0, @c0, @m0, @g0, @u0, @d0)"}}},
    {"last layer left out",
     {{",\n    @layer(@a1, @q1, @k1, @v1, @o1, @c1, @m1, @g1, @u1, @d1)", ""}}},
    {"interleaving of another width",
     {{"file(\"g0\")", "gather(file(\"g0\"), [0, 2, 1, 3, 4, 5, 6, 7, 8, 9, "
                       "10, 11])"}}},
    {"gate and up exchanged",
     {{"linear %m, %wg", "linear %m, %wu"},
      {"linear %m, %wu : !x, [12, 16] f32\n  %act",
       "linear %m, %wg : !x, [12, 16] f32\n  %act"}}},
    {"activation of the product",
     {{"%act = attn.activation <silu> %gate : !h\n"
       "  %p = attn.mul %act, %up : !h, !h",
       "%act = attn.mul %gate, %up : !h, !h\n"
       "  %p = attn.activation <silu> %act : !h"}}},
    {"sigmoid for silu", {{"<silu>", "<sigmoid>"}}},
    {"gate forgotten", {{"attn.mul %act, %up", "attn.mul %up, %up"}}},
    {"activation forgotten", {{"attn.mul %act, %up", "attn.mul %gate, %up"}}},
    {"final norm has the gamma of a layer",
     {{"get_weight @f", "get_weight @a0"}}},
    {"head of another table",
     {{"%l = attn.linear %z, %t", "%l = attn.linear %e, %t"}}},
};

const std::vector<Replacement> rewrites = {
    {"scale in the query's product, under the rope",
     {{"scale 0.5", "scale 0.25"},
      {"file(\"q0\")", "scale(file(\"q0\"), 2.0)"},
      {"file(\"q1\")", "scale(file(\"q1\"), 2.0)"}}},
    {"gate and up in one product",
     {{"attn.weight @u0 : [12, 16] f32 = #weight.expr<file(\"u0\")>",
       "attn.weight @u0 : [12, 16] f32 = #weight.expr<slice(concat(0, "
       "file(\"g0\"), file(\"u0\")), 0, 12, 12)>"}}},
    {"factors commuted", {{"attn.mul %act, %up", "attn.mul %up, %act"}}},
    {"frequencies with the pairs that they turn",
     {{"array<f64: 1.0, 0.1>", "array<f64: 0.1, 1.0>"},
      {"file(\"q0\")", "gather(file(\"q0\"), [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, "
                       "11, 10, 13, 12, 15, 14])"},
      {"file(\"q1\")", "gather(file(\"q1\"), [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, "
                       "11, 10, 13, 12, 15, 14])"},
      {"file(\"k0\")", "gather(file(\"k0\"), [1, 0, 3, 2, 5, 4, 7, 6])"},
      {"file(\"k1\")", "gather(file(\"k1\"), [1, 0, 3, 2, 5, 4, 7, 6])"}}},
    {"a bias of a head for all distances, which softmax does not see",
     {{"file(\"bias\")",
       "add(file(\"bias\"), concat(1, slice(file(\"bias\"), 1, 0, 1), "
       "slice(file(\"bias\"), 1, 0, 1), slice(file(\"bias\"), 1, 0, 1), "
       "slice(file(\"bias\"), 1, 0, 1), slice(file(\"bias\"), 1, 0, 1)))"}}},
    {"gamma in the next weight",
     {{"attn.weight @f : !g = #weight.expr<file(\"f\")>",
       "attn.weight @f : !g = #weight.expr<scale(file(\"f\"), 2.0)>"},
      {"%l = attn.linear %z, %t : !y, [10, 16] f32",
       "%half = attn.scale %z by 0.5 : !y\n"
       "  %l = attn.linear %half, %t : !y, [10, 16] f32"}}},
};

} // namespace

TEST_F(VerifyPassesDecoder, findsBugs) {
  for (const Replacement &bug : bugs)
    EXPECT_NE(check(bug).find("'logits' differs in "), std::string::npos)
        << bug.name << ": " << check(bug);
}

TEST_F(VerifyPassesDecoder, acceptsRightRewrites) {
  for (const Replacement &rewrite : rewrites)
    EXPECT_EQ(check(rewrite), "") << rewrite.name;
}

// Without chunks nothing reads earlier cache contents.
TEST_F(VerifyPassesDecoder, needsChunksToSeeWhatIsKept) {
  Replacement bug = {"all layers share one cache", {{"@o1, @c1", "@o1, @c0"}}};
  EXPECT_NE(check(bug), "");
  cases.pop_back();
  EXPECT_EQ(check(bug), "");
}

TEST_F(VerifyPassesDecoder, doesNotSeeAWindowThatNoCallFills) {
  cases = {{makeStep({{0, 0, {3, 1, 4}}})}};
  EXPECT_EQ(check({"window one off",
                   {{"window = 4 : i64", "window = 3 : i64"},
                    {"window 4>", "window 3>"}}}),
            "");
}
