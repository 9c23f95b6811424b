// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module with two layers of two phases each, and the memory for running it by
// hand.
#pragma once
#include "compiler/evaluator/kern/EvaluatePhase.h"
#include "compiler/verify/ArtifactStepper.h"
#include "dialects/kern/Kern.h"
#include "dialects/weights/WeightExpr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace transom::testing {

/// `y` is x, times 2, plus 1, then times 3, plus 1.
inline constexpr const char *steppedText = R"mlir(
!x = !kern.buffer<[rows, 4] x f32>
!w = !kern.weight<[4] x f32, rows>
kern.weight @g0 : !w = #weight.expr<fill([4], 2.0)>
kern.weight @g1 : !w = #weight.expr<fill([4], 3.0)>
func.func private @layer(%s: !x, %g: !w) {
  %t = kern.alloc {slot = 0 : i64} : !x
  kern.phase "layer.0.scale" {
    kern.elementwise ins(%s, %g) outs(%t) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.mulf %a, %b : f32
      kern.yield %c : f32
    } : (!x, !w) -> !x loc("layers.{0-1}.scale")
  }
  kern.phase "layer.1.add" {
    kern.elementwise ins(%t) outs(%s) {
    ^bb0(%a: f32):
      %one = arith.constant 1.0 : f32
      %c = arith.addf %a, %one : f32
      kern.yield %c : f32
    } : (!x) -> !x loc("layers.{0-1}.add")
  }
  return
}
func.func @run(%x: !x {attn.name = "x"}, %y: !x {attn.name = "y"})
    attributes {kern.inputs = 1 : i64, kern.symbols = ["parts", "rows"]} {
  kern.phase "run.0.copy" {
    kern.elementwise ins(%x) outs(%y) {
    ^bb0(%a: f32):
      kern.yield %a : f32
    } : (!x) -> !x loc("copy")
  }
  kern.layers %y [@layer(@g0), @layer(@g1)] : !x
  return
}
)mlir";

/// The tensor source for a model without files.
struct NoTensors : TensorSource {
  Result<std::vector<int64_t>> shape(const std::string &) const override {
    return rejected("no files");
  }
  Result<void> read(const std::string &, const std::vector<int64_t> &,
                    const std::vector<int64_t> &, float *) const override {
    return rejected("no files");
  }
};

/// The module, and a call with two rows.
class SteppedMachine {
public:
  static constexpr int64_t rows = 2, arenaBytes = 128, tempOffset = 64;

  explicit SteppedMachine(const char *text = steppedText) {
    context.loadDialect<kern::KernDialect, mlir::func::FuncDialect,
                        mlir::arith::ArithDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ManifestEntry entry;
    entry.name = "run";
    const std::vector<Polynomial> shape = {Polynomial::symbol("rows"), 4};
    entry.inputs = {{"x", DType::F32, shape, "data", {}, {}}};
    entry.outputs = {{"y", DType::F32, shape, "", {}, {}}};
    entry.symbolOrder = {"parts", "rows"};
    entry.buffers = {{tempOffset, 32, "scaled rows"}};
    entry.counters = 1;
    manifest.entries = {entry};
    frame.arena = arena.data();
    frame.symbols = symbols;
    frame.offsets = &offset;
    frame.args = args;
    frame.counters = &counter;
    for (int64_t i = 0; i < 4 * rows; ++i)
      x[i] = static_cast<float>(i) * 0.5F;
  }

  float *getTemp() { return reinterpret_cast<float *>(&arena[tempOffset]); }

  /// Computes the result that a dispatch's code should compute.
  void run(int64_t dispatch) {
    for (int64_t i = 0; i < 4 * rows; ++i)
      if (dispatch == 0)
        y[i] = x[i];
      else if (dispatch % 2 == 1)
        getTemp()[i] = y[i] * (dispatch == 1 ? 2.0F : 3.0F);
      else
        y[i] = getTemp()[i] + 1;
  }

  SteppedDispatch describe(int64_t dispatch) const {
    SteppedDispatch shown;
    shown.isa = "avx2";
    shown.entry = "run";
    shown.call = "2 rows";
    shown.dispatch = dispatch;
    shown.frame = &frame;
    shown.arenaBytes = arenaBytes;
    return shown;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Manifest manifest;
  NoTensors source;
  std::vector<char> arena = std::vector<char>(arenaBytes, 'a');
  float x[4 * rows] = {}, y[4 * rows] = {};
  int64_t symbols[2] = {1, rows}, offset = tempOffset, counter = 0;
  void *args[2] = {x, y};
  transom_frame frame{};
};

} // namespace transom::testing
