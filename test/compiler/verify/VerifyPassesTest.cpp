// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the exact check finds, accepts, refuses and cannot see: one layer of an
// encoder, and the same with a piece of its text replaced.
#include "compiler/verify/VerifyPasses.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

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
struct Files : TensorSource {
  Result<std::vector<int64_t>> shape(const std::string &name) const override {
    return name.size() == 1 ? std::vector<int64_t>{8, 8}
                            : std::vector<int64_t>{8};
  }
  Result<void> read(const std::string &name, const std::vector<int64_t> &,
                    const std::vector<int64_t> &, float *) const override {
    return rejected("'" + name + "' is read");
  }
};

/// A piece of text and what takes its place.
struct Replacement {
  const char *name;
  std::vector<std::pair<std::string, std::string>> texts;
};

class VerifyPasses : public ::testing::Test {
protected:
  VerifyPasses() {
    context.loadDialect<attn::AttnDialect, func::FuncDialect>();
    std::vector<int64_t> mask = {1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0};
    VerifyCall call = {
        "run",
        {{"x", Tensor::floats({3, 5, 8})}, {"mask", Tensor::of({3, 5}, mask)}},
        {}};
    std::fill(call.inputs[0].tensor.real.begin(),
              call.inputs[0].tensor.real.end(), 0.5);
    cases = {{call}};
    options.source = &files;
  }

  /// The layer with its text replaced.
  OwningOpRef<ModuleOp> parse(const Replacement &replacement) {
    std::string text = layer;
    for (const auto &[from, to] : replacement.texts) {
      size_t at = text.find(from);
      EXPECT_NE(at, std::string::npos) << "no '" << from << "'";
      if (at != std::string::npos)
        text.replace(at, from.size(), to);
    }
    return parseSourceString<ModuleOp>(text, &context);
  }

  /// What the check says of a pass that does the replacement; empty where it
  /// finds nothing.
  std::string check(const Replacement &replacement) {
    PassVerifier verifier(options, cases);
    OwningOpRef<ModuleOp> before = parse({"nothing", {}}),
                          after = parse(replacement);
    if (!before || !after)
      return "no module";
    Result<void> started = verifier.start(*before);
    if (!started)
      return started.error().message;
    auto difference = verifier.check(*after, "the-pass");
    return difference ? difference->str() : "";
  }

  MLIRContext context;
  Files files;
  VerifyOptions options;
  std::vector<VerifyCase> cases;
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

// A mask that says nothing hides what depends on it: only what runs is checked.
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

// Monotone functions and identities between functions are no laws of the field.
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

TEST_F(VerifyPasses, findsTheSameInTwoLanes) {
  options.numLanes = 2;
  EXPECT_NE(check(bugs[0]), "");
  EXPECT_EQ(check(rewrites[1]), "");
}
