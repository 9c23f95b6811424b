// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `transom explain` knows about a compile, as plain data: what each pass
// did and did not do, and what the code consists of. No header of LLVM or MLIR
// comes along. `ExplanationFields.h` documents each member and gives it its
// JSON key.
#pragma once
#include "compiler/options/CompileOptions.h"
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace transom {

/// A number that may depend on the sizes of a call.
struct Amount {
  std::string formula = "0";    ///< text of a Polynomial
  std::optional<int64_t> value; ///< in the example call of its entry

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// Where an operation comes from.
struct ModelPlace {
  std::string location; ///< module path, with ranges of layers
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

/// A remark of a pass.
struct ExplainedRemark {
  std::string kind, category, name, function;
  ModelPlace place;
  std::vector<ExplainedArgument> args;
  std::string message, help;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// What an entry costs in a module between two passes.
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

/// An operation of a listing. Strings are indices in the tables of the listing.
struct IrOperation {
  int64_t line = 0, name = 0, location = 0;
  std::vector<int64_t> origins;
  int64_t parent = -1;
  std::vector<int64_t> operands;

  static constexpr bool isTuple = true;
  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A module as text beside a table of its operations.
struct IrListing {
  std::string text;
  std::vector<std::string> names, locations, origins;
  std::vector<IrOperation> operations;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// One run of a pass.
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

/// The sizes of the call for which an entry's numbers are shown.
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

/// How far the results of machine code are from float64.
struct ExplainedError {
  std::string isa;
  std::optional<double> absolute, relative;
  int64_t numbers = 0;
  std::string call;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// An operation of a phase.
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

/// A function of generated code that runs between two barriers.
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

/// A planned buffer of the arena.
struct ExplainedBuffer {
  std::string location;
  Amount offset, bytes;
  int64_t first = 0, last = 0;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A call of sequences of different lengths in one batch.
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

/// Micro-kernels that differ in the number of rows only.
struct ExplainedKernel {
  std::string isa, symbol;
  int64_t rows = 0, columns = 0;
  std::vector<std::string> phases;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// The module of the stage `llvm-ir` for an instruction set.
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

/// A pass that `--disable-pass` left out.
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

/// A pass after which the model computes something else.
struct ExplainedDifference {
  std::string pass, message, location, operation;
  std::vector<std::string> before;
  std::string after, replay;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// What was compared of the machine code of an entry.
struct VerifiedCode {
  std::string isa, entry;
  int64_t calls = 0, dispatches = 0, numbers = 0, differences = 0;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// What checks of passes and of machine code found.
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

/// Why a compile did not come to its end.
struct ExplainedFailure {
  std::string pass, isa;
  int64_t status = 0;
  std::string message;
  std::vector<std::string> notes;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// A whole compile.
struct Explanation {
  /// The version of the JSON form. It changes with the fields.
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

  /// Of a file of another format, and not fields of the form: what it does not
  /// have, as paths of keys such as `entries.padded`, and the note that says
  /// so.
  std::set<std::string> missing;
  std::string formatNote;

  template <typename Self, typename Visitor>
  static void visitFields(Self &self, Visitor &visit);
};

/// What to explain.
struct ExplainOptions {
  CompileOptions compile; ///< `output` and `emit` are without effect
  bool ir = false;        ///< also the IR after each pass, and the code
};

/// Compiles a model until its code is lowered and tells what happened. Errors
/// are those of compile() until the model is imported; a later one is the
/// `failure` of an explanation that ends there.
Result<Explanation> explainModel(const ExplainOptions &options);

} // namespace transom
