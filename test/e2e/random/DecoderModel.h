// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A random decoder or encoder-decoder with its test inputs: token ids for some
// sequences, step schedules, sources.
#pragma once
#include "test/compiler/evaluator/Compare.h"
#include "test/e2e/random/RandomDecoder.h"

namespace transom::testing {

using Tokens = std::vector<int64_t>;

/// One decoder, some sequences, and the types that it is compiled with.
struct DecoderModel {
  DecoderModel(uint64_t seed, DecoderKind kind);

  bool rounds() const { return dtype != "f32" || kvDtype != "f32"; }
  bool hasBf16() const { return dtype == "bf16" || kvDtype == "bf16"; }
  /// Sets the weight and activation types in a module, as the driver does.
  void setTypes(mlir::ModuleOp module);

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  RandomWeights weights;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  EvaluateOptions options;
  Random random;
  int64_t vocabulary;
  std::vector<Tokens> sequences;
  std::string dtype, kvDtype;
};

/// Builds a step from new rows of some sequences, with all their logits.
Case makeStep(const Tokens &tokens, std::vector<SequenceRows> rows);

/// All sequences in one step.
Case makeWholeStep(llvm::ArrayRef<Tokens> sequences);

/// Returns two source batches with one source per sequence: one for the
/// encoder, one for the caches. Their states differ.
std::vector<Case> makeSources(DecoderModel &model);

/// Draws the rows and sequences for one call in a schedule.
std::vector<SequenceRows> drawRows(Random &random,
                                   llvm::ArrayRef<Tokens> sequences,
                                   llvm::ArrayRef<int64_t> lengths);

/// Returns true if calls have covered all tokens in all sequences.
bool isDone(llvm::ArrayRef<Tokens> sequences, llvm::ArrayRef<int64_t> lengths);

} // namespace transom::testing
