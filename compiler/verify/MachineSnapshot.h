// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy of the memory that a dispatch can access, and its state as the phase
// evaluator reads it: sizes, sequence tables, cache positions.
#pragma once
#include "compiler/evaluator/kern/EvaluatePhase.h"
#include "compiler/verify/ArtifactStepper.h"
#include <set>

namespace transom {

/// A copy of dispatch memory.
struct MachineSnapshot {
  std::string arena, blocks;
  std::vector<std::string> arguments; ///< inputs, then results
  std::vector<bool> isLeftOut;        ///< results that the call omits
  std::vector<int64_t> symbols;       ///< in the entry's order

  static Result<MachineSnapshot> take(const SteppedDispatch &dispatch,
                                      const ManifestEntry &entry);
  /// Argument bytes; null if omitted.
  MachineBytes getArgument(size_t index) const {
    return {isLeftOut[index] ? nullptr : arguments[index].data(),
            static_cast<int64_t>(arguments[index].size())};
  }
};

/// A position in the KV blocks for a sequence.
struct CachePlace {
  char *layer =
      nullptr; ///< first byte for the layer in its block; null: dropped
  int64_t position = 0; ///< in the block
};

/// State before a dispatch.
class MachineState {
public:
  /// All arguments must outlive this object.
  MachineState(const SteppedDispatch &dispatch, const ManifestEntry &entry,
               const mlir::SymbolTable &symbols)
      : dispatch(dispatch), entry(entry), symbols(symbols) {}

  /// Everything except the caches. `known`: bounded sizes that the call has
  /// written.
  PhaseState makeState(const MachineSnapshot &before,
                       const std::set<std::string> &known) const;
  /// Copies the positions that a phase reads to a store. `keepsScales`: stores
  /// integers and scales separately, as the bits domain does.
  void readCaches(const PhaseSite &site, const PhaseState &state,
                  bool keepsScales, CacheStore &caches) const;
  /// The location of a sequence position in a layer's cache; `ragged` is the
  /// table index.
  CachePlace findPlace(kern::CacheOp cache, int64_t ragged, int64_t sequence,
                       int64_t position) const;

private:
  RaggedBatch readTable(const transom_ragged_batch &table, bool isStep) const;
  RaggedBatch readKeyTable(const transom_ragged_batch &table,
                           const RaggedBatch &step) const;
  std::vector<RaggedBatch> readTables() const;
  /// The sequence in a table that contains a row.
  int64_t findSequence(const transom_ragged_batch &table, int64_t row) const;

  const SteppedDispatch &dispatch;
  const ManifestEntry &entry;
  const mlir::SymbolTable &symbols;
};

/// The cache symbol for a value in a phase.
llvm::StringRef getCacheSymbol(const PhaseSite &site, mlir::Value cache);

} // namespace transom
