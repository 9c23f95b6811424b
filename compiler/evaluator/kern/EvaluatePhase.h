// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates one phase of a kern entry on the bytes that a machine has before
// it. What the machine has after it is then compared phase by phase.
#pragma once
#include "compiler/evaluator/kern/KernEvaluation.h"
#include "compiler/evaluator/kern/MachineMemory.h"
#include <map>

namespace transom {

/// A phase of an entry, and the layer that it runs for; both null outside of
/// layers.
struct PhaseSite {
  kern::PhaseOp phase;
  kern::LayersOp layers;
  kern::LayerAttr layer;
  int64_t layerIndex = -1;
};

/// The phases of an entry in the order in which they run.
std::vector<PhaseSite> listPhases(mlir::func::FuncOp entry,
                                  const mlir::SymbolTable &symbols);

/// What a phase finds.
struct PhaseState {
  std::map<std::string, int64_t> symbols; ///< those that have a value
  MachineBytes arena;
  std::vector<int64_t> offsets; ///< in the arena, by slot
  std::vector<MachineBytes> arguments;
  std::vector<RaggedBatch> ragged; ///< by index of the table
  CacheStore *caches = nullptr;    ///< with what the phase reads of caches
};

/// A buffer that a phase reads or writes.
struct PhaseBuffer : MachineBuffer {
  int64_t argument = -1, slot = -1; ///< which one it is
  int64_t offset = 0;               ///< in the arena
  kern::BufferType type;
  int64_t columns = 1, stride = 1;

  /// Row and column of an element by its place in memory.
  std::pair<int64_t, int64_t> getIndex(int64_t element) const;
};

/// What a phase leaves.
struct PhaseResult {
  std::vector<PhaseBuffer> buffers;
  std::vector<KernEvaluation::Appended> appended;
  std::map<std::string, int64_t> sizes; ///< bounded sizes that it writes
};

/// Evaluates phases of a module. Weights stay in memory as far as they fit.
class PhaseEvaluator {
public:
  /// Both outlive this.
  PhaseEvaluator(mlir::ModuleOp module, const TensorSource &source);

  const mlir::SymbolTable &getSymbols() const { return symbols; }
  /// `domain` as in EvaluateOptions.
  Result<PhaseResult> evaluate(const PhaseSite &site, const PhaseState &state,
                               Domain *domain);

private:
  class Run;
  Result<std::shared_ptr<const Tensor>>
  getWeight(llvm::StringRef symbol, mlir::Type type, Evaluation &evaluation);

  /// Numbers of weights that are kept.
  static constexpr size_t maxNumbers = size_t(1) << 26;

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  EvaluateOptions options;
  std::map<std::tuple<std::string, const void *, Domain *>,
           std::shared_ptr<const Tensor>>
      weights;
  size_t numNumbers = 0;
};

} // namespace transom
