// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A random decoder or encoder-decoder with what its tests call it with: token
// ids of some sequences, schedules of steps, sources.
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
  /// Says in a module what its types are to be, as the driver does.
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

/// New rows of some sequences, and all their logits.
Case makeStep(const Tokens &tokens, std::vector<SequenceRows> rows);

/// All sequences in one step.
Case makeWholeStep(llvm::ArrayRef<Tokens> sequences);

/// A batch of sources, one for each sequence, for the encoder and for the
/// caches. The states of the second are not those of the first.
std::vector<Case> makeSources(DecoderModel &model);

/// Which rows of which sequences come in one call of a schedule.
std::vector<SequenceRows> drawRows(Random &random,
                                   llvm::ArrayRef<Tokens> sequences,
                                   llvm::ArrayRef<int64_t> lengths);

/// True when all tokens of all sequences were in calls.
bool isDone(llvm::ArrayRef<Tokens> sequences, llvm::ArrayRef<int64_t> lengths);

} // namespace transom::testing
