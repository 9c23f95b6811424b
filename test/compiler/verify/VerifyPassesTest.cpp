// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults that the exact check finds, accepts, rejects and cannot see: one
// encoder layer, and the same with a substring replaced.
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "test/compiler/verify/Replacements.h"

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

constexpr const char *layer = R"mlir(
!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
attn.weight @wq : [8, 8] f32 = #weight.expr<file("q")>
attn.weight @wk : [8, 8] f32 = #weight.expr<file("k")>
attn.weight @wv : [8, 8] f32 = #weight.expr<file("v")>
attn.weight @wo : [8, 8] f32 = #weight.expr<file("o")>
attn.weight @w1 : [8, 8] f32 = #weight.expr<file("1")>
attn.weight @w2 : [8, 8] f32 = #weight.expr<file("2")>
attn.weight @bq : [8] f32 = #weight.expr<file("q.bias")>
attn.weight @bv : [8] f32 = #weight.expr<file("v.bias")>
attn.weight @g : [8] f32 = #weight.expr<file("norm.weight")>
attn.weight @b : [8] f32 = #weight.expr<file("norm.bias")>
func.func @run(%x: !x {attn.name = "x"}, %m: !ids {attn.name = "mask"})
    -> (!x {attn.name = "y"}) {
  %wq = attn.get_weight @wq : [8, 8] f32
  %wk = attn.get_weight @wk : [8, 8] f32
  %wv = attn.get_weight @wv : [8, 8] f32
  %wo = attn.get_weight @wo : [8, 8] f32
  %w1 = attn.get_weight @w1 : [8, 8] f32
  %w2 = attn.get_weight @w2 : [8, 8] f32
  %bq = attn.get_weight @bq : [8] f32
  %bv = attn.get_weight @bv : [8] f32
  %g = attn.get_weight @g : [8] f32
  %b = attn.get_weight @b : [8] f32
  %mask = attn.cast %m to i1 : [batch, seq] i64
  %n = attn.layer_norm %x, %g, %b eps 1.0e-12 : !x, [8] f32, [8] f32
  %q = attn.linear %n, %wq, %bq : !x, [8, 8] f32, [8] f32
  %k = attn.linear %n, %wk : !x, [8, 8] f32
  %v = attn.linear %n, %wv, %bv : !x, [8, 8] f32, [8] f32
  %a = attn.sdpa %q, %k, %v mask(%mask : [batch, seq] i1) heads 2 kv_heads 2 scale 0.35 <keys> : !x
  %o = attn.linear %a, %wo : !x, [8, 8] f32
  %r = attn.add %x, %o : !x, !x
  %h = attn.linear %r, %w1 : !x, [8, 8] f32
  %t = attn.activation <gelu> %h : !x
  %d = attn.linear %t, %w2 : !x, [8, 8] f32
  %y = attn.add %r, %d : !x, !x
  return %y : !x
}
)mlir";

/// Square matrices, and vectors.
Shapes getShapes() {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const char *matrix : {"q", "k", "v", "o", "1", "2"})
    shapes[matrix] = {8, 8};
  for (const char *vector : {"q.bias", "v.bias", "norm.weight", "norm.bias"})
    shapes[vector] = {8};
  return Shapes(shapes);
}

class VerifyPasses : public ReplacementTest {
protected:
  VerifyPasses() : ReplacementTest(layer, getShapes()) {
    std::vector<int64_t> mask = {1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0};
    VerifyCall call = {
        "run",
        {{"x", Tensor::floats({3, 5, 8})}, {"mask", Tensor::of({3, 5}, mask)}},
        {}};
    std::fill(call.inputs[0].tensor.real.begin(),
              call.inputs[0].tensor.real.end(), 0.5);
    cases = {{call}};
  }
};

const std::vector<Replacement> bugs = {
    {"bias forgotten",
     {{"%n, %wq, %bq : !x, [8, 8] f32, [8] f32", "%n, %wq : !x, [8, 8] f32"}}},
    {"bias of another product", {{"%wv, %bv", "%wv, %bq"}}},
    {"weight of another product", {{"file(\"q\")", "file(\"k\")"}}},
    {"weight transposed", {{"file(\"o\")", "transpose(file(\"o\"), [1, 0])"}}},
    {"columns of a weight rotated",
     {{"file(\"2\")", "concat(1, slice(file(\"2\"), 1, 1, 7), "
                      "slice(file(\"2\"), 1, 0, 1))"}}},
    {"eps of another norm", {{"1.0e-12", "1.0e-5"}}},
    {"norm without eps", {{"1.0e-12", "0.0"}}},
    {"gamma and beta exchanged", {{"%x, %g, %b eps", "%x, %b, %g eps"}}},
    {"gamma forgotten", {{"file(\"norm.weight\")", "fill([8], 1.0)"}}},
    {"beta forgotten", {{"file(\"norm.bias\")", "fill([8], 0.0)"}}},
    {"LayerNorm done as RMSNorm",
     {{"attn.layer_norm %x, %g, %b eps 1.0e-12 : !x, [8] f32, [8] f32",
       "attn.rms_norm %x, %g eps 1.0e-12 : !x, [8] f32"}}},
    {"a scale before the norm",
     {{"%n = attn.layer_norm %x,",
       "%z = attn.scale %x by 2.0 : !x\n  %n = attn.layer_norm %z,"}}},
    {"scale forgotten", {{"scale 0.35", "scale 1.0"}}},
    {"scale off by 1e-6", {{"scale 0.35", "scale 0.350001"}}},
    {"scale twice", {{"scale 0.35", "scale 0.1225"}}},
    {"causal", {{"<keys>", "<keys> {causal}"}}},
    {"a window", {{"<keys>", "<keys> {window = 2 : i64}"}}},
    {"a soft cap", {{"<keys>", "<keys> {soft_cap = 30.0 : f64}"}}},
    {"hidden keys get -10000 and stay",
     {{"<keys>", "<keys> {mask_value = -1.0e4 : f64}"}}},
    {"mask forgotten",
     {{"mask(%mask : [batch, seq] i1) heads 2 kv_heads 2 scale 0.35 <keys>",
       "heads 2 kv_heads 2 scale 0.35 <none>"}}},
    {"keys and values exchanged", {{"%q, %k, %v", "%q, %v, %k"}}},
    {"queries and keys exchanged", {{"%q, %k, %v", "%k, %q, %v"}}},
    {"more heads", {{"heads 2 kv_heads 2", "heads 4 kv_heads 4"}}},
    {"attention of the rows before the norm",
     {{"linear %n, %wk", "linear %x, %wk"}}},
    {"gelu by tanh", {{"<gelu>", "<gelu_tanh>"}}},
    {"silu for gelu", {{"<gelu>", "<silu>"}}},
    {"activation forgotten", {{"linear %t, %w2", "linear %h, %w2"}}},
    {"residual forgotten", {{"%r = attn.add %x, %o", "%r = attn.add %n, %o"}}},
    {"residual twice", {{"%y = attn.add %r, %d", "%y = attn.add %r, %r"}}},
    {"residual of the first state",
     {{"%y = attn.add %r, %d", "%y = attn.add %x, %d"}}},
};

const std::vector<Replacement> rewrites = {
    {"operands commuted", {{"attn.add %r, %d", "attn.add %d, %r"}}},
    {"scale in the query's product",
     {{"scale 0.35", "scale 0.175"},
      {"file(\"q\")", "scale(file(\"q\"), 2.0)"},
      {"file(\"q.bias\")", "scale(file(\"q.bias\"), 2.0)"}}},
    {"a bias of keys, which softmax does not see",
     {{"%k = attn.linear %n, %wk : !x, [8, 8] f32",
       "%k = attn.linear %n, %wk, %bv : !x, [8, 8] f32, [8] f32"}}},
    {"hidden keys get -1e30 and more",
     {{"<keys>", "<keys> {mask_value = -3.4e38 : f64}"}}},
    {"a weight in pieces",
     {{"file(\"2\")", "concat(0, slice(file(\"2\"), 0, 0, 3), "
                      "slice(file(\"2\"), 0, 3, 5))"}}},
    {"a product in two",
     {{"%d = attn.linear %t, %w2 : !x, [8, 8] f32\n"
       "  %y = attn.add %r, %d : !x, !x",
       "%half = attn.scale %t by 0.5 : !x\n"
       "  %d = attn.linear %half, %w2 : !x, [8, 8] f32\n"
       "  %e = attn.add %d, %r : !x, !x\n"
       "  %y = attn.add %e, %d : !x, !x"}}},
};

} // namespace

TEST_F(VerifyPasses, findsBugs) {
  for (const Replacement &bug : bugs)
    EXPECT_NE(check(bug).find("'y' differs in "), std::string::npos)
        << bug.name << ": " << check(bug);
}

TEST_F(VerifyPasses, acceptsRightRewrites) {
  for (const Replacement &rewrite : rewrites)
    EXPECT_EQ(check(rewrite), "") << rewrite.name;
}

TEST_F(VerifyPasses, namesTheFirstOperationWithNewNumbers) {
  EXPECT_EQ(check({"", {{"<gelu>", "<silu>"}}}),
            "after 'the-pass': 'y' differs in 120 of 120 elements; the first "
            "new number is of 'attn.activation'");
}

// A mask without effect hides dependent code: the check covers only executed
// code.
TEST_F(VerifyPasses, doesNotSeeWhatTheSizesDoNotRun) {
  cases[0][0].inputs = {{"x", Tensor::of({1, 1, 8}, std::vector<double>(8, 2))},
                        {"mask", Tensor::of({1, 1}, std::vector<int64_t>{1})}};
  EXPECT_EQ(check({"", {{"<keys>", "<keys> {causal}"}}}), "");
}

TEST_F(VerifyPasses, takesConstantsWithinF32ForEqualAndSaysSo) {
  PassVerifier verifier(options, cases);
  OwningOpRef<ModuleOp> before = parse({"", {{"0.35", "0.1234567890123"}}}),
                        after = parse({"", {{"0.35", "0.12345679104328156"}}});
  ASSERT_TRUE(verifier.start(*before));
  EXPECT_FALSE(verifier.check(*after, "the-pass"));
  const auto &equalConstants = verifier.getDomain().getEqualConstants();
  ASSERT_FALSE(equalConstants.empty());
  EXPECT_EQ(equalConstants.back(),
            "0.12345679104328156 = f32 of 0.12345678901230001");
}

// Monotone functions and identities between functions are not field laws.
TEST_F(VerifyPasses, refusesRightRewritesThatItHasNoLawFor) {
  Replacement scaled = {"",
                        {{"%t = attn.activation <gelu> %h : !x",
                          "%u = attn.scale %h by 0.3 : !x\n"
                          "  %t = attn.activation <relu> %u : !x"}}},
              later = {"",
                       {{"%t = attn.activation <gelu> %h : !x",
                         "%u = attn.activation <relu> %h : !x\n"
                         "  %t = attn.scale %u by 0.3 : !x"}}};
  PassVerifier verifier(options, cases);
  OwningOpRef<ModuleOp> before = parse(scaled), after = parse(later);
  ASSERT_TRUE(verifier.start(*before));
  EXPECT_TRUE(verifier.check(*after, "the-pass"));
}

TEST_F(VerifyPasses, reportsWhatCannotBeEvaluated) {
  EXPECT_EQ(check({"", {{"@run", "@walk"}}}),
            "after 'the-pass': no entry 'run'");
  EXPECT_EQ(check({"", {{"\"y\"", "\"z\""}}}),
            "after 'the-pass': 'y' is missing");
}

// A result that a pass adds is one that later passes keep.
TEST_F(VerifyPasses, checksResultsThatPassesAdd) {
  Replacement added = {"",
                       {{"-> (!x {attn.name = \"y\"})",
                         "-> (!x {attn.name = \"y\"}, !x {attn.name = \"z\"})"},
                        {"return %y : !x", "return %y, %h : !x, !x"}}};
  PassVerifier verifier(options, cases);
  OwningOpRef<ModuleOp> first = parse({"", {}}), second = parse(added);
  added.texts.back().second = "return %y, %t : !x, !x";
  OwningOpRef<ModuleOp> third = parse(added);
  ASSERT_TRUE(verifier.start(*first));
  EXPECT_FALSE(verifier.check(*second, "adds-it"));
  EXPECT_FALSE(verifier.check(*second, "keeps-it"));
  auto difference = verifier.check(*third, "spoils-it");
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->result, "'z' differs in 120 of 120 elements");
}

TEST_F(VerifyPasses, findsTheSameInTwoLanes) {
  options.numLanes = 2;
  EXPECT_NE(check(bugs[0]), "");
  EXPECT_EQ(check(rewrites[1]), "");
}

//===----------------------------------------------------------------------===//
// Invisible faults
//===----------------------------------------------------------------------===//

/// A softmax by its parts, and with something subtracted from each score.
constexpr const char *softmax = R"mlir(
!x = tensor<3x4xf32>
attn.weight @ones : [4, 4] f32 = #weight.expr<fill([4, 4], 1.0)>
attn.weight @v : [4, 4] f32 = #weight.expr<file("4x4")>
attn.weight @c : [4, 4] f32 = #weight.expr<concat(0, slice(file("4x4"), 0, 0, 1), slice(file("4x4"), 0, 0, 1), slice(file("4x4"), 0, 0, 1), slice(file("4x4"), 0, 0, 1))>
func.func @run(%x: !x {attn.name = "x"}) -> (!x {attn.name = "y"}) {
  %ones = attn.get_weight @ones : [4, 4] f32
  %v = attn.get_weight @v : [4, 4] f32
  %c = attn.get_weight @c : [4, 4] f32
  %s = attn.linear %x, %v : !x, [4, 4] f32
  %p = attn.softmax %s : !x
  %y = attn.linear %p, %v : !x, [4, 4] f32
  return %y : !x
}
)mlir";

class VerifyPassesSoftmax : public ReplacementTest {
protected:
  VerifyPassesSoftmax() : ReplacementTest(softmax, Shapes({{"4x4", {4, 4}}})) {
    VerifyCall call = {"run", {{"x", Tensor::floats({3, 4})}}, {}};
    std::fill(call.inputs[0].tensor.real.begin(),
              call.inputs[0].tensor.real.end(), 0.5);
    cases = {{call}};
  }
};

// A value subtracted from all scores in a row cancels: a missing, a wrong and a
// minimal maximum give the same real function. In floats they may overflow.
TEST_F(VerifyPassesSoftmax, doesNotSeeAMaximumThatIsLeftOutOrWrong) {
  const std::string parts = "%e = attn.activation <exp> %s : !x\n"
                            "  %z = attn.linear %e, %ones : !x, [4, 4] f32\n"
                            "  %p = attn.div %e, %z : !x, !x";
  EXPECT_EQ(check({"left out", {{"%p = attn.softmax %s : !x", parts}}}), "");
  Replacement wrong = {"any number of the row",
                       {{"%p = attn.softmax %s : !x",
                         "%m = attn.linear %x, %c : !x, [4, 4] f32\n"
                         "  %t = attn.sub %s, %m : !x, !x\n  " +
                             parts},
                        {"<exp> %s", "<exp> %t"}}};
  EXPECT_EQ(check(wrong), "");
  // A value that differs by column does not cancel.
  EXPECT_NE(check({"of a column",
                   {{"%p = attn.softmax %s : !x",
                     "%t = attn.sub %s, %x : !x, !x\n  " + parts},
                    {"<exp> %s", "<exp> %t"}}}),
            "");
}

TEST_F(VerifyPassesSoftmax, findsASumThatIsLeftOut) {
  EXPECT_NE(
      check({"not divided by the sum",
             {{"%p = attn.softmax %s", "%p = attn.activation <exp> %s"}}}),
      "");
  EXPECT_NE(check({"divided by the sum of the scores",
                   {{"%p = attn.softmax %s : !x",
                     "%e = attn.activation <exp> %s : !x\n"
                     "  %z = attn.linear %s, %ones : !x, [4, 4] f32\n"
                     "  %p = attn.div %e, %z : !x, !x"}}}),
            "");
}

// tanh(x) = 2 sigmoid(2x) - 1, and without eps norm(3x) equals norm(x).
TEST_F(VerifyPassesSoftmax, refusesIdentitiesOfFunctions) {
  auto with = [](const char *operations) {
    return Replacement{"", {{"%p = attn.softmax %s : !x", operations}}};
  };
  auto tanh = parse(with("%p = attn.activation <tanh> %s : !x")),
       sigmoid = parse(with("%d = attn.scale %s by 2.0 : !x\n"
                            "  %e = attn.activation <sigmoid> %d : !x\n"
                            "  %p = attn.scale %e by 2.0 {offset = -1.0 : f64} "
                            ": !x"));
  EXPECT_NE(check(tanh.get(), sigmoid.get()), "");
  const char *gamma = "%g = attn.constant dense<1.0> : tensor<4xf32>\n  ";
  auto norm = parse(with((gamma + std::string("%p = attn.rms_norm %s, %g eps "
                                              "0.0 : !x, [4] f32"))
                             .c_str())),
       scaled = parse(with(
           (gamma + std::string("%t = attn.scale %s by 3.0 : !x\n"
                                "  %p = attn.rms_norm %t, %g eps 0.0 : !x, "
                                "[4] f32"))
               .c_str()));
  EXPECT_NE(check(norm.get(), scaled.get()), "");
}

TEST_F(VerifyPassesSoftmax, acceptsTwoProductsAsOne) {
  auto twice = parse({"",
                      {{"attn.softmax %s : !x",
                        "attn.linear %s, %ones : !x, [4, 4] f32"}}}),
       once = parse({"",
                     {{"%p = attn.softmax %s : !x",
                       "%t = attn.matmul %ones, %v : [4, 4] f32, [4, 4] f32\n"
                       "  %p = attn.linear %x, %t : !x, [4, 4] f32"}}});
  EXPECT_EQ(check(twice.get(), once.get()), "");
}

/// A rounding to bf16 between two buffers.
constexpr const char *rounding = R"mlir(
!b = !kern.buffer<[n, 4] x f32>
func.func @run(%x: !b {attn.name = "x"}, %y: !b {attn.name = "y"}) attributes {kern.inputs = 1 : i64} {
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%v: f32):
    %t = arith.truncf %v : f32 to bf16
    %u = arith.extf %t : bf16 to f32
    kern.yield %u : f32
  } : (!b) -> !b
  return
}
)mlir";

class VerifyPassesRounding : public ReplacementTest {
protected:
  VerifyPassesRounding() : ReplacementTest(rounding, Shapes({})) {
    context.loadDialect<kern::KernDialect, arith::ArithDialect>();
    VerifyCall call = {"run", {{"x", Tensor::floats({3, 4})}}, {}};
    std::fill(call.inputs[0].tensor.real.begin(),
              call.inputs[0].tensor.real.end(), 0.5);
    cases = {{call}};
  }
};

TEST_F(VerifyPassesRounding, seesARoundingThatIsLeftOutWhereItIsAFunction) {
  Replacement leftOut = {"", {{"kern.yield %u", "kern.yield %v"}}};
  options.rounding = Rounding::Erased;
  EXPECT_EQ(check(leftOut), "");
  options.rounding = Rounding::Opaque;
  EXPECT_NE(check(leftOut), "");
  EXPECT_EQ(check({"", {}}), "");
}
