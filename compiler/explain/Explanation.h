// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data for `transom explain`: the effect of each pass, its remarks, and the
// generated code. The header needs neither LLVM nor MLIR. `ExplanationFields.h`
// documents each member and specifies its JSON key.
#pragma once
#include "compiler/options/CompileOptions.h"
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace transom {

/// A value that may depend on call sizes.
struct Amount {
  std::string formula = "0";    ///< a Polynomial as text
  std::optional<int64_t> value; ///< for the entry's example call

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// An origin in the model.
struct ModelPlace {
  std::string location; ///< module path, with layer ranges
  std::string file;
  std::string pointer; ///< JSON pointer in `file`

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

struct ExplainedArgument {
  std::string key, value;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A pass remark.
struct ExplainedRemark {
  std::string kind, category, name, function;
  ModelPlace place;
  std::vector<ExplainedArgument> args;
  std::string message, help;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Entry costs in a module between two passes.
struct EntryCost {
  std::string entry;
  Amount flops;
  int64_t buffers = 0;
  Amount bufferBytes;
  int64_t phases = 0, barriers = 0;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A module between two passes.
struct ModuleSummary {
  std::map<std::string, int64_t> operations;
  int64_t functions = 0;
  int64_t computing = 0;
  int64_t weights = 0, weightBytes = 0;
  std::vector<EntryCost> entries;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// An operation in a listing. Strings are indices into the listing's tables.
struct IrOperation {
  int64_t line = 0, name = 0, location = 0;
  std::vector<int64_t> origins;
  int64_t parent = -1;
  std::vector<int64_t> operands;

  static constexpr bool isTuple = true;
  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A module as text with a table of its operations.
struct IrListing {
  std::string text;
  std::vector<std::string> names, locations, origins;
  std::vector<IrOperation> operations;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// One pass execution.
struct ExplainedPass {
  std::string stage, pass, name, isa, summary;
  bool changed = false;
  std::string verdict;
  ModuleSummary after;
  std::vector<int64_t> remarks;
  std::optional<IrListing> ir;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The call sizes for an entry's values.
struct ExampleCall {
  int64_t batch = 1, length = 0, past = 0, workers = 0;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

struct ExplainedTensor {
  std::string name, dtype;
  std::vector<std::string> shape;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The error of machine code results relative to float64.
struct ExplainedError {
  std::string isa;
  std::optional<double> absolute, relative;
  int64_t numbers = 0;
  std::string call;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// An operation in a phase.
struct PhaseOperation {
  std::string name, detail;
  ModelPlace place;
  std::vector<std::string> joined;
  std::string split;
  Amount flops, bytes;
  std::vector<std::string> weights;
  int64_t weightBytes = 0;
  int64_t columns = 0, paddedColumns = 0;
  std::vector<int64_t> widths;
  std::vector<ExplainedError> errors;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A generated function that runs between two barriers.
struct ExplainedPhase {
  std::string name;
  ModelPlace place;
  int64_t runs = 1;
  Amount flops, bf16Flops, int8Flops, bytes;
  int64_t weightBytes = 0;
  std::string schedule;
  std::vector<PhaseOperation> operations;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A planned buffer in the arena.
struct ExplainedBuffer {
  std::string location;
  Amount offset, bytes;
  int64_t first = 0, last = 0;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A call with sequences of different lengths in one batch.
struct PaddedCall {
  std::vector<int64_t> lengths;
  std::optional<int64_t> flops, flopsAlone, bytes, arenaBytes;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

struct ExplainedEntry {
  std::string name, kind;
  ExampleCall example;
  std::optional<PaddedCall> padded;
  std::vector<ExplainedTensor> inputs, outputs;
  Amount flops, bf16Flops, int8Flops;
  int64_t layers = 0, streamedBytes = 0, barriers = 0, minBarriers = 0;
  std::vector<ExplainedPhase> phases;
  std::vector<int64_t> order;
  Amount arenaBytes, arenaLowerBound;
  std::vector<ExplainedBuffer> buffers;
  std::vector<std::string> memorySteps;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Micro-kernels that differ only in their row count.
struct ExplainedKernel {
  std::string isa, symbol;
  int64_t rows = 0, columns = 0;
  std::vector<std::string> phases;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The module in the stage `llvm-ir` for an instruction set.
struct LoweredCode {
  std::string isa, text;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

struct ExplainedWeight {
  std::string name, layout, dtype;
  std::vector<int64_t> shape;
  int64_t offset = 0, bytes = 0;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

struct ExplainedModel {
  std::string name, family, architecture, head, file;
  int64_t parameters = 0;
  bool hasWeights = true;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A pass disabled by `--disable-pass`.
struct DisabledPass {
  std::string pass, summary;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

struct ExplainedCompile {
  std::string transom, dtype, kvDtype, backend;
  std::vector<std::string> isas;
  std::vector<ExplainedArgument> options;
  std::vector<DisabledPass> disabledPasses;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A pass that changes the model's results.
struct ExplainedDifference {
  std::string pass, message, location, operation;
  std::vector<std::string> before;
  std::string after, replay;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The comparison statistics for an entry's machine code.
struct VerifiedCode {
  std::string isa, entry;
  int64_t calls = 0, dispatches = 0, numbers = 0, differences = 0;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The results of pass and machine code verification.
struct ExplainedVerification {
  std::string verdict, message;
  std::vector<std::string> calls, endCalls;
  std::optional<ExplainedDifference> difference;
  std::vector<VerifiedCode> code;
  std::string codeDifference;
  std::vector<std::string> notRun;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The reason why a compile failed.
struct ExplainedFailure {
  std::string pass, isa;
  int64_t status = 0;
  std::string message;
  std::vector<std::string> notes;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A complete compile.
struct Explanation {
  /// The JSON format version. It changes with the fields.
  static constexpr int64_t currentFormat = 3;

  int64_t format = currentFormat;
  ExplainedModel model;
  ExplainedCompile compile;
  ModuleSummary imported;
  std::optional<IrListing> importedIr;
  std::vector<ExplainedPass> passes;
  std::vector<ExplainedRemark> remarks;
  std::vector<ExplainedEntry> entries;
  std::vector<ExplainedKernel> kernels;
  std::vector<LoweredCode> code;
  std::vector<ExplainedWeight> weights;
  int64_t weightBytes = 0;
  std::vector<std::string> notes;
  std::optional<ExplainedFailure> failure;
  std::optional<ExplainedVerification> verification;

  /// Not a serialized field: for a file in another format, the fields that it
  /// lacks, as key paths such as `entries.padded`, and a note that lists them.
  std::set<std::string> missing;
  std::string formatNote;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Options for explainModel.
struct ExplainOptions {
  CompileOptions compile; ///< `output` and `emit` are ignored
  bool ir = false;        ///< also the IR after each pass, and the code
};

/// Compiles a model until its code is lowered and records each step. Errors
/// before the end of the import are returned as by compile(); a later error
/// becomes the `failure` in an explanation that ends there.
Result<Explanation> explainModel(const ExplainOptions &options);

} // namespace transom
