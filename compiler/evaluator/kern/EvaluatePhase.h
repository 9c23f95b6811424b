// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates one phase in a kern entry on the machine's memory before it. The
// result is then compared with the machine's memory after it.
#pragma once
#include "compiler/evaluator/kern/KernEvaluation.h"
#include "compiler/evaluator/kern/MachineMemory.h"
#include <map>

namespace transom {

/// A phase in an entry, and the layer for which it runs; both null outside
/// layers.
struct PhaseSite {
  kern::PhaseOp phase;
  kern::LayersOp layers;
  kern::LayerAttr layer;
  int64_t layerIndex = -1;
};

/// The phases in an entry, in execution order.
std::vector<PhaseSite> listPhases(mlir::func::FuncOp entry,
                                  const mlir::SymbolTable &symbols);

/// Memory and symbols before a phase.
struct PhaseState {
  std::map<std::string, int64_t> symbols; ///< symbols with a value
  MachineBytes arena;
  std::vector<int64_t> offsets; ///< in the arena, by slot
  std::vector<MachineBytes> arguments;
  std::vector<RaggedBatch> ragged; ///< by index of the table
  CacheStore *caches = nullptr;    ///< contents that the phase reads
};

/// A buffer that a phase reads or writes.
struct PhaseBuffer : MachineBuffer {
  int64_t argument = -1, slot = -1; ///< which one it is
  int64_t offset = 0;               ///< in the arena
  kern::BufferType type;
  int64_t columns = 1, stride = 1;

  /// Row and column for an element, by its position in memory.
  std::pair<int64_t, int64_t> getIndex(int64_t element) const;
};

/// Memory after a phase.
struct PhaseResult {
  std::vector<PhaseBuffer> buffers;
  std::vector<KernEvaluation::Appended> appended;
  std::map<std::string, int64_t> sizes; ///< bounded sizes that the phase writes
};

/// Evaluates phases in a module. Caches weights in memory up to a limit.
class PhaseEvaluator {
public:
  /// The module and the source must outlive this object.
  PhaseEvaluator(mlir::ModuleOp module, const TensorSource &source);

  const mlir::SymbolTable &getSymbols() const { return symbols; }
  /// `domain` as in EvaluateOptions.
  Result<PhaseResult> evaluate(const PhaseSite &site, const PhaseState &state,
                               Domain *domain);

private:
  class Run;
  Result<std::shared_ptr<const Tensor>>
  getWeight(llvm::StringRef symbol, mlir::Type type, Evaluation &evaluation);

  /// Max number of cached weight elements.
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
