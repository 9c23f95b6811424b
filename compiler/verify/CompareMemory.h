// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares an evaluated phase with the machine's memory after it: the bits that
// the phase writes, and all bytes that must stay unchanged.
#pragma once
#include "compiler/verify/CacheBytes.h"
#include "compiler/verify/CodeVerification.h"
#include "compiler/verify/MachineSnapshot.h"

namespace transom {

/// Error against float64 for one result in a phase.
struct MeasuredError {
  std::string buffer;
  mlir::Operation *writer = nullptr; ///< last operation that writes it
  bool isInteger = false;
  int64_t numbers = 0;
  double absolute = 0, largest = 0; ///< max error, and max |float64|
};

/// Dispatch memory after the run.
class MemoryComparison {
public:
  /// All arguments must outlive this object.
  MemoryComparison(const SteppedDispatch &dispatch, const ManifestEntry &entry,
                   const PhaseSite &site, const MachineSnapshot &before,
                   const MachineState &state, const mlir::SymbolTable &symbols)
      : dispatch(dispatch), entry(entry), site(site), before(before),
        state(state), symbols(symbols) {}

  /// Elements in buffers, caches and sizes whose bits differ from the result.
  /// Adds the count of compared elements to `numbers`.
  std::vector<CodeDifference> compareBits(const PhaseResult &result,
                                          int64_t &numbers) const;
  /// Bytes that changed, but are not written by the result.
  std::vector<CodeDifference> findStrays(const PhaseResult &result) const;
  /// Errors against a float64 evaluation: one for each buffer and each append.
  std::vector<MeasuredError> measure(const PhaseResult &result) const;
  /// Results from a library, which may add in any order, with a larger error
  /// than any order can have.
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
  /// The append operation for a cache, and the location of a position.
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
