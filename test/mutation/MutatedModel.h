// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A random model whose passes run one by one, with exact checks of what mutants
// of the module compute.
#pragma once
#include "compiler/pipeline/Pipeline.h"
#include "compiler/verify/TensorShapes.h"
#include "compiler/verify/VerifyPasses.h"
#include "mlir/IR/MLIRContext.h"
#include "test/e2e/random/RandomGraph.h"
#include <memory>

namespace transom::testing {

/// Who found a bug.
enum class Finder { Nobody, Verifier, Evaluator, Residues };

struct Finding {
  Finder finder = Finder::Nobody;
  std::string text;
};

/// A module with what a check of it needs, for another context.
struct ModelText {
  std::string module;
  TensorShapes::Map shapes; ///< of its file tensors
};

/// One model: a graph, of which a quarter have relative positions and
/// convolutions and a quarter end as pipelines do, or for every third seed a
/// decoder, of which half have an encoder.
class MutatedModel {
public:
  explicit MutatedModel(uint64_t seed);
  /// A model of a file, with the options that the seed chooses.
  MutatedModel(const ModelText &text, uint64_t seed);

  /// True for a model that hides bugs: few rows, attention to a single key, or
  /// a test for zero of numbers that are never zero.
  bool hidesBugs();
  /// Notes what the model computes. An error where the evaluator cannot.
  Result<void> start();
  /// Runs a pass; false where it changes nothing.
  Result<bool> runPass(const PassInfo &pass);
  /// Looks for a bug: the verifier, then the evaluator on a few calls, then on
  /// many more.
  Finding check(mlir::ModuleOp mutant);

  mlir::ModuleOp getModule() { return *module; }
  const TensorSource &getWeights() const { return *options.source; }
  const PipelineOptions &getPasses() const { return passes; }

private:
  void prepareContext();
  /// Asks for what the driver may ask for.
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
  /// The module before all passes, and as it is now.
  mlir::OwningOpRef<mlir::ModuleOp> original, module;
  PassVerifierOptions options;
  /// Calls that find nearly everything, and those for the rest.
  std::vector<VerifyCase> few, many;
  std::vector<std::unique_ptr<PassVerifier>> verifiers;
  bool rounds = false;
};

} // namespace transom::testing
