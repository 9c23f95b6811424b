// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares what a phase is evaluated to leave with what the machine has after
// it: the bits of what it writes, and all bytes that it has to leave alone.
#pragma once
#include "compiler/verify/CacheBytes.h"
#include "compiler/verify/CodeVerification.h"
#include "compiler/verify/MachineSnapshot.h"

namespace transom {

/// How far one result of a phase is from float64.
struct MeasuredError {
  std::string buffer;
  mlir::Operation *writer = nullptr; ///< the last operation that writes it
  bool isInteger = false;
  int64_t numbers = 0;
  double absolute = 0, largest = 0; ///< error, and |float64|
};

/// The memory of a dispatch after it ran.
class MemoryComparison {
public:
  /// All outlive this.
  MemoryComparison(const SteppedDispatch &dispatch, const ManifestEntry &entry,
                   const PhaseSite &site, const MachineSnapshot &before,
                   const MachineState &state, const mlir::SymbolTable &symbols)
      : dispatch(dispatch), entry(entry), site(site), before(before),
        state(state), symbols(symbols) {}

  /// Numbers of buffers, caches and sizes that do not have the bits of the
  /// result. Adds to `numbers` how many there are.
  std::vector<CodeDifference> compareBits(const PhaseResult &result,
                                          int64_t &numbers) const;
  /// Bytes that changed though the result does not write them.
  std::vector<CodeDifference> findStrays(const PhaseResult &result) const;
  /// Errors against the result of an evaluation in float64: one for each
  /// buffer and each append.
  std::vector<MeasuredError> measure(const PhaseResult &result) const;
  /// Results of a library, which may add in any order, whose error is larger
  /// than that of any order.
  std::vector<CodeDifference>
  findLargeErrors(const std::vector<MeasuredError> &errors) const;

private:
  std::string getName(const PhaseBuffer &buffer) const;
  const char *getAfter(const PhaseBuffer &buffer) const;
  void compareBuffer(const PhaseBuffer &buffer,
                     CodeDifference &difference) const;
  void compareAppended(const PhaseResult &result, int64_t &numbers,
                       std::vector<CodeDifference> &found) const;
  void compareSizes(const PhaseResult &result, int64_t &numbers,
                    std::vector<CodeDifference> &found) const;
  void findStrays(const char *from, const char *to, std::vector<bool> &allowed,
                  const std::string &name,
                  std::vector<CodeDifference> &found) const;
  void checkCounters(std::vector<CodeDifference> &found) const;
  /// The append of a cache, and where it puts a position.
  kern::AppendOp findAppend(llvm::StringRef cache) const;
  CachePlace findPlace(const KernEvaluation::Appended &row) const;
  CodeDifference begin(mlir::Operation *op, std::string buffer) const;

  const SteppedDispatch &dispatch;
  const ManifestEntry &entry;
  const PhaseSite &site;
  const MachineSnapshot &before;
  const MachineState &state;
  const mlir::SymbolTable &symbols;
};

} // namespace transom
