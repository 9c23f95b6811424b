// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Seeded random models: small valid attn entries that use every operation,
// express attention in many ways and repeat layers. The seed determines all
// weights and inputs.
#pragma once
#include "compiler/evaluator/Evaluator.h"
#include "dialects/weights/WeightExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace transom::testing {

/// A random generator with the same sequence on all hosts.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 1) {}

  uint64_t next();
  /// A number in [0, count).
  int64_t below(int64_t count) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(count));
  }
  /// A number in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
  bool chance(int percent) { return below(100) < percent; }
  /// A float in [-1, 1] with few bits, exact in f32.
  double unit() { return static_cast<double>(between(-1024, 1024)) / 1024.0; }
  template <typename T> T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int64_t>(choices.size()))];
  }

private:
  uint64_t state;
};

/// File tensors that exist only in memory; their elements follow from their
/// names.
class RandomWeights : public TensorSource {
public:
  /// Announces a tensor with elements in [-range, range].
  void add(const std::string &name, std::vector<int64_t> shape, double range);

  Result<std::vector<int64_t>> shape(const std::string &name) const override;
  Result<void> read(const std::string &name,
                    const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override;

private:
  struct Entry {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  std::map<std::string, Entry> tensors;
};

/// This many consecutive seeds, starting at a multiple, have the same widths.
inline constexpr uint64_t seedsOfOneSize = 50;

/// An empty module with the symbols and attributes that random entries need.
mlir::OwningOpRef<mlir::ModuleOp> makeRandomModule(mlir::MLIRContext *context);

/// The components in a random graph.
enum class GraphKind {
  Any,       ///< all blocks, in odd and even widths
  Positions, ///< an encoder with relative positions in each attention
             ///< (DeBERTa), convolutions of neighboring tokens, and a pool
  Tiles,     ///< all blocks, with whole bf16 tile (AMX) widths
  Pipelines  ///< few blocks, then sentence-transformers modules:
             ///< pools, products, norms, lengths of 1, logarithms (SPLADE)
};

/// One graph in five ends as pipelines do.
inline GraphKind getUsualKind(uint64_t seed) {
  return seed % 5 == 4 ? GraphKind::Pipelines : GraphKind::Any;
}

/// Adds the entry `g<seed>` to the module, and its weights.
void addRandomGraph(mlir::ModuleOp module, uint64_t seed,
                    RandomWeights &weights, GraphKind kind = GraphKind::Any);

/// How long sequences may be: up to 40; rarely also up to 300; or between 257
/// and 600.
enum class Lengths { Short, Long, Longest };

/// Inputs for an entry from `addRandomGraph`: the seed determines sizes, values
/// and masks.
std::vector<NamedTensor> randomInputs(mlir::ModuleOp module,
                                      llvm::StringRef entry, uint64_t seed,
                                      Lengths lengths);

} // namespace transom::testing
