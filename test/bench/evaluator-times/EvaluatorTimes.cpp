// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// evaluator-times: prints as JSON the fastest evaluation time in milliseconds
// for one encoder layer in float64: before all passes, and after them.
#include "compiler/evaluator/Evaluator.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Register.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace mlir;
using namespace transom;

static constexpr int numRuns = 15;
static constexpr int64_t batch = 2, length = 24, width = 192, inner = 768;

static constexpr const char *layer = R"mlir(
!x = tensor<?x?x192xf32, #attn.shape<[batch, seq, 192]>>
!h = tensor<?x?x768xf32, #attn.shape<[batch, seq, 768]>>
!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
attn.weight @q : [192, 192] f32 = #weight.expr<file("square")>
attn.weight @k : [192, 192] f32 = #weight.expr<file("square")>
attn.weight @v : [192, 192] f32 = #weight.expr<file("square")>
attn.weight @o : [192, 192] f32 = #weight.expr<file("square")>
attn.weight @up : [768, 192] f32 = #weight.expr<file("up")>
attn.weight @down : [192, 768] f32 = #weight.expr<file("down")>
attn.weight @bias : [192] f32 = #weight.expr<file("bias")>
attn.weight @gamma : [192] f32 = #weight.expr<file("gamma")>
attn.weight @beta : [192] f32 = #weight.expr<file("beta")>
func.func @run(%x: !x {attn.name = "x"}, %m: !ids {attn.name = "mask"})
    -> (!x {attn.name = "y"}) {
  %wq = attn.get_weight @q : [192, 192] f32
  %wk = attn.get_weight @k : [192, 192] f32
  %wv = attn.get_weight @v : [192, 192] f32
  %wo = attn.get_weight @o : [192, 192] f32
  %up = attn.get_weight @up : [768, 192] f32
  %down = attn.get_weight @down : [192, 768] f32
  %bias = attn.get_weight @bias : [192] f32
  %g = attn.get_weight @gamma : [192] f32
  %b = attn.get_weight @beta : [192] f32
  %mask = attn.cast %m to i1 : [batch, seq] i64
  %q = attn.linear %x, %wq, %bias : !x, [192, 192] f32, [192] f32
  %k = attn.linear %x, %wk, %bias : !x, [192, 192] f32, [192] f32
  %v = attn.linear %x, %wv, %bias : !x, [192, 192] f32, [192] f32
  %a = attn.sdpa %q, %k, %v mask(%mask : [batch, seq] i1) heads 6 kv_heads 6 scale 0.17677669529663687 <keys> : !x
  %p = attn.linear %a, %wo, %bias : !x, [192, 192] f32, [192] f32
  %s = attn.add %x, %p : !x, !x
  %n = attn.layer_norm %s, %g, %b eps 1.0e-12 : !x, [192] f32, [192] f32
  %h = attn.linear %n, %up : !x, [768, 192] f32
  %t = attn.activation <gelu> %h : !h
  %d = attn.linear %t, %down, %bias : !h, [192, 768] f32, [192] f32
  %r = attn.add %n, %d : !x, !x
  %y = attn.layer_norm %r, %g, %b eps 1.0e-12 : !x, [192] f32, [192] f32
  return %y : !x
}
)mlir";

/// A value in [-1, 1) for each position.
static float getElement(int64_t place) {
  return static_cast<float>(place * 7919 % 2048) / 1024 - 1;
}

namespace {

/// Tensors with arbitrary values; the name gives their purpose.
struct AnyNumbers : TensorSource {
  Result<std::vector<int64_t>> shape(const std::string &name) const override {
    if (name == "square")
      return std::vector<int64_t>{width, width};
    if (name == "up")
      return std::vector<int64_t>{inner, width};
    if (name == "down")
      return std::vector<int64_t>{width, inner};
    return std::vector<int64_t>{width};
  }
  Result<void> read(const std::string &, const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override {
    const int64_t row = sizes.size() == 2 ? sizes[1] : sizes[0];
    const int64_t count = sizes.size() == 2 ? sizes[0] * row : row;
    for (int64_t i = 0; i < count; ++i)
      out[i] = getElement(offsets[0] * row + i) / 16;
    return {};
  }
};

} // namespace

/// Returns milliseconds for the fastest of many evaluations; negative on error.
static double measure(ModuleOp module, const EvaluateOptions &options) {
  Tensor x = Tensor::floats({batch, length, width});
  for (int64_t i = 0; i < x.count(); ++i)
    x.real[i] = getElement(i);
  const Tensor mask = Tensor::of(
      {batch, length}, std::vector<int64_t>(batch * length, int64_t(1)));
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i != numRuns; ++i) {
    const Clock::time_point start = Clock::now();
    auto result = evaluate(module, "run", {{"x", x}, {"mask", mask}}, options);
    const std::chrono::duration<double, std::milli> time = Clock::now() - start;
    if (!result) {
      std::fprintf(stderr, "evaluator-times: error: %s\n",
                   result.error().message.c_str());
      return -1;
    }
    best = std::min(best, time.count());
  }
  return best;
}

int main() {
  MLIRContext context;
  DialectRegistry registry;
  registerTransomDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(layer, &context);
  if (!module)
    return 1;
  AnyNumbers weights;
  EvaluateOptions options;
  options.source = &weights;
  const double before = measure(*module, options);
  PassManager manager(&context);
  const PipelineOptions pipeline;
  for (Stage stage : {Stage::AttnOpt, Stage::Kern})
    for (const transom::PassInfo &pass : getPasses())
      if (pass.stage == stage && runsPass(pass, pipeline))
        manager.addPass(pass.create(pipeline));
  if (failed(manager.run(*module)))
    return 1;
  const double after = measure(*module, options);
  std::printf("{\"ms_attn\": %.3f, \"ms_kern\": %.3f}\n", before, after);
  return before < 0 || after < 0;
}
