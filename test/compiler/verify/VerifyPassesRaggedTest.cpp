// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A padded encoder with two layers against the graph passes' result: ragged
// rows, one GEMM for queries, keys and values, a layer table. Faults are in the
// second.
#include "test/compiler/verify/Replacements.h"

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

constexpr const char *padded = R"mlir(
!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!p = tensor<?x8xf32, #attn.shape<[batch, 8]>>
!w = tensor<8x8xf32>
!b = tensor<8xf32>
module attributes {attn.symbols = {batch = {max = -1 : i64}, seq = {max = -1 : i64}}} {
attn.weight @tok : [10, 8] f32 = #weight.expr<file("tok")>
attn.weight @pos : [6, 8] f32 = #weight.expr<file("pos")>
WEIGHTS
func.func @run(%ids: !ids {attn.name = "ids"}, %m: !ids {attn.name = "mask"})
    -> (!p {attn.name = "mean"}, !p {attn.name = "last"}) {
  %tok = attn.get_weight @tok : [10, 8] f32
  %pos = attn.get_weight @pos : [6, 8] f32
  %mask = attn.cast %m to i1 : [batch, seq] i64
  %e = attn.embedding %ids, %tok : !ids, [10, 8] f32
  %c = attn.position <column> %ids : !ids
  %f = attn.embedding %c, %pos : !ids, [6, 8] f32
  %x = attn.add %e, %f : !x, !x
  LAYERS
  %mean = attn.pool <mean> %x2 mask(%mask : [batch, seq] i1) : !x
  %last = attn.pool <last> %x2 mask(%mask : [batch, seq] i1) : !x
  return %mean, %last : !p, !p
}
}
)mlir";

constexpr const char *paddedLayer = R"mlir(
  %qN = attn.linear IN, %wqN, %bqN : !x, !w, !b
  %kN = attn.linear IN, %wkN, %bkN : !x, !w, !b
  %vN = attn.linear IN, %wvN, %bvN : !x, !w, !b
  %aN = attn.sdpa %qN, %kN, %vN mask(%mask : [batch, seq] i1) heads 2 kv_heads 2 scale 0.5 <keys> : !x
  %oN = attn.linear %aN, %woN, %boN : !x, !w, !b
  %rN = attn.add IN, %oN : !x, !x
  %nN = attn.layer_norm %rN, %gN, %hN eps 1.0e-12 : !x, !b, !b
  %iN = attn.linear %nN, %w1N, %b1N : !x, !w, !b
  %tN = attn.activation <gelu> %iN : !x
  %dN = attn.linear %tN, %w2N, %b2N : !x, !w, !b
  %sN = attn.add %nN, %dN : !x, !x
  %xN = attn.layer_norm %sN, %yN, %zN eps 1.0e-12 : !x, !b, !b
)mlir";

constexpr const char *ragged = R"mlir(
!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!ri = tensor<?xi64, #attn.shape<[rows]>>
!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!q = tensor<?x24xf32, #attn.shape<[rows, 24]>>
!p = tensor<?x8xf32, #attn.shape<[batch, 8]>>
!w = tensor<8x8xf32>
!b = tensor<8xf32>
!seg = !attn.ragged<rows, keys>
module attributes {attn.symbols = {batch = {max = -1 : i64}, seq = {max = -1 : i64}}} {
attn.weight @tok : [10, 8] f32 = #weight.expr<file("tok")>
attn.weight @pos : [6, 8] f32 = #weight.expr<file("pos")>
attn.weight @qkv1 : [24, 8] f32 = #weight.expr<concat(0, file("wq1"), file("wk1"), file("wv1"))>
attn.weight @qkv2 : [24, 8] f32 = #weight.expr<concat(0, file("wq2"), file("wk2"), file("wv2"))>
attn.weight @qkvb1 : [24] f32 = #weight.expr<concat(0, file("bq1"), file("bk1"), file("bv1"))>
attn.weight @qkvb2 : [24] f32 = #weight.expr<concat(0, file("bq2"), file("bk2"), file("bv2"))>
WEIGHTS
func.func @run(%ids: !ids {attn.name = "ids"}, %m: !ids {attn.name = "mask"})
    -> (!p {attn.name = "mean"}, !p {attn.name = "last"}) {
  %tok = attn.get_weight @tok : [10, 8] f32
  %pos = attn.get_weight @pos : [6, 8] f32
  %s = attn.ragged_batch %m : [batch, seq] i64 -> <rows, keys>
  %i = attn.gather_rows %ids, %s : !ids, <rows, keys>
  %e = attn.embedding %i, %tok : !ri, [10, 8] f32
  %c = attn.position <column> %i ragged(%s : !seg) : !ri
  %f = attn.embedding %c, %pos : !ri, [6, 8] f32
  %x = attn.add %e, %f : !x, !x
  %l = attn.layers %x invariants(%s : !seg) [
    @layer(@qkv1, @qkvb1, @wo1, @bo1, @g1, @h1, @w11, @b11, @w21, @b21, @y1, @z1),
    @layer(@qkv2, @qkvb2, @wo2, @bo2, @g2, @h2, @w12, @b12, @w22, @b22, @y2, @z2)] : !x
  %mean = attn.pool <mean> %l ragged(%s : !seg) batch batch : !x
  %last = attn.pool <last> %l ragged(%s : !seg) batch batch : !x
  return %mean, %last : !p, !p
}
func.func private @layer(%x: !x, %s: !seg, %qkvw: tensor<24x8xf32>, %qkvb: tensor<24xf32>, %wo: !w, %bo: !b, %g: !b, %h: !b,
    %w1: !w, %b1: !b, %w2: !w, %b2: !b, %y: !b, %z: !b) -> !x {
  %j = attn.linear %x, %qkvw, %qkvb : !x, [24, 8] f32, [24] f32
  %q = attn.slice %j axis 1 from 0 size 8 : !q
  %k = attn.slice %j axis 1 from 8 size 8 : !q
  %v = attn.slice %j axis 1 from 16 size 8 : !q
  %a = attn.sdpa %q, %k, %v ragged(%s : !seg) heads 2 kv_heads 2 scale 0.5 <ragged> : !x, !x, !x
  %o = attn.linear %a, %wo, %bo : !x, !w, !b
  %r = attn.add %x, %o : !x, !x
  %n = attn.layer_norm %r, %g, %h eps 1.0e-12 : !x, !b, !b
  %i = attn.linear %n, %w1, %b1 : !x, !w, !b
  %t = attn.activation <gelu> %i : !x
  %d = attn.linear %t, %w2, %b2 : !x, !w, !b
  %u = attn.add %n, %d : !x, !x
  %f = attn.layer_norm %u, %y, %z eps 1.0e-12 : !x, !b, !b
  return %f : !x
}
}
)mlir";

/// Names of a layer's matrices and vectors, without its index.
constexpr const char *matrices[] = {"wq", "wk", "wv", "wo", "w1", "w2"};
constexpr const char *vectors[] = {"bq", "bk", "bv", "bo", "b1",
                                   "b2", "g",  "h",  "y",  "z"};

void replaceAll(std::string &text, const std::string &from,
                const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
}

/// Returns a module string with the weights for both layers, and optionally the
/// layers themselves.
std::string complete(const char *source) {
  std::string text = source, weights, layers;
  for (const char *layer : {"1", "2"}) {
    auto add = [&](const std::string &name, const char *type) {
      weights += "attn.weight @" + name + " : " + type +
                 " = #weight.expr<file(\"" + name + "\")>\n";
      layers +=
          "  %" + name + " = attn.get_weight @" + name + " : " + type + "\n";
    };
    for (const char *name : matrices)
      add(name + std::string(layer), "!w");
    for (const char *name : vectors)
      add(name + std::string(layer), "!b");
    std::string body = paddedLayer;
    replaceAll(body, "IN", layer == std::string("1") ? "%x" : "%x1");
    replaceAll(body, "N", layer);
    layers += body;
  }
  replaceAll(text, "WEIGHTS", weights);
  replaceAll(text, "LAYERS", layers);
  return text;
}

Shapes getShapes() {
  std::map<std::string, std::vector<int64_t>> shapes = {{"tok", {10, 8}},
                                                        {"pos", {6, 8}}};
  for (const char *layer : {"1", "2"}) {
    for (const char *name : matrices)
      shapes[name + std::string(layer)] = {8, 8};
    for (const char *name : vectors)
      shapes[name + std::string(layer)] = {8};
  }
  return Shapes(shapes);
}

class VerifyPassesRagged : public ReplacementTest {
protected:
  VerifyPassesRagged() : ReplacementTest(padded, getShapes()) {
    std::vector<int64_t> ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9},
                         mask = {1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0};
    cases = {{{"run",
               {{"ids", Tensor::of({3, 5}, ids)},
                {"mask", Tensor::of({3, 5}, mask)}},
               {}}}};
  }

  /// Returns the check's error for the ragged encoder with substrings replaced.
  std::string checkRagged(const Replacement &replacement) {
    auto source = parse(complete(padded), {"nothing", {}}),
         target = parse(complete(ragged), replacement);
    return check(source.get(), target.get());
  }
};

const std::vector<Replacement> bugs = {
    {"slices in another order",
     {{"from 8 size 8", "from 16 size 8"},
      {"%v = attn.slice %j axis 1 from 16",
       "%v = attn.slice %j axis 1 from 8"}}},
    {"a slice starts one off", {{"from 16 size 8", "from 15 size 8"}}},
    {"a joined bias is zeros", {{"file(\"bv1\")", "fill([8], 0.0)"}}},
    {"biases joined in another order",
     {{"concat(0, file(\"bq2\"), file(\"bk2\"), file(\"bv2\"))",
       "concat(0, file(\"bv2\"), file(\"bk2\"), file(\"bq2\"))"}}},
    {"a weight of the join is transposed",
     {{"file(\"wk1\")", "transpose(file(\"wk1\"), [1, 0])"}}},
    {"heads split transposed",
     {{"file(\"wk2\")", "gather(file(\"wk2\"), [0, 2, 4, 6, 1, 3, 5, 7])"}}},
    {"values of the next head",
     {{"file(\"wv1\")", "concat(0, slice(file(\"wv1\"), 0, 4, 4), "
                        "slice(file(\"wv1\"), 0, 0, 4))"}}},
    {"heads merged transposed",
     {{"file(\"wo1\")",
       "transpose(gather(transpose(file(\"wo1\"), [1, 0]), [0, 2, 4, 6, 1, 3, "
       "5, 7]), [1, 0])"}}},
    {"scale of the whole width", {{"scale 0.5", "scale 0.35355339059327373"}}},
    {"causal", {{"<ragged> :", "<ragged> {causal} :"}}},
    {"rows of a sequence gathered as positions",
     {{"embedding %i, %tok", "embedding %c, %tok"},
      {"%e = attn.embedding", "%c = attn.position <column> %i ragged(%s : "
                              "!seg) : !ri\n  %e = attn.embedding"},
      {"  %c = attn.position <column> %i ragged(%s : !seg) : !ri\n  %f",
       "  %f"}}},
    {"position off by one",
     {{"file(\"pos\")", "concat(0, slice(file(\"pos\"), 0, 1, 5), "
                        "slice(file(\"pos\"), 0, 0, 1))"}}},
    {"position table forgotten", {{"attn.add %e, %f", "attn.add %e, %e"}}},
    {"last row for the mean", {{"attn.pool <mean>", "attn.pool <last>"}}},
    {"sum for the mean", {{"attn.pool <mean>", "attn.pool <sum>"}}},
    {"maximum for the mean", {{"attn.pool <mean>", "attn.pool <max>"}}},
    {"mean by the root of the length",
     {{"attn.pool <mean>", "attn.pool <mean_sqrt>"}}},
    {"mean weighted by column",
     {{"attn.pool <mean>", "attn.pool <weighted_mean>"}}},
    {"mean divides by the length",
     {{"%mean = attn.pool <mean> %l ragged(%s : !seg) batch batch : !x",
       "%sc = attn.scatter_rows %l, %s to batch x seq : !x, <rows, keys>\n"
       "  %mean = attn.pool <mean> %sc : [batch, seq, 8] f32"}}},
    {"layer 2 has a weight of layer 1", {{"@w12, @b12", "@w11, @b12"}}},
    {"layer 2 has a beta of layer 1", {{"@y2, @z2", "@y2, @z1"}}},
    {"gamma of the next layer", {{"@y1, @z1", "@y2, @z1"}}},
    {"products of both layers exchanged",
     {{"@layer(@qkv1, @qkvb1", "@layer(@qkv2, @qkvb2"},
      {"@layer(@qkv2, @qkvb2, @wo2", "@layer(@qkv1, @qkvb1, @wo2"}}},
    {"last layer left out",
     {{",\n    @layer(@qkv2, @qkvb2, @wo2, @bo2, @g2, @h2, @w12, @b12, @w22, "
       "@b22, @y2, @z2)",
       ""}}},
    {"gamma and beta exchanged", {{"%r, %g, %h eps", "%r, %h, %g eps"}}},
    {"beta forgotten",
     {{"%r, %g, %h eps 1.0e-12 : !x, !b, !b", "%r, %g eps 1.0e-12 : !x, !b"}}},
    {"norm without eps", {{"%g, %h eps 1.0e-12", "%g, %h eps 0.0"}}},
    {"norm before the residual",
     {{"%n = attn.layer_norm %r, %g, %h eps 1.0e-12 : !x, !b, !b",
       "%nn = attn.layer_norm %o, %g, %h eps 1.0e-12 : !x, !b, !b\n"
       "  %n = attn.add %nn, %x : !x, !x"}}},
    {"a scale before the norm",
     {{"%n = attn.layer_norm %r,",
       "%rr = attn.scale %r by 2.0 : !x\n  %n = attn.layer_norm %rr,"}}},
    {"residual forgotten", {{"attn.add %x, %o", "attn.add %o, %o"}}},
    {"residual twice", {{"attn.add %n, %d", "attn.add %n, %n"}}},
    {"residual of another row",
     {{"%u = attn.add %n, %d : !x, !x",
       "%nr = attn.slice %n axis 0 from 0 size 1 : !x\n"
       "  %u = attn.add %nr, %d : [1, 8] f32, !x"}}},
    {"bias of the output forgotten",
     {{"%a, %wo, %bo : !x, !w, !b", "%a, %wo : !x, !w"}}},
    {"bias twice",
     {{"%u = attn.add %n, %d : !x, !x",
       "%dd = attn.add %d, %b2 : !x, !b\n  %u = attn.add %n, %dd : !x, !x"}}},
    {"activation before the bias",
     {{"%i = attn.linear %n, %w1, %b1 : !x, !w, !b\n"
       "  %t = attn.activation <gelu> %i : !x",
       "%i = attn.linear %n, %w1 : !x, !w\n"
       "  %ii = attn.activation <gelu> %i : !x\n"
       "  %t = attn.add %ii, %b1 : !x, !b"}}},
    {"activation forgotten", {{"linear %t, %w2", "linear %i, %w2"}}},
    {"activation twice",
     {{"%d = attn.linear %t,",
       "%tt = attn.activation <gelu> %t : !x\n  %d = attn.linear %tt,"}}},
    {"gelu by tanh", {{"<gelu>", "<gelu_tanh>"}}},
    {"columns of a weight interleaved",
     {{"attn.weight @w21 : !w = #weight.expr<file(\"w21\")>",
       "attn.weight @w21 : !w = #weight.expr<transpose(gather(transpose(file("
       "\"w21\"), [1, 0]), [0, 2, 4, 6, 1, 3, 5, 7]), [1, 0])>"}}},
};

} // namespace

TEST_F(VerifyPassesRagged, acceptsWhatGraphPassesDo) {
  EXPECT_EQ(checkRagged({"", {}}), "");
}

TEST_F(VerifyPassesRagged, findsBugs) {
  for (const Replacement &bug : bugs)
    EXPECT_NE(checkRagged(bug).find(" differs in "), std::string::npos)
        << bug.name << ": " << checkRagged(bug);
}

// If all rows have full length, positions by rank equal positions by column.
TEST_F(VerifyPassesRagged, needsHolesToSeePadding) {
  Replacement bug = {
      "mean divides by the length",
      {{"%mean = attn.pool <mean> %l ragged(%s : !seg) batch batch : !x",
        "%sc = attn.scatter_rows %l, %s to batch x seq : !x, <rows, keys>\n"
        "  %mean = attn.pool <mean> %sc : [batch, seq, 8] f32"}}};
  EXPECT_NE(checkRagged(bug), "");
  for (int64_t &one : cases[0][0].inputs[1].tensor.whole)
    one = 1;
  EXPECT_EQ(checkRagged(bug), "");
}
