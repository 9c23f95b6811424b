// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry point prepared for the runtime: the manifest's description with
// names resolved to indices and polynomials compiled, and the dispatches in its
// code.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/execute/Formula.h"
#include "runtime/include/transom/transom.h"
#include "runtime/manifest/Manifest.h"
#include "runtime/onednn/OneDnn.h"
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// The C API's type; NONE for types that it does not have.
transom_dtype toPublic(DType type);

/// An argument's meaning, which decides how its values are checked.
enum class Role : uint8_t { Data, Ids, Mask };

/// An entry's argument or result.
struct Argument {
  std::string name;
  transom_dtype dtype = TRANSOM_DTYPE_NONE; ///< as declared
  Role role = Role::Data;
  std::optional<int64_t> bound;    ///< exclusive limit for ids
  std::optional<int64_t> fallback; ///< filled in if the argument is omitted
  std::vector<Formula> dims;
  std::vector<std::string> dimTexts;
  Formula elements; ///< `dims` multiplied

  /// Declared as an integer, not bool: i64 in generated code.
  bool isInteger() const {
    return dtype == TRANSOM_DTYPE_I64 || dtype == TRANSOM_DTYPE_I32;
  }
  /// Values always pass through the session's memory.
  bool alwaysStaged() const { return dtype != TRANSOM_DTYPE_F32; }
  /// Bytes per input element in generated code.
  int64_t stagedSize() const {
    return isInteger() ? 8 : dtype == TRANSOM_DTYPE_BOOL ? 1 : 4;
  }
};

/// How one ragged batch table is built for a call.
struct RaggedBatchRule {
  int mask = -1;          ///< index of the mask input; -1: uniform
  bool keepFirst = false; ///< column 0 is a token even if it is masked
  bool sequences = false; ///< new tokens of cached sequences
  /// With `sequences`: there are no tokens, and the keys are from this
  /// read-only cache group.
  std::optional<int64_t> cacheGroup;
  Formula batch, columns;                 ///< number of sequences and columns
  int tokensSymbol = -1, keysSymbol = -1; ///< symbols that the table defines
};

/// An entry point, ready to be called.
struct Entry {
  /// Resolves an entry in a manifest. `code` may be NULL, for memory formulas
  /// only. Errors are `Rejected`.
  static Result<Entry> create(const Manifest &manifest,
                              const ManifestEntry &entry,
                              const transom_entry_code *code);

  const ManifestEntry *manifest = nullptr;
  const transom_entry_code *code = nullptr;
  std::vector<Argument> inputs, outputs;
  std::vector<std::string> symbols;
  std::vector<SymbolKind> kinds;
  std::vector<std::optional<int64_t>> maxima; ///< model limits, by symbol
  int workersSymbol = -1;
  std::vector<RaggedBatchRule> ragged;
  int positionInput = -1; ///< input whose length the position table limits
  int64_t positionLimit = 0;
  std::vector<Formula> offsets;
  Formula arenaBytes;
  int64_t counters = 0;
  std::vector<OneDnnCall> calls; ///< for dispatches with a negative phase
  /// For a decode step: the result width; else 0.
  int64_t stepWidth = 0;
  /// Whether a step also returns the summary of its result, maxima and sums;
  /// see runtime/abi/RowSummary.h.
  bool hasSummary = false;
  /// For a step with logits for selected columns: the symbol for the number
  /// selected. The last input lists them, and the second result has their
  /// logits.
  std::optional<int> listedSymbol;
  /// Persistent buffer sizes in bytes, by buffer; 0 for others.
  std::vector<uint64_t> keptBytes;
  /// For a source entry: the input state width; else 0.
  int64_t sourceWidth = 0;

  /// True for a decode step, which takes sequences with a past.
  bool isStep() const { return stepWidth > 0; }
  /// True for an entry that fills read-only caches with an encoder's states.
  bool isSource() const { return sourceWidth > 0; }
  /// True for an entry without code, which the runtime derives from another.
  bool isDerived() const { return !manifest->derivedFrom.empty(); }
  EntryKind kind() const { return manifest->kind; }
  /// True if rows are removed where a mask marks padding.
  bool isRagged() const;
  int symbolIndex(const std::string &name) const;
  /// Index of an input or output with this name, or -1.
  int inputIndex(const char *name) const;
  int outputIndex(const char *name) const;
  std::vector<std::string> inputNames() const;
  std::vector<std::string> outputNames() const;
};

} // namespace transom
