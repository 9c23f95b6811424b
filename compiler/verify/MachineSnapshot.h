// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a dispatch can reach, as bytes that stay, and what a phase
// evaluated on them finds: sizes, tables of sequences, positions of caches.
#pragma once
#include "compiler/evaluator/kern/EvaluatePhase.h"
#include "compiler/verify/ArtifactStepper.h"
#include <set>

namespace transom {

/// A copy of a dispatch's memory.
struct MachineSnapshot {
  std::string arena, blocks;
  std::vector<std::string> arguments; ///< inputs, then results
  std::vector<bool> isLeftOut;        ///< results that the call does not want
  std::vector<int64_t> symbols;       ///< in the order of the entry's

  static Result<MachineSnapshot> take(const SteppedDispatch &dispatch,
                                      const ManifestEntry &entry);
  /// The bytes of an argument; null where it is left out.
  MachineBytes getArgument(size_t index) const {
    return {isLeftOut[index] ? nullptr : arguments[index].data(),
            static_cast<int64_t>(arguments[index].size())};
  }
};

/// A position in the KV blocks of a sequence.
struct CachePlace {
  char *layer = nullptr; ///< where the layer begins in its block; null: dropped
  int64_t position = 0;  ///< in the block
};

/// What a dispatch is about to run on.
class MachineState {
public:
  /// All outlive this.
  MachineState(const SteppedDispatch &dispatch, const ManifestEntry &entry,
               const mlir::SymbolTable &symbols)
      : dispatch(dispatch), entry(entry), symbols(symbols) {}

  /// All but the caches. `known`: the bounded sizes that the call has written.
  PhaseState makeState(const MachineSnapshot &before,
                       const std::set<std::string> &known) const;
  /// Puts the positions that a phase reads into a store. `keepsScales`: as the
  /// domain of bits has them.
  void readCaches(const PhaseSite &site, const PhaseState &state,
                  bool keepsScales, CacheStore &caches) const;
  /// Where a layer's cache has a position of a sequence of table `ragged`.
  CachePlace findPlace(kern::CacheOp cache, int64_t ragged, int64_t sequence,
                       int64_t position) const;

private:
  RaggedBatch readTable(const transom_ragged_batch &table, bool isStep) const;
  RaggedBatch readKeyTable(const transom_ragged_batch &table,
                           const RaggedBatch &step) const;
  std::vector<RaggedBatch> readTables() const;
  /// The sequence of a table that has a row.
  int64_t findSequence(const transom_ragged_batch &table, int64_t row) const;

  const SteppedDispatch &dispatch;
  const ManifestEntry &entry;
  const mlir::SymbolTable &symbols;
};

/// The symbol of the cache that a value of a phase is.
llvm::StringRef getCacheSymbol(const PhaseSite &site, mlir::Value cache);

} // namespace transom
