// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A random model whose passes run one by one, with exact checks for module
// mutants.
#pragma once
#include "compiler/pipeline/Pipeline.h"
#include "compiler/verify/TensorShapes.h"
#include "compiler/verify/VerifyPasses.h"
#include "mlir/IR/MLIRContext.h"
#include "test/e2e/random/RandomGraph.h"
#include <memory>

namespace transom::testing {

/// The check that found a bug.
enum class Finder { Nobody, Verifier, Evaluator, Residues };

struct Finding {
  Finder finder = Finder::Nobody;
  std::string text;
};

/// A module with everything that its check needs, for another context.
struct ModelText {
  std::string module;
  TensorShapes::Map shapes; ///< its file tensors
};

/// One model: a graph, in a quarter with relative positions and convolutions
/// and in a quarter with a pipeline's end; for every third seed a decoder, half
/// with an encoder.
class MutatedModel {
public:
  explicit MutatedModel(uint64_t seed);
  /// A model from a file, with options that the seed chooses.
  MutatedModel(const ModelText &text, uint64_t seed);

  /// Returns true for a model that hides bugs: few rows, attention to a single
  /// key, or a zero test on values that are never zero.
  bool hidesBugs();
  /// Records the model's results. Returns an error if the evaluator has one.
  Result<void> start();
  /// Runs a pass; returns false if it changes nothing.
  Result<bool> runPass(const PassInfo &pass);
  /// Searches for a bug: the verifier, then the evaluator on a few calls, then
  /// on many more.
  Finding check(mlir::ModuleOp mutant);

  mlir::ModuleOp getModule() { return *module; }
  const TensorSource &getWeights() const { return *options.source; }
  const PipelineOptions &getPasses() const { return passes; }

private:
  void prepareContext();
  /// Sets requests as the driver may.
  void chooseOptions(uint64_t seed, bool isDecoder);
  void makeGraph(uint64_t seed);
  void makeDecoder(uint64_t seed);
  void makeEncoderDecoder(uint64_t seed);
  Result<void> addVerifier(Rounding rounding, const VerifyCase &test);
  Finding compare(PassVerifier &verifier, mlir::ModuleOp mutant);

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  RandomWeights weights;
  TensorShapes::Map shapes;
  std::optional<TensorShapes> shapeSource; ///< in place of `weights`
  PipelineOptions passes;
  /// The module before all passes, and now.
  mlir::OwningOpRef<mlir::ModuleOp> original, module;
  PassVerifierOptions options;
  /// Calls that find nearly all bugs, and calls for the rest.
  std::vector<VerifyCase> few, many;
  std::vector<std::unique_ptr<PassVerifier>> verifiers;
  bool rounds = false;
};

} // namespace transom::testing
