// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry point as the runtime uses it: the manifest's description with names
// resolved to indices and polynomials compiled, and the dispatches of its code.
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

/// The C API's name of a type; NONE for types that no tensor of it has.
transom_dtype toPublic(DType type);

/// What an argument means, which decides how its values are checked.
enum class Role : uint8_t { Data, Ids, Mask };

/// An argument or result of an entry.
struct Argument {
  std::string name;
  transom_dtype dtype = TRANSOM_DTYPE_NONE; ///< as declared
  Role role = Role::Data;
  std::optional<int64_t> bound; ///< ids are below it
  std::optional<int64_t>
      fallback; ///< it may be left out, and is filled with this
  std::vector<Formula> dims;
  std::vector<std::string> dimTexts;
  Formula elements; ///< product of the dimensions

  /// Declared as an integer, not bool: reaches the code as i64.
  bool isInteger() const {
    return dtype == TRANSOM_DTYPE_I64 || dtype == TRANSOM_DTYPE_I32;
  }
  /// Values always pass through the session's memory.
  bool alwaysStaged() const { return dtype != TRANSOM_DTYPE_F32; }
  /// Bytes of an element as an input reaches the code.
  int64_t stagedSize() const {
    return isInteger() ? 8 : dtype == TRANSOM_DTYPE_BOOL ? 1 : 4;
  }
};

/// How one ragged table of a call is made.
struct RaggedBatchRule {
  int mask = -1;          ///< index of the mask input; -1: uniform
  bool keepFirst = false; ///< column 0 is a token even if it is masked
  bool sequences = false; ///< new tokens of sequences in a cache
  /// Of sequences: there are no tokens, and the keys are those of this
  /// read-only group of caches.
  std::optional<int64_t> cacheGroup;
  Formula batch, columns;                 ///< their numbers
  int tokensSymbol = -1, keysSymbol = -1; ///< what the table defines
};

/// An entry point, ready to be called.
struct Entry {
  /// Resolves an entry of a manifest. `code` may be NULL, for memory formulas
  /// only. Errors are `Rejected`.
  static Result<Entry> create(const Manifest &manifest,
                              const ManifestEntry &entry,
                              const transom_entry_code *code);

  const ManifestEntry *manifest = nullptr;
  const transom_entry_code *code = nullptr;
  std::vector<Argument> inputs, outputs;
  std::vector<std::string> symbols;
  std::vector<SymbolKind> kinds;
  std::vector<std::optional<int64_t>> maxima; ///< the model's, by symbol
  int workersSymbol = -1;
  std::vector<RaggedBatchRule> ragged;
  int positionInput = -1; ///< input whose length the table of positions limits
  int64_t positionLimit = 0;
  std::vector<Formula> offsets;
  Formula arenaBytes;
  int64_t counters = 0;
  std::vector<OneDnnCall> calls; ///< of dispatches with a negative phase
  /// Of a decode step: the width of its result; else 0.
  int64_t stepWidth = 0;
  /// Whether a step has the summary of its result as two more results, maxima
  /// and sums; see runtime/abi/RowSummary.h.
  bool hasSummary = false;
  /// Of a step with the logits of listed tokens: the symbol of their number.
  /// Its last input lists them, and its second result has them.
  std::optional<int> listedSymbol;
  /// Bytes of the buffers that last from call to call, by buffer; 0: others.
  std::vector<uint64_t> keptBytes;
  /// Of a source entry: the width of the states that it takes; else 0.
  int64_t sourceWidth = 0;

  /// True for a decode step, which takes sequences with a past.
  bool isStep() const { return stepWidth > 0; }
  /// True for an entry that fills read-only caches with an encoder's states.
  bool isSource() const { return sourceWidth > 0; }
  /// True for an entry without code, which the runtime derives from another.
  bool isDerived() const { return !manifest->derivedFrom.empty(); }
  EntryKind kind() const { return manifest->kind; }
  /// True when rows are removed where a mask says padding.
  bool isRagged() const;
  int symbolIndex(const std::string &name) const;
  /// Index of an input or output, -1 without one of that name.
  int inputIndex(const char *name) const;
  int outputIndex(const char *name) const;
  std::vector<std::string> inputNames() const;
  std::vector<std::string> outputNames() const;
};

} // namespace transom
